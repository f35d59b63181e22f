//! Users, and what they may do where.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Keyed, OrganizationGuid, RoleGuid, SpaceGuid};

/// A name in the UAA: a user's name, or a client's id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct UserName(String);

/// A user or client who has used a token here, or was configured at the start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct User {
    pub(crate) name: UserName,
    /// The id that the UAA gave the user. A client's is its name.
    pub(crate) guid: String,
    pub(crate) created_at: Timestamp,
}

/// The role of one user in one organization or space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Role {
    pub(crate) guid: RoleGuid,
    pub(crate) kind: RoleKind,
    pub(crate) user: UserName,
    pub(crate) location: RoleScope,
    pub(crate) created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoleKind {
    OrganizationUser,
    OrganizationAuditor,
    OrganizationManager,
    OrganizationBillingManager,
    SpaceAuditor,
    SpaceDeveloper,
    SpaceManager,
    SpaceSupporter,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RoleScope {
    Organization(OrganizationGuid),
    Space(SpaceGuid),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RoleKey {
    User(UserName),
    Organization(OrganizationGuid),
    Space(SpaceGuid),
}

impl UserName {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl Role {
    /// A role that begins now.
    pub(crate) fn new(kind: RoleKind, user: UserName, location: RoleScope) -> Self {
        Self {
            guid: RoleGuid::random(),
            kind,
            user,
            location,
            created_at: Timestamp::now(),
        }
    }
}

impl RoleKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OrganizationUser => "organization_user",
            Self::OrganizationAuditor => "organization_auditor",
            Self::OrganizationManager => "organization_manager",
            Self::OrganizationBillingManager => "organization_billing_manager",
            Self::SpaceAuditor => "space_auditor",
            Self::SpaceDeveloper => "space_developer",
            Self::SpaceManager => "space_manager",
            Self::SpaceSupporter => "space_supporter",
        }
    }
}

impl Keyed for Role {
    type Key = RoleKey;

    fn keys(&self) -> Vec<RoleKey> {
        let location = match &self.location {
            RoleScope::Organization(guid) => RoleKey::Organization(guid.clone()),
            RoleScope::Space(guid) => RoleKey::Space(guid.clone()),
        };
        vec![RoleKey::User(self.user.clone()), location]
    }
}
