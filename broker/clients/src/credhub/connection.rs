//! How a request to CredHub is authenticated, sent, and its answer sorted.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use reqwest::header::HeaderName;
use secrecy::SecretString;
use serde::Deserialize;

use crate::{
    connection::{
        ConnectError, Connection, Identity, Protocol, Shown, is_success, is_unauthorized, refused,
    },
    http::{
        Call, Limits, Request, Response, Service, StatusCode, Trust, UnreadableResponse, address,
        cut,
    },
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
    pub client_id: String,
    pub client_secret: SecretString,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredHubVersion {
    text: String,
    major: u64,
}

#[derive(Deserialize)]
struct Info {
    #[serde(rename = "auth-server")]
    auth_server: AuthServer,
    #[serde(default)]
    app: App,
}

#[derive(Deserialize)]
struct AuthServer {
    url: String,
}

/// Servers from 2.0 on keep their version to those with a token.
#[derive(Default, Deserialize)]
struct App {
    #[serde(default)]
    version: Option<String>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
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

    /// The server's version, read until it is known. It needs a token, so it also verifies the credentials.
    #[tracing::instrument(name = "credhub.version", skip_all)]
    pub async fn version(&self, call: &Call) -> Result<CredHubVersion> {
        if let Some(version) = self.0.version.get() {
            return Ok(version.clone());
        }
        let request = Request::get(self.0.connection.address(&["version"], &[]));
        let answer = self.0.connection.send(call, request).await?;
        let reported: Version = answer.json()?;
        let version = CredHubVersion::read(&reported.version)
            .ok_or_else(|| answer.lacks("version number"))?;
        Ok(self.0.version.get_or_init(|| version).clone())
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

fn rejection(answer: &Response) -> FailureKind {
    let description = match answer.json::<Rejection>() {
        Ok(Rejection {
            error,
            error_description: Some(description),
        }) => format!("{error}: {description}"),
        Ok(Rejection { error, .. }) => error,
        // A proxy that finds no CredHub answers so as well, and must not pass for one that finds no credential.
        Err(_) if answer.status() == StatusCode::NOT_FOUND => {
            let missing = "error of CredHub";
            let source = UnreadableResponse::Missing { missing };
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

impl CredHubVersion {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let major = text.split('.').next()?.parse().ok()?;
        Some(Self {
            text: text.to_owned(),
            major,
        })
    }

    /// Whether it is older than 2.0, when a set kept the old value by default, and permissions had another form.
    pub fn is_before_2(&self) -> bool {
        self.major < 2
    }
}

impl fmt::Display for CredHubVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
