//! How a request to the Director is authenticated, sent, and its answer sorted.

use std::{fmt, sync::Arc};

use reqwest::header::{HeaderName, HeaderValue, LOCATION};
use secrecy::SecretString;
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::{Authentication, ContextId, Info, TaskId};
use crate::{
    connection::{Answered, ConnectError, Connection, Identity, Protocol, Shown, refused},
    http::{
        Call, ClientError, Limits, Method, Repeat, Request, Response, Service, StatusCode, Trust,
        address, basic_authorization, cut,
    },
    service_error::{FailureKind, Result, ServiceError, quoted},
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
pub struct Director(pub(super) Arc<Connection>);

/// The broker's credentials at the Director.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A user of a Director that keeps its users itself.
    Basic {
        username: String,
        password: SecretString,
    },
    /// A client of the UAA that the Director names in `/info`.
    Uaa {
        client_id: String,
        client_secret: SecretString,
    },
}

/// Work was not started, or it is not known whether it was.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The Director did not receive the request: nothing has taken effect.
    #[error("the request was not sent to the Director")]
    NotSent {
        #[source]
        source: ServiceError,
    },
    /// The Director may have got the request. Look for a task of the context id before anything
    /// is sent again.
    #[error("it is not known whether the Director has started the task")]
    LostAnswer {
        #[source]
        source: ServiceError,
    },
    /// The Director rejected the request: nothing has taken effect.
    #[error(
        "the Director refused `{asked}` with status {status}{}",
        quoted(": ", description)
    )]
    Refused {
        /// The request, such as `POST /deployments`.
        asked: String,
        status: StatusCode,
        /// The Director's own code, if it gave one.
        code: Option<u64>,
        /// The Director's words, 2 KiB at most.
        description: String,
    },
}

impl From<ServiceError> for SubmitError {
    fn from(error: ServiceError) -> Self {
        if error.may_have_taken_effect() {
            return Self::LostAnswer { source: error };
        }
        let asked = format!("{} {}", error.method(), error.path());
        let (status, code, description) = match error.kind {
            FailureKind::Refused {
                status,
                code,
                description,
                ..
            } => (status, code, description),
            FailureKind::NotAllowed { description } => {
                (StatusCode::UNAUTHORIZED, Some(NOT_ALLOWED), description)
            }
            FailureKind::Unauthenticated => {
                let description = "the Director did not accept the broker's credentials";
                (StatusCode::UNAUTHORIZED, None, description.to_owned())
            }
            _ => return Self::NotSent { source: error },
        };
        Self::Refused {
            asked,
            status,
            code,
            description,
        }
    }
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
        let service = Service::Director;
        let unusable = |source| ConnectError::Client { service, source };
        let server = Self::server_at(url).map_err(unusable)?;
        let connection = Connection::new(&PROTOCOL, server, trust, Identity::Anonymous, limits)
            .map_err(unusable)?;
        let info = Info::read_by(&connection, call)
            .await
            .map_err(|source| ConnectError::Info { service, source })?;
        let identity = match (credentials, info.authentication) {
            (Credentials::Basic { username, password }, Authentication::Basic) => {
                let authorization = basic_authorization(&username, &password);
                Identity::Basic(
                    authorization.map_err(|_| ConnectError::UnsendableCredentials { service })?,
                )
            }
            (
                Credentials::Uaa {
                    client_id,
                    client_secret,
                },
                Authentication::Uaa { url },
            ) => {
                let uaa = address::tls_server(&url, UAA_PORT)
                    .map_err(|source| ConnectError::UaaAddress { service, source })?;
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

    pub fn tokens(&self) -> Option<&TokenSource> {
        self.0.tokens()
    }

    /// Reads a JSON array, one member after the other. Safe to repeat, so it is retried; only members of the last
    /// answer are used.
    pub(super) async fn read_each<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
        take: impl FnMut(T),
    ) -> Result<()> {
        let request = Request::get(self.0.address(segments, query));
        self.0.send(call, request).await?.each_of_json(take)
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
        Ok(started_task(&self.0.send(call, request).await?)?)
    }

    /// Starts a task that changes nothing, and so may be started more than once.
    pub(super) async fn start_reading(&self, call: &Call, url: Url) -> Result<TaskId> {
        started_task(&self.0.send(call, Request::get(url)).await?)
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

fn rejection(answer: &Response) -> FailureKind {
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

#[derive(Deserialize)]
struct Rejection {
    code: Option<u64>,
    description: String,
}

/// The Director answers the start of a task with a redirect to it (302 or 303, depending on its front end). The address
/// may be reachable only for the Director, so only its end is read.
fn started_task(answer: &Answered) -> Result<TaskId> {
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

/// Nothing where the Director has no such thing, as its code has it.
pub(super) fn unless_missing<T>(found: Result<T>, code: u64) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if error.status() == Some(StatusCode::NOT_FOUND) && error.code() == Some(code) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The Director's code for missing permissions.
pub(crate) const NOT_ALLOWED: u64 = 600_000;

/// Codes of the Director that mean something to a method here.
pub(super) mod code {
    pub(in crate::director) const NO_SUCH_TASK: u64 = 10_000;
    pub(in crate::director) const NO_SUCH_DEPLOYMENT: u64 = 70_000;
    pub(in crate::director) const NO_SUCH_CONFIG: u64 = 440_012;
    pub(in crate::director) const NO_SUCH_LINK: u64 = 810_000;
}
