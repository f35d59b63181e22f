//! One owner of a token for all callers.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};
use url::Url;

use super::Grant;
use crate::{
    connection::{Connection, Identity, Protocol, Shown, is_success, is_unauthorized},
    http::{
        Call, ClientError, HttpClient, Limits, Method, Repeat, Request, Response, Service,
        TokenEvent, Trust, address, cut, observer,
    },
    service_error::{FailureKind, Result, ServiceError},
};

const ENDPOINT: [&str; 2] = ["oauth", "token"];
const ENCODED_CREDENTIALS: HeaderName = HeaderName::from_static("x-cf-encoded-credentials");
const FORM: &str = "application/x-www-form-urlencoded";

static PROTOCOL: Protocol = Protocol {
    service: Service::Uaa,
    request_id: None,
    asks_for_json: true,
    accepts: is_success,
    refuses_token: is_unauthorized,
    rejection,
    shown: Shown::HostAndPath,
};

/// A token is renewed this long before its end, or a tenth of its life if that is shorter.
const RENEWED_BEFORE_END: Duration = Duration::from_secs(10);

/// Gives tokens for one grant, and keeps the last one while it lives. Cheap to clone; clones share
/// the token.
///
/// When there is none, one caller asks for it and the others wait for that one.
#[derive(Clone)]
pub struct TokenSource(Arc<Inner>);

struct Inner {
    connection: Connection,
    grant: Grant,
    current: Mutex<Option<Current>>,
    /// The last token that was refused, by its number.
    refused: AtomicU64,
}

struct Current {
    token: Token,
    renew_at: Instant,
}

#[derive(Clone)]
pub struct Token {
    value: SecretString,
    authorization: HeaderValue,
    scopes: Arc<[String]>,
    /// Counts the tokens of a source, from 1.
    number: u64,
}

/// The claims of a token (`spec/contracts/platform-apis.md`, section 1.4), unverified: its audience verifies them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claims {
    /// The issuer, such as `https://uaa.example.com/oauth/token`.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// When, in seconds since 1970 by the issuer's clock.
    #[serde(rename = "iat")]
    pub issued_at: i64,
    /// When it ends, by the same clock.
    #[serde(rename = "exp")]
    pub expires_at: i64,
}

impl TokenSource {
    /// Tokens from the UAA at `url` (`https` if no scheme is given). Nothing is sent yet.
    pub fn connect(
        url: &str,
        trust: &Trust,
        grant: Grant,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let server = address::server(url)?;
        let connection = Connection::new(&PROTOCOL, server, trust, Identity::Anonymous, limits)?;
        Ok(Self::over(connection, grant))
    }

    /// Over the connections of another client.
    pub(crate) fn on(server: Url, http: HttpClient, grant: Grant) -> Self {
        Self::over(Connection::on(&PROTOCOL, server, http), grant)
    }

    fn over(connection: Connection, grant: Grant) -> Self {
        Self(Arc::new(Inner {
            connection,
            grant,
            current: Mutex::new(None),
            refused: AtomicU64::new(0),
        }))
    }

    /// The token that is in use, or a new one.
    #[tracing::instrument(name = "uaa.token", skip_all, fields(host = self.0.connection.server().host_str()))]
    pub async fn token(&self, call: &Call) -> Result<Token> {
        let mut current = timeout_at(call.deadline.instant(), self.0.current.lock())
            .await
            .map_err(|_| self.failure(FailureKind::OutOfTime { sent: false }))?;
        let mut number = 1;
        if let Some(current) = &*current {
            let refused = self.0.refused.load(Ordering::Acquire) >= current.token.number;
            if !refused && Instant::now() < current.renew_at {
                return Ok(current.token.clone());
            }
            number = current.token.number + 1;
        }
        // The lock is held during the request to UAA, so that the other callers wait for one token.
        let renewed = self.ask(call, number).await?;
        let token = renewed.token.clone();
        *current = Some(renewed);
        Ok(token)
    }

    pub fn server(&self) -> Url {
        self.0.connection.server().clone()
    }

    /// Forgets a token that was refused, unless it has been replaced already.
    pub fn invalidate(&self, refused: &Token) {
        self.0.refused.fetch_max(refused.number, Ordering::AcqRel);
    }

    async fn ask(&self, call: &Call, number: u64) -> Result<Current> {
        let inner = &*self.0;
        let observe = |event| {
            if let Some(observer) = observer() {
                observer.token(event);
            }
        };
        let asked_at = Instant::now();
        observe(TokenEvent::Wanted);
        let authorization = inner.grant.authorization();
        let authorization =
            authorization.map_err(|_| self.failure(FailureKind::UnsendableCredentials))?;
        let url = inner.connection.address(&ENDPOINT, &[]);
        let request = Request::new(Method::POST, url, Repeat::WhenTransient)
            .header(AUTHORIZATION, authorization)
            .header(ENCODED_CREDENTIALS, HeaderValue::from_static("true"))
            .body(FORM, inner.grant.form());
        let answer = inner.connection.send(call, request).await?;
        let granted: Granted = answer.json()?;
        if granted.access_token.is_empty() {
            return Err(answer.lacks("access token"));
        }
        let authorization = format!("Bearer {}", granted.access_token);
        let mut authorization = HeaderValue::try_from(authorization)
            .map_err(|_| self.failure(FailureKind::UnsendableCredentials))?;
        authorization.set_sensitive(true);
        let life = Duration::from_secs(granted.expires_in.unwrap_or(0));
        observe(TokenEvent::Obtained { life });
        let usable = life.saturating_sub(RENEWED_BEFORE_END.min(life / 10));
        let scopes = granted.scope.split_whitespace().map(str::to_owned);
        Ok(Current {
            token: Token {
                scopes: scopes.collect(),
                value: granted.access_token.into(),
                authorization,
                number,
            },
            renew_at: asked_at.checked_add(usable).unwrap_or(asked_at),
        })
    }

    fn failure(&self, kind: FailureKind) -> ServiceError {
        let path = format!("/{}", ENDPOINT.join("/"));
        let host = self.0.connection.server().host_str().unwrap_or_default();
        ServiceError::new(Service::Uaa, Method::POST, path, kind).at(host)
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource")
            .field("server", &self.0.connection.server().as_str())
            .finish_non_exhaustive()
    }
}

impl Token {
    /// The scopes of the token; empty if UAA does not report them.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// The claims of the token; `None` for an opaque one.
    pub fn claims(&self) -> Option<Claims> {
        let payload = self.value.expose_secret().split('.').nth(1)?;
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        serde_json::from_slice(&payload).ok()
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.authorization.clone()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([REDACTED])")
    }
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: Option<u64>,
    /// Space separated.
    #[serde(default)]
    scope: String,
}

/// UAA's error in the form of OAuth, for tokens and clients.
pub(super) fn rejection(answer: &Response) -> FailureKind {
    let rejection: Rejection = answer.json().unwrap_or_default();
    FailureKind::Refused {
        status: answer.status(),
        code: None,
        name: cut(&rejection.error),
        description: match rejection.error_description {
            Some(description) => cut(&description),
            None => answer.error_text(),
        },
    }
}

#[derive(Default, Deserialize)]
struct Rejection {
    #[serde(default)]
    error: String,
    error_description: Option<String>,
}
