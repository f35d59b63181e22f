//! Plans in the Cloud Controller, and who can see and therefore order them.

use std::collections::{BTreeMap, BTreeSet};

use super::{OfferingGuid, OrganizationGuid, PlanGuid};

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

/// A plan of one broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPlan {
    /// The Cloud Controller's id.
    pub guid: PlanGuid,
    /// The id of its service offering in the broker's catalog. Several brokers may offer the same.
    pub offering: String,
    /// The plan's name.
    pub name: String,
    /// The plan's id in the broker's catalog.
    pub unique_id: String,
    /// Whether the catalog still contains it. A removed plan remains while it has service instances.
    pub is_active: bool,
    /// The version of its `maintenance_info`, where it has one.
    pub maintenance_version: Option<String>,
}

/// The visibility of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanVisibility {
    /// All organizations.
    Public,
    /// Administrators alone.
    Admin,
    /// These organizations, by their ids, with their names where they are known. Never empty.
    Organizations(BTreeMap<OrganizationGuid, Option<String>>),
    /// The space that the broker belongs to. This cannot be changed.
    Space,
    /// Something that this client does not know.
    Unknown(String),
}

/// The desired visibility of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedVisibility {
    /// All organizations.
    Public,
    /// Administrators alone.
    Admin,
    /// These organizations and no others. The Cloud Controller refuses an empty set.
    Organizations(BTreeSet<OrganizationGuid>),
}

impl WantedVisibility {
    /// It is already so.
    pub fn is(&self, visibility: &PlanVisibility) -> bool {
        match (self, visibility) {
            (Self::Public, PlanVisibility::Public) | (Self::Admin, PlanVisibility::Admin) => true,
            (Self::Organizations(wanted), PlanVisibility::Organizations(there)) => {
                wanted.iter().eq(there.keys())
            }
            _ => false,
        }
    }
}
