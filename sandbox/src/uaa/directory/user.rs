//! The users of a UAA and the groups that they are in.

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{now, secret::StoredSecret};

/// The groups that every user is in (`spec/contracts/platform-apis.md`, "Rights the broker's identities need").
pub const DEFAULT_GROUPS: [&str; 14] = [
    "openid",
    "scim.me",
    "scim.userids",
    "cloud_controller.read",
    "cloud_controller.write",
    "cloud_controller_service_permissions.read",
    "password.write",
    "uaa.user",
    "approvals.me",
    "oauth.approvals",
    "profile",
    "roles",
    "user_attributes",
    "uaa.offline_token",
];

pub(in crate::uaa) const OWN_ORIGIN: &str = "uaa";

/// A user that a UAA begins with: a person with a password.
#[derive(Clone, Debug)]
pub struct User {
    pub id: Uuid,
    pub name: String,
    pub password: SecretString,
    /// The rights of the user, through a client that has them too.
    pub groups: BTreeSet<String>,
}

/// A user as a UAA keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::uaa) struct Account {
    pub(in crate::uaa) id: Uuid,
    pub(in crate::uaa) name: String,
    /// Which identity provider knows the user: the UAA itself, or one that is not there to be asked.
    pub(in crate::uaa) origin: String,
    pub(in crate::uaa) password: StoredSecret,
    pub(in crate::uaa) groups: BTreeSet<String>,
    pub(in crate::uaa) given_name: Option<String>,
    pub(in crate::uaa) family_name: Option<String>,
    pub(in crate::uaa) email: String,
    pub(in crate::uaa) external_id: Option<String>,
    pub(in crate::uaa) active: bool,
    pub(in crate::uaa) verified: bool,
    pub(in crate::uaa) version: u64,
    /// Milliseconds since 1970, as the two below.
    pub(in crate::uaa) created: i64,
    pub(in crate::uaa) last_modified: i64,
    pub(in crate::uaa) password_last_modified: i64,
}

impl Account {
    /// A user with a name and a password, and all else as it is when nothing is said.
    pub(in crate::uaa) fn new(id: Uuid, name: String, password: SecretString) -> Self {
        let now = now();
        Self {
            id,
            email: name.clone(),
            name,
            origin: OWN_ORIGIN.to_owned(),
            password: password.into(),
            groups: DEFAULT_GROUPS.map(str::to_owned).into(),
            given_name: None,
            family_name: None,
            external_id: None,
            active: true,
            verified: true,
            version: 0,
            created: now,
            last_modified: now,
            password_last_modified: now,
        }
    }

    pub(in crate::uaa) fn changed(&mut self) {
        self.version += 1;
        self.last_modified = now();
    }
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self {
            groups: user.groups,
            ..Self::new(user.id, user.name, user.password)
        }
    }
}

/// A group. Its name is what a scope is for its members.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::uaa) struct Group {
    pub(in crate::uaa) id: Uuid,
    pub(in crate::uaa) description: Option<String>,
    /// Milliseconds since 1970.
    pub(in crate::uaa) created: i64,
}

impl Group {
    pub(in crate::uaa) fn new(description: Option<String>) -> Self {
        Self {
            id: Uuid::new_v4(),
            description,
            created: now(),
        }
    }
}
