//! Who a UAA knows.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use uuid::Uuid;

/// A client: a program with a secret of its own.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its secret. The public client `cf` has an empty one.
    pub secret: SecretString,
    /// The ways in which it may ask for tokens.
    pub grants: BTreeSet<Grant>,
    /// What it may do for a user; a segment may be `*`.
    pub scopes: BTreeSet<String>,
    /// What it may do by itself.
    pub authorities: BTreeSet<String>,
}

/// A user: a person with a password.
#[derive(Clone, Debug)]
pub struct User {
    /// The id that stands in tokens.
    pub id: Uuid,
    /// The name that the person logs in with.
    pub name: String,
    /// The password.
    pub password: SecretString,
    /// What the person may do, through a client that may do it too.
    pub groups: BTreeSet<String>,
}

/// A way to ask for a token (RFC 6749).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// For the client itself.
    ClientCredentials,
    /// For a user whose password the client was given.
    Password,
    /// With a refresh token of an earlier answer.
    RefreshToken,
}

impl Grant {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client_credentials",
            Self::Password => "password",
            Self::RefreshToken => "refresh_token",
        }
    }
}

pub(super) struct Directory {
    clients: BTreeMap<String, Client>,
    users: BTreeMap<String, User>,
}

impl Directory {
    pub(super) fn new(clients: Vec<Client>, users: Vec<User>) -> Self {
        Self {
            clients: clients
                .into_iter()
                .map(|client| (client.id.clone(), client))
                .collect(),
            users: users
                .into_iter()
                .map(|user| (user.name.clone(), user))
                .collect(),
        }
    }

    /// The client with this id, if the secret is its own.
    pub(super) fn client(&self, id: &str, secret: &str) -> Option<&Client> {
        self.clients
            .get(id)
            .filter(|client| matches(&client.secret, secret))
    }

    /// The user with this name, if the password is its own.
    pub(super) fn user(&self, name: &str, password: &str) -> Option<&User> {
        self.users
            .get(name)
            .filter(|user| matches(&user.password, password))
    }

    /// The user with this name. Only for a bearer of a refresh token, who has shown the password before.
    pub(super) fn known_user(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }
}

impl Client {
    /// Whether the client has no secret, as one that runs in the user's hands.
    pub(super) fn is_public(&self) -> bool {
        self.secret.expose_secret().is_empty()
    }

    /// What the client may do for a user with these groups.
    pub(super) fn scopes_for(&self, user: &User) -> BTreeSet<String> {
        let allowed = |group: &&String| self.scopes.iter().any(|scope| covers(scope, group));
        user.groups.iter().filter(allowed).cloned().collect()
    }
}

fn matches(secret: &SecretString, given: &str) -> bool {
    secret
        .expose_secret()
        .as_bytes()
        .ct_eq(given.as_bytes())
        .into()
}

/// Whether a scope of a client, in which a segment may be `*`, covers a group.
fn covers(scope: &str, group: &str) -> bool {
    let (mut scope, mut group) = (scope.split('.'), group.split('.'));
    loop {
        match (scope.next(), group.next()) {
            (None, None) => return true,
            (Some("*"), Some(segment)) if !segment.is_empty() => {}
            (Some(wanted), Some(segment)) if wanted == segment => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_wildcard_stands_for_one_segment() {
        assert!(covers("bosh.teams.*.admin", "bosh.teams.odb.admin"));
        assert!(covers("openid", "openid"));
        assert!(!covers("bosh.*", "bosh.teams.odb.admin"));
        assert!(!covers("bosh.teams.*.admin", "bosh.teams.odb.read"));
    }
}
