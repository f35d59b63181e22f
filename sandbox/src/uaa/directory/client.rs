//! The clients of a UAA.
//!
//! Ways to ask for a token.
//!
//! Secrets as a UAA keeps them.

use std::collections::BTreeSet;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq;

use super::{Account, now};

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

/// A way to ask for a token (RFC 6749, and what UAA adds to it). A client is registered for some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    ClientCredentials,
    /// For a user whose password the client was given.
    Password,
    /// With a refresh token of an earlier answer.
    RefreshToken,
    AuthorizationCode,
    /// For a user, straight into the browser.
    Implicit,
    UserToken,
    /// With a JWT of another issuer (RFC 7523).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:jwt-bearer")]
    JwtBearer,
    /// With a SAML assertion (RFC 7522).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:saml2-bearer")]
    Saml2Bearer,
    /// With a token of another issuer (RFC 8693).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:token-exchange")]
    TokenExchange,
}

impl Grant {
    pub(in crate::uaa) const ALL: [Self; 9] = [
        Self::Implicit,
        Self::Password,
        Self::ClientCredentials,
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::UserToken,
        Self::Saml2Bearer,
        Self::JwtBearer,
        Self::TokenExchange,
    ];

    pub(in crate::uaa) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grant| grant.name() == name)
    }

    /// Its name as `grant_type`.
    pub(in crate::uaa) const fn name(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client_credentials",
            Self::Password => "password",
            Self::RefreshToken => "refresh_token",
            Self::AuthorizationCode => "authorization_code",
            Self::Implicit => "implicit",
            Self::UserToken => "user_token",
            Self::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
            Self::Saml2Bearer => "urn:ietf:params:oauth:grant-type:saml2-bearer",
            Self::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
        }
    }
}

/// The secret of a client, the password of a user, or the private part of a key.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub(in crate::uaa) struct StoredSecret(#[serde(serialize_with = "for_the_store")] SecretString);

impl StoredSecret {
    /// Whether this is the secret. Takes the same time for every wrong one of the same length.
    pub(in crate::uaa) fn is(&self, given: &str) -> bool {
        let kept = self.0.expose_secret().as_bytes();
        kept.ct_eq(given.as_bytes()).into()
    }

    pub(in crate::uaa) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(in crate::uaa) fn handed_on(&self) -> SecretString {
        self.0.clone()
    }
}

impl From<SecretString> for StoredSecret {
    fn from(secret: SecretString) -> Self {
        Self(secret)
    }
}

/// The store's folder and file are for the owner alone, and a sandbox that starts again must know its secrets.
fn for_the_store<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
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

#[cfg(test)]
mod grant_tests {
    use serde_json::json;

    use super::Grant;

    #[test]
    fn a_grant_has_the_same_name_in_a_request_and_in_the_store() {
        for grant in Grant::ALL {
            assert_eq!(json!(grant), grant.name());
            assert_eq!(Grant::named(grant.name()), Some(grant));
        }
    }
}
