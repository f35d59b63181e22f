//! How a request to the Director is authenticated, sent, and its answer sorted.

use std::{fmt, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue, LOCATION};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::{Authentication, ContextId, DirectorError, SubmitError, TaskId, error::code};
use crate::{
    http::{
        Answer, Call, ClientError, HttpClient, Limits, Method, Neighbour, Repeat, Request,
        StatusCode, TransportError, Trust, UnreadableAnswer, address, cut,
    },
    uaa::{AuthorizedError, Grant, TokenError, TokenSource},
};

const PORT: u16 = 25555;
const UAA_PORT: u16 = 443;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const CONTEXT_ID: HeaderName = HeaderName::from_static("x-bosh-context-id");

/// A BOSH Director. Cheap to clone; clones share connections and token.
#[derive(Clone)]
pub struct Director(Arc<Inner>);

struct Inner {
    http: HttpClient,
    server: Url,
    identity: Identity,
}

enum Identity {
    Basic(HeaderValue),
    Uaa(TokenSource),
}

/// As whom the broker speaks to the Director.
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
        source: DirectorError,
    },
    /// The credentials are of a kind that this Director refuses.
    #[error(
        "the Director's users are kept by `{director}`, but the credentials are for `{credentials}`"
    )]
    OtherAuthentication {
        /// `basic` or `uaa`, as the Director says.
        director: String,
        /// `basic` or `uaa`, as configured.
        credentials: &'static str,
    },
    /// The Director names a UAA whose address is not one.
    #[error("the address of UAA that the Director gives cannot be used")]
    UaaAddress {
        /// What is wrong with it.
        #[source]
        source: ClientError,
    },
    /// The user's name or password cannot be put into a header.
    #[error("the credentials for the Director cannot be sent in a header")]
    Unusable,
}

impl Director {
    /// Whether a Director can be called at an address as configured. The refusal repeats no part
    /// of it.
    pub fn check_address(url: &str) -> Result<(), ClientError> {
        address::tls_server(url, PORT).map(drop)
    }

    /// The server that is called for an address as configured.
    pub fn server_at(url: &str) -> Result<Url, ClientError> {
        let mut server = address::tls_server(url, PORT)?;
        server.set_path("/");
        Ok(server)
    }

    /// Connects to the Director at `url`, of which only host and port (25555 if there is none)
    /// count: it is always spoken to over TLS. Reads `/info` to learn how it authenticates, but
    /// does not try the credentials; [`Director::authenticated_info`] does.
    #[tracing::instrument(name = "director.connect", skip_all)]
    pub async fn connect(
        call: &Call,
        url: &str,
        trust: &Trust,
        credentials: Credentials,
        limits: Limits,
    ) -> Result<Self, ConnectError> {
        let server = Self::server_at(url).map_err(|source| ConnectError::Client { source })?;
        let http = HttpClient::new(trust, limits)
            .map_err(|source| ConnectError::Client { source })?
            .of(Neighbour::Director);
        let info = super::info::anonymous(&http, &server, call)
            .await
            .map_err(|source| ConnectError::Info { source })?;
        let identity = match (credentials, info.authentication) {
            (Credentials::Basic { username, password }, Authentication::Basic) => {
                Identity::Basic(basic(&username, &password)?)
            }
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
                Identity::Uaa(TokenSource::on(&uaa, http.clone(), grant))
            }
            (credentials, authentication) => {
                return Err(ConnectError::OtherAuthentication {
                    director: authentication.to_string(),
                    credentials: credentials.kind(),
                });
            }
        };
        Ok(Self(Arc::new(Inner {
            http,
            server,
            identity,
        })))
    }

    pub(super) fn http(&self) -> &HttpClient {
        &self.0.http
    }

    pub(super) fn server(&self) -> &Url {
        &self.0.server
    }

    /// Where the tokens come from, if the Director takes tokens.
    pub fn tokens(&self) -> Option<&TokenSource> {
        match &self.0.identity {
            Identity::Basic(_) => None,
            Identity::Uaa(tokens) => Some(tokens),
        }
    }

    pub(super) fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        address::on(&self.0.server, segments, query)
    }

    /// Reads something as JSON. Safe to repeat, so it is repeated.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, DirectorError> {
        let request = Request::get(self.address(segments, query));
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        answer.json().map_err(|source| asked.not_understood(source))
    }

    /// Reads an array of something as JSON, one member after the other. Safe to repeat, so it is repeated; members are taken
    /// from the last answer only.
    pub(super) async fn read_each<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
        take: impl FnMut(T),
    ) -> Result<(), DirectorError> {
        let request = Request::get(self.address(segments, query));
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        answer
            .each_of_json(take)
            .map_err(|source| asked.not_understood(source))
    }

    /// Starts a task and tells its id. Repeated only as long as no connection has come about.
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
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        Ok(started_task(&answer).map_err(|source| asked.not_understood(source))?)
    }

    /// Starts a task that changes nothing, and so may be started more than once.
    pub(super) async fn start_reading(
        &self,
        call: &Call,
        url: Url,
    ) -> Result<TaskId, DirectorError> {
        let request = Request::get(url);
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        started_task(&answer).map_err(|source| asked.not_understood(source))
    }

    /// Sends an authenticated request and sorts the refusals out: what comes back is a success or
    /// a redirect.
    pub(super) async fn send(
        &self,
        call: &Call,
        request: Request,
    ) -> Result<Answer, DirectorError> {
        let request = request.request_id(REQUEST_ID, call);
        let asked = Asked::of(&request);
        let http = &self.0.http;
        let sent = match &self.0.identity {
            Identity::Basic(header) => {
                let request = request.header(AUTHORIZATION, header.clone());
                http.send(call, &request)
                    .await
                    .map_err(AuthorizedError::Transport)
            }
            Identity::Uaa(tokens) => {
                http.send_with_token(call, request, tokens, is_unauthenticated)
                    .await
            }
        };
        match sent {
            Ok(answer) => asked.accept(answer),
            Err(AuthorizedError::Transport(source)) => Err(asked.no_answer(source)),
            Err(AuthorizedError::Token(source)) => Err(asked.without_token(source)),
        }
    }
}

impl fmt::Debug for Director {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Director")
            .field("server", &self.0.server.as_str())
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

/// What was asked, for the errors.
pub(super) struct Asked {
    method: Method,
    path: String,
}

impl Asked {
    pub(super) fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            path: request.path().to_owned(),
        }
    }

    pub(super) fn not_understood(self, source: UnreadableAnswer) -> DirectorError {
        let Self { method, path } = self;
        DirectorError::NotUnderstood {
            method,
            path,
            source,
        }
    }

    pub(super) fn no_answer(self, source: TransportError) -> DirectorError {
        let Self { method, path } = self;
        match source {
            TransportError::OutOfTime { sent } => DirectorError::OutOfTime { method, path, sent },
            source => DirectorError::NoAnswer {
                method,
                path,
                source,
            },
        }
    }

    fn without_token(self, error: TokenError) -> DirectorError {
        if error.is_out_of_time() {
            self.no_answer(TransportError::OutOfTime { sent: false })
        } else {
            DirectorError::NoToken { source: error }
        }
    }

    pub(super) fn accept(self, answer: Answer) -> Result<Answer, DirectorError> {
        let status = answer.status();
        if status.is_success() || status.is_redirection() {
            return Ok(answer);
        }
        let Self { method, path } = self;
        let said = answer.json::<Said>().ok();
        if status == StatusCode::UNAUTHORIZED {
            return Err(match said {
                Some(said) if said.code == Some(code::NOT_ALLOWED) => DirectorError::NotAllowed {
                    method,
                    path,
                    description: cut(&said.description),
                },
                Some(_) | None => DirectorError::Unauthenticated { method, path },
            });
        }
        let (code, description) = match said {
            Some(said) => (said.code, cut(&said.description)),
            None => (None, answer.error_text()),
        };
        Err(DirectorError::Refused {
            method,
            path,
            status,
            code,
            description,
        })
    }
}

/// A Director's error.
#[derive(Deserialize)]
struct Said {
    code: Option<u64>,
    description: String,
}

/// The 401 that a new token may mend is plain text; the one about missing scopes is JSON.
fn is_unauthenticated(answer: &Answer) -> bool {
    answer.status() == StatusCode::UNAUTHORIZED && answer.json::<Said>().is_err()
}

/// The Director answers the start of a task with a redirect to it: 302 or 303, as its front end
/// has it. The address may be one that only the Director can reach, so only its end is read.
fn started_task(answer: &Answer) -> Result<TaskId, UnreadableAnswer> {
    const MISSING: UnreadableAnswer = UnreadableAnswer::Missing {
        missing: "redirect to a task",
    };
    if !matches!(answer.status(), StatusCode::FOUND | StatusCode::SEE_OTHER) {
        return Err(MISSING);
    }
    let location = answer.header(&LOCATION).ok_or(MISSING)?;
    let path = location.split(['?', '#']).next().unwrap_or_default();
    let last = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    last.parse().map_err(|_| MISSING)
}

fn basic(username: &str, password: &SecretString) -> Result<HeaderValue, ConnectError> {
    let credentials = format!("{username}:{}", password.expose_secret());
    let value = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    let mut value = HeaderValue::try_from(value).map_err(|_| ConnectError::Unusable)?;
    value.set_sensitive(true);
    Ok(value)
}
