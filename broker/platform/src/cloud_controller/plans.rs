//! Plans, as the Cloud Controller knows them.

use super::PlanGuid;

/// A plan, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfPlan {
    /// The Cloud Controller's id.
    pub guid: PlanGuid,
    /// The plan's name.
    pub name: String,
    /// The plan's id in the broker's catalog.
    pub unique_id: String,
}
