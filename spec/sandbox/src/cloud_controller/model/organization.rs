//! Organizations, spaces and apps: as much of them as service instances need.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AppGuid, OrganizationGuid, SpaceGuid};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Organization {
    pub(crate) guid: OrganizationGuid,
    pub(crate) name: String,
    pub(crate) created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Space {
    pub(crate) guid: SpaceGuid,
    pub(crate) organization: OrganizationGuid,
    pub(crate) name: String,
    pub(crate) created_at: Timestamp,
    /// The names of the users who may work here.
    pub(crate) developers: BTreeSet<String>,
}

/// An app that never runs: something to bind to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct App {
    pub(crate) guid: AppGuid,
    pub(crate) space: SpaceGuid,
    pub(crate) name: String,
    pub(crate) created_at: Timestamp,
}
