//! The settings of a CredHub.

use semver::Version;

use super::{authentication::Actor, permissions::Permission};

/// The default version of a CredHub, which determines its behaviour.
pub const VERSION: Version = Version::new(2, 15, 20);

#[derive(Clone, Debug)]
pub struct CredHubSettings {
    /// Which of a foundation's two it is.
    pub side: Side,
    /// The UAA whose tokens it believes, as its tokens name it.
    pub uaa_url: String,
    /// The version that it says it has. Below 2 it behaves as those did: `mode` on set, rights for creators, no
    /// permissions v2.
    pub version: Version,
    /// Whether permissions matter.
    pub acls: Acls,
    pub permissions: Vec<Permission>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Bosh,
    /// The one beside the Cloud Controller, which apps ask.
    Runtime,
}

/// Whether permissions matter (`acls.enabled`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acls {
    /// Every caller has the rights of its permissions.
    Enforced,
    /// Every authenticated caller has all rights.
    Off,
}

impl Side {
    pub(super) const fn versions_table(self) -> &'static str {
        match self {
            Self::Bosh => "bosh_credhub_versions",
            Self::Runtime => "runtime_credhub_versions",
        }
    }

    pub(super) const fn permissions_table(self) -> &'static str {
        match self {
            Self::Bosh => "bosh_credhub_permissions",
            Self::Runtime => "runtime_credhub_permissions",
        }
    }
}

/// The identity under which a Director asks its CredHub.
pub fn director_actor() -> Actor {
    Actor::uaa_client("director_to_credhub")
}
