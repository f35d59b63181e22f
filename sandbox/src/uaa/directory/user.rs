//! The users of a UAA.

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::client::StoredSecret;

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

/// A user that a UAA begins with: a person with a password.
#[derive(Clone, Debug)]
pub struct User {
    pub id: Uuid,
    pub name: String,
    pub password: SecretString,
    /// The rights of the user, through a client that has them too.
    pub groups: BTreeSet<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::uaa) struct Account {
    pub(in crate::uaa) id: Uuid,
    pub(in crate::uaa) name: String,
    pub(in crate::uaa) password: StoredSecret,
    pub(in crate::uaa) groups: BTreeSet<String>,
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            name: user.name,
            password: user.password.into(),
            groups: user.groups,
        }
    }
}
