//! Plans, as the Cloud Controller knows them.

use super::{OfferingGuid, PlanGuid};

/// A plan, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfPlan {
    /// The Cloud Controller's id.
    pub guid: PlanGuid,
    /// The offering that it belongs to, which is one broker's.
    pub offering: OfferingGuid,
    /// The plan's name.
    pub name: String,
    /// The plan's id in the broker's catalog.
    pub unique_id: String,
}
