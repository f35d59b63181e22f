//! Organizations, spaces, apps and routes: as much of them as service instances need.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AppGuid, Keyed, Metadata, OrganizationGuid, RouteGuid, SpaceGuid};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Organization {
    pub(crate) guid: OrganizationGuid,
    pub(crate) name: String,
    pub(crate) status: OrganizationStatus,
    pub(crate) metadata: Metadata,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OrganizationStatus {
    Active,
    /// Only an admin may change anything in it.
    Suspended,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Space {
    pub(crate) guid: SpaceGuid,
    pub(crate) organization: OrganizationGuid,
    pub(crate) name: String,
    pub(crate) metadata: Metadata,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// An app that never runs: something to bind to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct App {
    pub(crate) guid: AppGuid,
    pub(crate) space: SpaceGuid,
    pub(crate) name: String,
    pub(crate) metadata: Metadata,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// The one domain that there is. All routes are below it.
pub(crate) const SHARED_DOMAIN: &str = "apps.internal.example";

/// A route that no request takes: something to bind a route service to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Route {
    pub(crate) guid: RouteGuid,
    pub(crate) space: SpaceGuid,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) created_at: Timestamp,
}

impl Organization {
    pub(crate) fn new(name: String) -> Self {
        let now = Timestamp::now();
        Self {
            guid: OrganizationGuid::random(),
            name,
            status: OrganizationStatus::Active,
            metadata: Metadata::default(),
            created_at: now,
            updated_at: now,
        }
    }
}

impl Space {
    pub(crate) fn new(organization: OrganizationGuid, name: String) -> Self {
        let now = Timestamp::now();
        Self {
            guid: SpaceGuid::random(),
            organization,
            name,
            metadata: Metadata::default(),
            created_at: now,
            updated_at: now,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrganizationKey {
    Name(String),
}

impl Keyed for Organization {
    type Key = OrganizationKey;

    fn keys(&self) -> Vec<OrganizationKey> {
        vec![OrganizationKey::Name(self.name.clone())]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SpaceKey {
    Organization(OrganizationGuid),
    Name(OrganizationGuid, String),
}

impl Keyed for Space {
    type Key = SpaceKey;

    fn keys(&self) -> Vec<SpaceKey> {
        vec![
            SpaceKey::Organization(self.organization.clone()),
            SpaceKey::Name(self.organization.clone(), self.name.clone()),
        ]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AppKey {
    Space(SpaceGuid),
    Name(SpaceGuid, String),
}

impl Keyed for App {
    type Key = AppKey;

    fn keys(&self) -> Vec<AppKey> {
        vec![
            AppKey::Space(self.space.clone()),
            AppKey::Name(self.space.clone(), self.name.clone()),
        ]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RouteKey {
    Space(SpaceGuid),
}

impl Keyed for Route {
    type Key = RouteKey;

    fn keys(&self) -> Vec<RouteKey> {
        vec![RouteKey::Space(self.space.clone())]
    }
}
