//! The users of a UAA and the groups that they are in.
//!
//! Users who have shown too many wrong passwords.

use std::collections::{BTreeSet, HashMap};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{client::StoredSecret, now};

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

/// The default of a UAA: five failures within an hour lock the user out for five minutes.
const FAILURES: usize = 5;
const COUNTED_FOR_MS: i64 = 60 * 60 * 1000;
const LOCKED_FOR_MS: i64 = 5 * 60 * 1000;

/// When each user failed to log in, as far as it still counts.
#[derive(Default)]
pub(in crate::uaa) struct Lockout(HashMap<Uuid, Vec<i64>>);

impl Lockout {
    /// Whether the user is locked out at the moment.
    pub(in crate::uaa) fn holds(&self, user: Uuid) -> bool {
        let failures = self.0.get(&user).map_or(&[][..], Vec::as_slice);
        failures.len() >= FAILURES
            && failures
                .last()
                .is_some_and(|last| now() - last < LOCKED_FOR_MS)
    }

    pub(in crate::uaa) fn failed(&mut self, user: Uuid) {
        let failures = self.0.entry(user).or_default();
        failures.retain(|at| now() - at < COUNTED_FOR_MS);
        failures.push(now());
    }

    /// Forgets the failures of a user: a right password, or an administrator's word.
    pub(in crate::uaa) fn forget(&mut self, user: Uuid) {
        self.0.remove(&user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_lock_a_user_out_until_they_are_forgotten() {
        let (user, other) = (Uuid::new_v4(), Uuid::new_v4());
        let mut lockout = Lockout::default();

        for _ in 0..4 {
            lockout.failed(user);
        }
        assert!(!lockout.holds(user));
        lockout.failed(user);
        assert!(lockout.holds(user) && !lockout.holds(other));

        lockout.forget(user);
        assert!(!lockout.holds(user));
    }
}
