//! How a request to CredHub is authenticated, sent, and its answer sorted.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use secrecy::SecretString;
use serde::{Deserialize, de::DeserializeOwned};
use url::{Url, form_urlencoded};

use super::{
    CredHubError, CredHubVersion,
    version::{App, Info},
};
use crate::{
    http::{
        Answer, Call, ClientError, HttpClient, Limits, Neighbour, Request, StatusCode,
        TransportError, Trust, UnreadableAnswer, address, cut,
    },
    uaa::{AuthorizedError, Grant, TokenSource},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-vcap-request-id");

/// A CredHub. Cheap to clone; clones share connections and token.
#[derive(Clone)]
pub struct CredHub(Arc<Inner>);

struct Inner {
    http: HttpClient,
    server: Url,
    tokens: TokenSource,
    version: OnceLock<CredHubVersion>,
}

/// The client of UAA as whom the broker speaks to CredHub.
#[derive(Clone, Debug)]
pub struct CredHubClient {
    /// The client's id.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: SecretString,
}

/// CredHub cannot be connected to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectCredHubError {
    /// The client cannot be set up.
    #[error("CredHub's client cannot be set up")]
    Client(#[source] ClientError),
    /// CredHub's `/info` cannot be read.
    #[error("CredHub's information cannot be read")]
    Info(#[source] CredHubError),
    /// CredHub names a UAA whose address is not one.
    #[error("the address of UAA that CredHub gives cannot be used")]
    UaaAddress(#[source] ClientError),
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
    ) -> Result<Self, ConnectCredHubError> {
        let server = address::server(url).map_err(ConnectCredHubError::Client)?;
        let http = HttpClient::new(trust, limits)
            .map_err(ConnectCredHubError::Client)?
            .of(Neighbour::CredHub);
        let info = information(&http, &server, call)
            .await
            .map_err(ConnectCredHubError::Info)?;
        let uaa =
            address::server(&info.auth_server.url).map_err(ConnectCredHubError::UaaAddress)?;
        let grant = Grant::ClientCredentials {
            client_id: client.client_id,
            client_secret: client.client_secret,
        };
        let App { version } = info.app;
        let version = version.as_deref().and_then(CredHubVersion::read);
        Ok(Self(Arc::new(Inner {
            tokens: TokenSource::on(&uaa, http.clone(), grant),
            http,
            server,
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

    pub(super) fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        address::on(&self.0.server, segments, query)
    }

    /// Reads something as JSON.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CredHubError> {
        let request = Request::get(self.address(segments, query));
        let asked = Asked::of(&request);
        let answer = self.send(call, request).await?;
        answer.json().map_err(|source| asked.not_understood(source))
    }

    /// Sends an authenticated request and sorts the refusals out.
    pub(super) async fn send(&self, call: &Call, request: Request) -> Result<Answer, CredHubError> {
        let request = prepared(call, request);
        let asked = Asked::of(&request);
        let inner = &*self.0;
        let sent = inner
            .http
            .send_with_token(call, request, &inner.tokens, refuses_token)
            .await;
        match sent {
            Ok(answer) => asked.accept(answer),
            Err(AuthorizedError::Transport(source)) => Err(asked.no_answer(source)),
            Err(AuthorizedError::Token(source)) if source.is_out_of_time() => {
                Err(asked.no_answer(TransportError::OutOfTime { sent: false }))
            }
            Err(AuthorizedError::Token(source)) => Err(CredHubError::NoToken {
                host: asked.host,
                source: Box::new(source),
            }),
        }
    }
}

impl fmt::Debug for CredHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredHub")
            .field("server", &self.0.server.as_str())
            .finish_non_exhaustive()
    }
}

/// What was asked, for the errors. Names of credentials are told, values never.
pub(super) struct Asked {
    host: String,
    what: String,
}

impl Asked {
    pub(super) fn of(request: &Request) -> Self {
        let url = request.url();
        let mut what = format!("{} {}", request.method(), url.path());
        for (position, (key, value)) in
            form_urlencoded::parse(url.query().unwrap_or_default().as_bytes()).enumerate()
        {
            what.push(if position == 0 { '?' } else { '&' });
            what.push_str(&key);
            what.push('=');
            what.push_str(&value);
        }
        Self {
            host: url.host_str().unwrap_or_default().to_owned(),
            what,
        }
    }

    pub(super) fn not_understood(self, source: UnreadableAnswer) -> CredHubError {
        let Self { host, what: asked } = self;
        CredHubError::NotUnderstood {
            host,
            asked,
            source,
        }
    }

    fn no_answer(self, source: TransportError) -> CredHubError {
        let Self { host, what: asked } = self;
        match source {
            TransportError::OutOfTime { sent } => CredHubError::OutOfTime { host, asked, sent },
            source => CredHubError::NoAnswer {
                host,
                asked,
                source,
            },
        }
    }

    fn accept(self, answer: Answer) -> Result<Answer, CredHubError> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let said = answer.json::<Said>();
        // A proxy that finds no CredHub answers so as well, and must not pass for one that finds no credential.
        if status == StatusCode::NOT_FOUND && said.is_err() {
            let missing = "error of CredHub";
            return Err(self.not_understood(UnreadableAnswer::Missing { missing }));
        }
        let description = match said {
            Ok(Said {
                error,
                error_description: Some(description),
            }) => cut(&format!("{error}: {description}")),
            Ok(Said { error, .. }) => cut(&error),
            Err(_) => answer.error_text(),
        };
        let Self { host, what: asked } = self;
        Err(CredHubError::Refused {
            host,
            asked,
            status,
            description,
        })
    }
}

/// A CredHub's error. The description is there when it is about the token.
#[derive(Deserialize)]
struct Said {
    error: String,
    error_description: Option<String>,
}

async fn information(http: &HttpClient, server: &Url, call: &Call) -> Result<Info, CredHubError> {
    let request = prepared(call, Request::get(address::on(server, &["info"], &[])));
    let asked = Asked::of(&request);
    match http.send(call, &request).await {
        Ok(answer) => {
            let answer = asked.accept(answer)?;
            let asked = Asked::of(&request);
            answer.json().map_err(|source| asked.not_understood(source))
        }
        Err(source) => Err(asked.no_answer(source)),
    }
}

fn prepared(call: &Call, request: Request) -> Request {
    request
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .request_id(REQUEST_ID, call)
}

/// A token that has expired, or that this CredHub does not know.
fn refuses_token(answer: &Answer) -> bool {
    answer.status() == StatusCode::UNAUTHORIZED
}
