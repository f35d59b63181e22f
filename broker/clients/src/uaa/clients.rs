//! The clients of a UAA: their attributes, secrets and administration (`spec/contracts/platform-apis.md`, sections 1.5
//! and 1.6).

use std::{fmt, sync::Arc};

use reqwest::header::HeaderName;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use super::{Token, TokenSource, token_source::rejection};
use crate::{
    connection::{Connection, Identity, Protocol, Shown, is_success, is_unauthorized},
    http::{
        Call, ClientError, Limits, Method, Repeat, Request, Service, StatusCode, Trust, address,
    },
    service_error::Result,
    text_id::text_ids,
};

text_ids! {
    /// Names a client of a UAA.
    ClientId = "client id";
}

/// Without its secret, which a UAA does not return.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRegistration {
    pub client_id: ClientId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its scopes for users; `uaa.none` without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// The audience of its tokens; a UAA keeps `none` in every case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_ids: Vec<String>,
    /// Its own authorities; `uaa.none` without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorities: Vec<String>,
    /// How it may ask for tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorized_grant_types: Vec<String>,
    /// Where browsers may be sent with a code or a token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirect_uri: Vec<String>,
    /// Whether it may do without its secret (PKCE).
    #[serde(default, rename = "allowpublic", deserialize_with = "flag")]
    pub allow_public: bool,
    /// Everything else. A UAA keeps members that it does not know.
    #[serde(flatten)]
    pub additional: Map<String, Value>,
}

#[derive(Clone, Debug)]
pub struct NewClient {
    pub registration: ClientRegistration,
    /// Its secret; a client of the grant `implicit` has none.
    pub secret: Option<SecretString>,
}

/// A flag that some write as text.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(value) => value,
        Value::String(text) => text == "true",
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    })
}

/// A change of the secrets of a client (`spec/contracts/platform-apis.md` §1.5).
#[derive(Clone, Debug)]
pub enum SecretChange {
    /// Another secret beside the one there is.
    Add(SecretString),
    /// One secret that replaces all others.
    Replace(SecretString),
    /// Deletes the older one of two.
    DeleteOlder,
}

/// Rights to everything that is done to clients here.
const ADMINISTERS: [&str; 3] = ["clients.admin", "uaa.admin", "zones.uaa.admin"];

/// The rights of a token on the clients of a UAA (`spec/contracts/platform-apis.md`, section 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRights {
    All,
    /// To look clients up and to write them, but to give them no authorities and no scopes that the writer has not.
    Limited,
    /// Not enough to look after clients: `clients.read` or `clients.write` is missing.
    Lacking,
    /// The UAA does not report them.
    Unknown,
}

impl ClientRights {
    pub fn of(token: &Token) -> Self {
        Self::of_scopes(token.scopes())
    }

    fn of_scopes(scopes: &[String]) -> Self {
        let has = |wanted: &str| scopes.iter().any(|scope| scope == wanted);
        if scopes.is_empty() {
            Self::Unknown
        } else if ADMINISTERS.into_iter().any(has) {
            Self::All
        } else if has("clients.read") && has("clients.write") {
            Self::Limited
        } else {
            Self::Lacking
        }
    }
}

static PROTOCOL: Protocol = Protocol {
    service: Service::Uaa,
    request_id: Some(HeaderName::from_static("x-vcap-request-id")),
    asks_for_json: true,
    accepts: is_success,
    // One that lacks a right is 403.
    refuses_token: is_unauthorized,
    rejection,
    shown: Shown::Path,
};

/// Administers the clients of a UAA. Cheap to clone; clones share connections and token.
#[derive(Clone)]
pub struct ClientAdministration(Arc<Inner>);

struct Inner {
    connection: Connection,
    tokens: TokenSource,
}

impl ClientAdministration {
    /// The UAA at `url` (`https` if no scheme is given). Nothing is sent yet.
    pub fn connect(
        url: &str,
        trust: &Trust,
        tokens: TokenSource,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let identity = Identity::Token(tokens.clone());
        let server = address::server(url)?;
        Ok(Self(Arc::new(Inner {
            connection: Connection::new(&PROTOCOL, server, trust, identity, limits)?,
            tokens,
        })))
    }

    /// The broker's rights on clients, from its token.
    pub async fn rights(&self, call: &Call) -> Result<ClientRights> {
        Ok(ClientRights::of(&self.0.tokens.token(call).await?))
    }

    /// Registers a client and returns its registration, because a UAA adds members.
    ///
    /// Retried only until a connection exists. If the answer is lost, reading the client shows whether it was
    /// registered. An id that is taken gets status 409.
    #[tracing::instrument(name = "uaa.create_client", skip_all)]
    pub async fn create(&self, call: &Call, client: &NewClient) -> Result<ClientRegistration> {
        let url = self.0.connection.address(&["oauth", "clients"], &[]);
        let body = WithSecret {
            registration: &client.registration,
            client_secret: client.secret.as_ref().map(SecretString::expose_secret),
        };
        let request = Request::new(Method::POST, url, Repeat::WhileUnsent).json(&body);
        self.0.connection.send(call, request).await?.json()
    }

    #[tracing::instrument(name = "uaa.client", skip_all)]
    pub async fn client(&self, call: &Call, id: &ClientId) -> Result<Option<ClientRegistration>> {
        match self.0.connection.read_at(call, self.address(id)).await {
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Updates a client and returns its new registration. An empty list and the secret are left unchanged.
    #[tracing::instrument(name = "uaa.update_client", skip_all)]
    pub async fn update(
        &self,
        call: &Call,
        client: &ClientRegistration,
    ) -> Result<ClientRegistration> {
        let url = self.address(&client.client_id);
        let request = Request::new(Method::PUT, url, Repeat::WhenTransient).json(client);
        self.0.connection.send(call, request).await?.json()
    }

    /// Changes the secrets of a client, which has two at most. Rejected without the right to administer all clients, if
    /// there is no room for another secret, or if only one could be deleted.
    ///
    /// Retried on transient errors: a change that was made already is rejected, or gives the same result.
    #[tracing::instrument(name = "uaa.change_client_secret", skip_all)]
    pub async fn change_secret(
        &self,
        call: &Call,
        id: &ClientId,
        change: &SecretChange,
    ) -> Result<()> {
        let segments = ["oauth", "clients", id.as_str(), "secret"];
        let url = self.0.connection.address(&segments, &[]);
        let body = match change {
            SecretChange::Add(secret) => {
                json!({ "clientId": id, "secret": secret.expose_secret(), "changeMode": "ADD" })
            }
            SecretChange::Replace(secret) => {
                json!({ "clientId": id, "secret": secret.expose_secret(), "changeMode": "UPDATE" })
            }
            SecretChange::DeleteOlder => json!({ "clientId": id, "changeMode": "DELETE" }),
        };
        let request = Request::new(Method::PUT, url, Repeat::WhenTransient).json(&body);
        self.0.connection.send(call, request).await.map(drop)
    }

    /// Deletes a client. A missing one counts as deleted.
    #[tracing::instrument(name = "uaa.delete_client", skip_all)]
    pub async fn delete(&self, call: &Call, id: &ClientId) -> Result<()> {
        let request = Request::new(Method::DELETE, self.address(id), Repeat::WhenTransient);
        match self.0.connection.send(call, request).await {
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    fn address(&self, id: &ClientId) -> Url {
        let segments = ["oauth", "clients", id.as_str()];
        self.0.connection.address(&segments, &[])
    }
}

impl fmt::Debug for ClientAdministration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAdministration")
            .field("server", &self.0.connection.server().as_str())
            .finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct WithSecret<'a> {
    #[serde(flatten)]
    registration: &'a ClientRegistration,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_takes_reading_as_well_unless_everything_is_allowed() {
        for (scopes, rights) in [
            ("clients.admin", ClientRights::All),
            ("cloud_controller.admin uaa.admin", ClientRights::All),
            ("clients.read clients.write", ClientRights::Limited),
            ("clients.write", ClientRights::Lacking),
            ("cloud_controller.admin clients.read", ClientRights::Lacking),
            ("", ClientRights::Unknown),
        ] {
            let listed: Vec<String> = scopes.split_whitespace().map(str::to_owned).collect();
            assert_eq!(ClientRights::of_scopes(&listed), rights, "{scopes}");
        }
    }
}
