//! Create, look up, update, delete, and change secrets.

use std::{fmt, sync::Arc};

use reqwest::header::HeaderName;
use url::Url;

use super::{ClientId, ClientRegistration, ClientRights, NewClient, SecretChange};
use crate::{
    connection::{Connection, Identity, Protocol, Shown, is_success, is_unauthorized},
    http::{
        Call, ClientError, Limits, Method, Repeat, Request, Service, StatusCode, Trust, address,
    },
    service_error::Result,
    uaa::{TokenSource, token_source::rejection},
};

const JSON: &str = "application/json";

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

    /// The broker's rights on clients, from its token. Safe to repeat.
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
        let request =
            Request::new(Method::POST, url, Repeat::WhileUnsent).body(JSON, client.body());
        self.0.connection.send(call, request).await?.json()
    }

    /// Reads a client. Safe to repeat.
    #[tracing::instrument(name = "uaa.client", skip_all)]
    pub async fn client(&self, call: &Call, id: &ClientId) -> Result<Option<ClientRegistration>> {
        match self.0.connection.read_at(call, self.address(id)).await {
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Updates a client and returns its new registration. An empty list and the secret are left unchanged. Safe to
    /// repeat.
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
        let request =
            Request::new(Method::PUT, url, Repeat::WhenTransient).body(JSON, change.body(id));
        self.0.connection.send(call, request).await.map(drop)
    }

    /// Deletes a client. A missing one counts as deleted. Safe to repeat.
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
