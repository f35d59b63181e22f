//! The clients of a UAA.

use std::collections::BTreeSet;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Account, Grant, now, secret::StoredSecret};

/// The scope and the authority of a client that has none.
pub(in crate::uaa) const NOTHING: &str = "uaa.none";

/// A client that a UAA begins with: a program with a secret of its own.
#[derive(Clone, Debug)]
pub struct Client {
    pub id: String,
    /// Its secret. The public client `cf` has an empty one.
    pub secret: SecretString,
    /// The ways in which it may ask for tokens.
    pub grants: BTreeSet<Grant>,
    /// Its scopes for users; a segment may be `*`.
    pub scopes: BTreeSet<String>,
    /// Its own authorities.
    pub authorities: BTreeSet<String>,
}

/// A client as a UAA keeps it (`spec/contracts/platform-apis.md`, "Clients").
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::uaa) struct Registration {
    pub(in crate::uaa) id: String,
    /// Two at most, the older one first.
    pub(in crate::uaa) secrets: Vec<StoredSecret>,
    pub(in crate::uaa) scopes: BTreeSet<String>,
    pub(in crate::uaa) grants: BTreeSet<Grant>,
    pub(in crate::uaa) redirect_uris: BTreeSet<String>,
    pub(in crate::uaa) autoapprove: Option<BTreeSet<String>>,
    pub(in crate::uaa) authorities: BTreeSet<String>,
    pub(in crate::uaa) access_token_validity: Option<i64>,
    pub(in crate::uaa) refresh_token_validity: Option<i64>,
    /// `name`, `allowedproviders`, `allowpublic` and whatever else was sent.
    pub(in crate::uaa) additional: Map<String, Value>,
    /// Milliseconds since 1970.
    pub(in crate::uaa) last_modified: i64,
}

impl Registration {
    /// Whether the secret is one of the client's. A client without any is public and shows an empty one.
    pub(in crate::uaa) fn has_secret(&self, given: &str) -> bool {
        if self.is_public() {
            return given.is_empty();
        }
        self.secrets.iter().any(|secret| secret.is(given))
    }

    /// Whether the client has no secret, as one that runs in the user's hands.
    pub(in crate::uaa) fn is_public(&self) -> bool {
        self.secrets.is_empty()
    }

    pub(in crate::uaa) fn scopes_for(&self, user: &Account) -> BTreeSet<String> {
        let allowed = |group: &&String| self.scopes.iter().any(|scope| covers(scope, group));
        user.groups.iter().filter(allowed).cloned().collect()
    }

    /// As the API shows it: no secrets, and nothing that is empty.
    pub(in crate::uaa) fn shown(&self) -> Map<String, Value> {
        let mut shown = Map::new();
        let mut show = |name: &str, value: Value| {
            let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            if !is_empty {
                shown.insert(name.to_owned(), value);
            }
        };
        show("scope", json!(self.scopes));
        show("client_id", json!(self.id));
        // UAA finds out by itself whom a token is for, and says so in this way.
        show("resource_ids", json!(["none"]));
        show("authorized_grant_types", json!(self.grants));
        show("redirect_uri", json!(self.redirect_uris));
        show("autoapprove", json!(self.autoapprove));
        show("access_token_validity", json!(self.access_token_validity));
        show("refresh_token_validity", json!(self.refresh_token_validity));
        show("authorities", json!(self.authorities));
        for (name, value) in &self.additional {
            show(name, value.clone());
        }
        show("lastModified", json!(self.last_modified));
        shown
    }
}

impl From<Client> for Registration {
    fn from(client: Client) -> Self {
        let secret = Some(client.secret).filter(|secret| !secret.expose_secret().is_empty());
        Self {
            id: client.id,
            secrets: secret.into_iter().map(StoredSecret::from).collect(),
            scopes: client.scopes,
            grants: client.grants,
            redirect_uris: BTreeSet::new(),
            autoapprove: None,
            authorities: client.authorities,
            access_token_validity: None,
            refresh_token_validity: None,
            additional: Map::new(),
            last_modified: now(),
        }
    }
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
    fn a_wildcard_matches_one_segment() {
        assert!(covers("bosh.teams.*.admin", "bosh.teams.odb.admin"));
        assert!(covers("openid", "openid"));
        assert!(!covers("bosh.*", "bosh.teams.odb.admin"));
        assert!(!covers("bosh.teams.*.admin", "bosh.teams.odb.read"));
    }
}
