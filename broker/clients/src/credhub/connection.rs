//! How a request to CredHub is authenticated, sent, and its answer sorted.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use reqwest::header::HeaderName;
use secrecy::SecretString;
use serde::Deserialize;

use super::{
    CredHubVersion,
    version::{App, Info},
};
use crate::{
    connection::{
        ConnectError, Connection, Identity, Protocol, Shown, is_success, is_unauthorized, refused,
    },
    http::{Answer, Call, Limits, Service, StatusCode, Trust, UnreadableAnswer, address, cut},
    service_error::{FailureKind, Result},
    uaa::{Grant, TokenSource},
};

static PROTOCOL: Protocol = Protocol {
    service: Service::CredHub,
    request_id: Some(HeaderName::from_static("x-vcap-request-id")),
    asks_for_json: true,
    accepts: is_success,
    // It has expired, or this CredHub does not know it.
    refuses_token: is_unauthorized,
    rejection,
    // The names of credentials are shown, values never.
    shown: Shown::HostPathAndQuery,
};

/// A CredHub. Cheap to clone; clones share connections and token.
#[derive(Clone)]
pub struct CredHub(Arc<Inner>);

struct Inner {
    connection: Connection,
    tokens: TokenSource,
    version: OnceLock<CredHubVersion>,
}

/// The broker's UAA client for CredHub.
#[derive(Clone, Debug)]
pub struct CredHubClient {
    /// The client's id.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: SecretString,
}

impl CredHub {
    /// Connects to the CredHub at `url` (`https` if no scheme is given). Reads `/info` to learn
    /// which UAA gives the tokens, but does not try the credentials; [`CredHub::version`] does.
    ///
    /// `trust` is for both servers.
    #[tracing::instrument(name = "credhub.connect", skip_all)]
    pub async fn connect(
        call: &Call,
        url: &str,
        trust: &Trust,
        client: CredHubClient,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        let service = Service::CredHub;
        let unusable = |source| ConnectError::Client { service, source };
        let server = address::server(url).map_err(unusable)?;
        let connection = Connection::new(&PROTOCOL, server, trust, Identity::Anonymous, limits)
            .map_err(unusable)?;
        let info = connection.read::<Info>(call, &["info"], &[]).await;
        let info = info.map_err(|source| ConnectError::Info { service, source })?;
        let uaa = address::server(&info.auth_server.url)
            .map_err(|source| ConnectError::UaaAddress { service, source })?;
        let grant = Grant::ClientCredentials {
            client_id: client.client_id,
            client_secret: client.client_secret,
        };
        let App { version } = info.app;
        let version = version.as_deref().and_then(CredHubVersion::read);
        let tokens = TokenSource::on(uaa, connection.http().clone(), grant);
        Ok(Self(Arc::new(Inner {
            connection: connection.with(Identity::Token(tokens.clone())),
            tokens,
            version: version.map_or_else(OnceLock::new, OnceLock::from),
        })))
    }

    /// Where the tokens come from.
    pub fn tokens(&self) -> &TokenSource {
        &self.0.tokens
    }

    pub(super) fn known_version(&self) -> &OnceLock<CredHubVersion> {
        &self.0.version
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0.connection
    }
}

impl fmt::Debug for CredHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredHub")
            .field("server", &self.0.connection.server().as_str())
            .finish_non_exhaustive()
    }
}

fn rejection(answer: &Answer) -> FailureKind {
    let description = match answer.json::<Rejection>() {
        Ok(Rejection {
            error,
            error_description: Some(description),
        }) => format!("{error}: {description}"),
        Ok(Rejection { error, .. }) => error,
        // A proxy that finds no CredHub answers so as well, and must not pass for one that finds no credential.
        Err(_) if answer.status() == StatusCode::NOT_FOUND => {
            let missing = "error of CredHub";
            let source = UnreadableAnswer::Missing { missing };
            return FailureKind::NotUnderstood { source };
        }
        Err(_) => return refused(answer),
    };
    FailureKind::Refused {
        status: answer.status(),
        code: None,
        name: String::new(),
        description: cut(&description),
    }
}

/// A CredHub's error. The description is there when it is about the token.
#[derive(Deserialize)]
struct Rejection {
    error: String,
    error_description: Option<String>,
}
