//! How a request to the Director is authenticated, sent, and its answer sorted.

use std::{fmt, sync::Arc};

use reqwest::header::{HeaderName, HeaderValue, LOCATION};
use secrecy::SecretString;
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::{Authentication, ContextId, Info, NOT_ALLOWED, SubmitError, TaskId};
use crate::{
    connection::{Answered, Connection, Identity, Protocol, Shown, refused},
    http::{
        Answer, Call, ClientError, Limits, Method, Repeat, Request, Service, StatusCode, Trust,
        address, basic_authorization, cut,
    },
    service_error::{FailureKind, ServiceError},
    uaa::{Grant, TokenSource},
};

const PORT: u16 = 25555;
const UAA_PORT: u16 = 443;
const CONTEXT_ID: HeaderName = HeaderName::from_static("x-bosh-context-id");

static PROTOCOL: Protocol = Protocol {
    service: Service::Director,
    request_id: Some(HeaderName::from_static("x-request-id")),
    asks_for_json: false,
    accepts: |status| status.is_success() || status.is_redirection(),
    // The 401 that a new token may change is plain text; the one about missing scopes is JSON.
    refuses_token: |answer| {
        answer.status() == StatusCode::UNAUTHORIZED && answer.json::<Rejection>().is_err()
    },
    rejection,
    shown: Shown::Path,
};

/// A BOSH Director. Cheap to clone; clones share connections and token.
#[derive(Clone)]
pub struct Director(Arc<Connection>);

/// The broker's credentials at the Director.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A user of a Director that keeps its users itself.
    Basic {
        /// The user's name.
        username: String,
        /// The user's password.
        password: SecretString,
    },
    /// A client of the UAA that the Director names in `/info`.
    Uaa {
        /// The client's id.
        client_id: String,
        /// The client's secret.
        client_secret: SecretString,
    },
}

/// The Director cannot be connected to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The client cannot be set up.
    #[error("the Director's client cannot be set up")]
    Client {
        /// Why.
        #[source]
        source: ClientError,
    },
    /// The Director's `/info` cannot be read.
    #[error("the Director's information cannot be read")]
    Info {
        /// Why.
        #[source]
        source: ServiceError,
    },
    /// The credentials are of a kind that this Director refuses.
    #[error(
        "the Director's users are in `{director}`, but the credentials are for `{credentials}`"
    )]
    OtherAuthentication {
        /// `basic` or `uaa`, as the Director says.
        director: String,
        /// `basic` or `uaa`, as configured.
        credentials: &'static str,
    },
    /// The Director returns an invalid address of UAA.
    #[error("the address of UAA that the Director gives cannot be used")]
    UaaAddress {
        /// The underlying error.
        #[source]
        source: ClientError,
    },
    /// The user's name or password cannot be put into a header.
    #[error("the credentials for the Director cannot be sent in a header")]
    Unusable,
}

impl Director {
    /// Whether the configured address of a Director is usable. The error repeats no part of it.
    pub fn check_address(url: &str) -> Result<(), ClientError> {
        address::tls_server(url, PORT).map(drop)
    }

    /// The server that is called for an address as configured.
    pub fn server_at(url: &str) -> Result<Url, ClientError> {
        let mut server = address::tls_server(url, PORT)?;
        server.set_path("/");
        Ok(server)
    }

    /// Connects to the Director at `url`, of which only host and port (default 25555) count: the connection always uses
    /// TLS. Reads `/info` to learn how the Director authenticates clients, but does not verify the credentials;
    /// [`Director::authenticated_info`] does.
    #[tracing::instrument(name = "director.connect", skip_all)]
    pub async fn connect(
        call: &Call,
        url: &str,
        trust: &Trust,
        credentials: Credentials,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        let server = Self::server_at(url).map_err(|source| ConnectError::Client { source })?;
        let connection = Connection::new(&PROTOCOL, server, trust, Identity::Anonymous, limits)
            .map_err(|source| ConnectError::Client { source })?;
        let info = Info::read_by(&connection, call)
            .await
            .map_err(|source| ConnectError::Info { source })?;
        let identity = match (credentials, info.authentication) {
            (Credentials::Basic { username, password }, Authentication::Basic) => Identity::Basic(
                basic_authorization(&username, &password).map_err(|_| ConnectError::Unusable)?,
            ),
            (
                Credentials::Uaa {
                    client_id,
                    client_secret,
                },
                Authentication::Uaa { url },
            ) => {
                let uaa = address::tls_server(&url, UAA_PORT)
                    .map_err(|source| ConnectError::UaaAddress { source })?;
                let grant = Grant::ClientCredentials {
                    client_id,
                    client_secret,
                };
                let http = connection.http().clone();
                Identity::Token(TokenSource::on(uaa, http, grant))
            }
            (credentials, authentication) => {
                return Err(ConnectError::OtherAuthentication {
                    director: authentication.to_string(),
                    credentials: credentials.kind(),
                });
            }
        };
        Ok(Self(Arc::new(connection.with(identity))))
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0
    }

    /// Where the tokens come from, if the Director takes tokens.
    pub fn tokens(&self) -> Option<&TokenSource> {
        self.0.tokens()
    }

    pub(super) fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        self.0.address(segments, query)
    }

    /// Reads something as JSON. Safe to repeat, so it is repeated.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ServiceError> {
        self.0.read(call, segments, query).await
    }

    /// Reads a JSON array, one member after the other. Safe to repeat, so it is retried; only members of the last
    /// answer are used.
    pub(super) async fn read_each<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
        take: impl FnMut(T),
    ) -> Result<(), ServiceError> {
        let request = Request::get(self.address(segments, query));
        self.send(call, request).await?.each_of_json(take)
    }

    /// Starts a task and returns its id. Retried only until a connection exists.
    pub(super) async fn submit(
        &self,
        call: &Call,
        method: Method,
        url: Url,
        context: &ContextId,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<TaskId, SubmitError> {
        let context = HeaderValue::from_str(context.as_str())
            .expect("a context id has visible ASCII characters only");
        let mut request =
            Request::new(method, url, Repeat::WhileUnsent).header(CONTEXT_ID, context);
        if let Some((content_type, body)) = body {
            request = request.body(content_type, body);
        }
        Ok(started_task(&self.send(call, request).await?)?)
    }

    /// Starts a task that changes nothing, and so may be started more than once.
    pub(super) async fn start_reading(
        &self,
        call: &Call,
        url: Url,
    ) -> Result<TaskId, ServiceError> {
        started_task(&self.send(call, Request::get(url)).await?)
    }

    /// The answer is a success or a redirect.
    pub(super) async fn send(
        &self,
        call: &Call,
        request: Request,
    ) -> Result<Answered, ServiceError> {
        self.0.send(call, request).await
    }
}

impl fmt::Debug for Director {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Director")
            .field("server", &self.0.server().as_str())
            .finish_non_exhaustive()
    }
}

impl Credentials {
    fn kind(&self) -> &'static str {
        match self {
            Self::Basic { .. } => "basic",
            Self::Uaa { .. } => "uaa",
        }
    }
}

fn rejection(answer: &Answer) -> FailureKind {
    let rejection = answer.json::<Rejection>().ok();
    let status = answer.status();
    match rejection {
        Some(rejection)
            if status == StatusCode::UNAUTHORIZED && rejection.code == Some(NOT_ALLOWED) =>
        {
            FailureKind::NotAllowed {
                description: cut(&rejection.description),
            }
        }
        _ if status == StatusCode::UNAUTHORIZED => FailureKind::Unauthenticated,
        Some(Rejection { code, description }) => FailureKind::Refused {
            status,
            code,
            name: String::new(),
            description: cut(&description),
        },
        None => refused(answer),
    }
}

/// A Director's error.
#[derive(Deserialize)]
struct Rejection {
    code: Option<u64>,
    description: String,
}

/// The Director answers the start of a task with a redirect to it (302 or 303, depending on its front end). The address
/// may be reachable only for the Director, so only its end is read.
fn started_task(answer: &Answered) -> Result<TaskId, ServiceError> {
    let task = || {
        if !matches!(answer.status(), StatusCode::FOUND | StatusCode::SEE_OTHER) {
            return None;
        }
        let location = answer.header(&LOCATION)?;
        let path = location.split(['?', '#']).next().unwrap_or_default();
        path.trim_end_matches('/').rsplit('/').next()?.parse().ok()
    };
    task().ok_or_else(|| answer.lacks("redirect to a task"))
}
