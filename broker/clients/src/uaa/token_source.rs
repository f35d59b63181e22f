//! One owner of a token, for everybody who needs it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};
use url::Url;

use super::{Grant, TokenError};
use crate::http::{
    Answer, Call, ClientError, HttpClient, Limits, Method, Neighbour, Repeat, Request, TokenEvent,
    TransportError, Trust, UnreadableAnswer, address, cut, tell_token,
};

const ENCODED_CREDENTIALS: HeaderName = HeaderName::from_static("x-cf-encoded-credentials");
const FORM: &str = "application/x-www-form-urlencoded";
/// A token is renewed this long before its end, or a tenth of its life if that is shorter.
const RENEWED_BEFORE_END: Duration = Duration::from_secs(10);

/// Gives tokens for one grant, and keeps the last one while it lives. Cheap to clone; clones share
/// the token.
///
/// When there is none, one caller asks for it and the others wait for that one.
#[derive(Clone)]
pub struct TokenSource(Arc<Inner>);

struct Inner {
    http: HttpClient,
    endpoint: Url,
    grant: Grant,
    current: Mutex<Option<Current>>,
    /// The last token that was refused, by its number.
    refused: AtomicU64,
}

struct Current {
    token: Token,
    renew_at: Instant,
}

/// An access token.
#[derive(Clone)]
pub struct Token {
    value: SecretString,
    scopes: Arc<[String]>,
    /// Counts the tokens of a source, from 1.
    number: u64,
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
        Ok(Self::on(&server, HttpClient::new(trust, limits)?, grant))
    }

    pub(crate) fn on(server: &Url, http: HttpClient, grant: Grant) -> Self {
        Self(Arc::new(Inner {
            http: http.of(Neighbour::Uaa),
            endpoint: address::on(server, &["oauth", "token"], &[]),
            grant,
            current: Mutex::new(None),
            refused: AtomicU64::new(0),
        }))
    }

    /// The token that is in use, or a new one. Safe to repeat.
    #[tracing::instrument(name = "uaa.token", skip_all, fields(host = self.host()))]
    pub async fn token(&self, call: &Call) -> Result<Token, TokenError> {
        let mut current = timeout_at(call.deadline.instant(), self.0.current.lock())
            .await
            .map_err(|_| TokenError::OutOfTime)?;
        let mut number = 1;
        if let Some(current) = &*current {
            let refused = self.0.refused.load(Ordering::Acquire) >= current.token.number;
            if !refused && Instant::now() < current.renew_at {
                return Ok(current.token.clone());
            }
            number = current.token.number + 1;
        }
        // The lock is held while UAA is asked: this is what makes the others wait for one token.
        let renewed = self.ask(call, number).await?;
        let token = renewed.token.clone();
        *current = Some(renewed);
        Ok(token)
    }

    /// The address of the UAA, without a path of its own.
    pub fn server(&self) -> Url {
        let mut server = self.0.endpoint.clone();
        let path = server.path().trim_end_matches("/oauth/token").to_owned();
        server.set_path(&path);
        server
    }

    /// Forgets a token that was refused, unless it has been replaced already.
    pub fn invalidate(&self, refused: &Token) {
        self.0.refused.fetch_max(refused.number, Ordering::AcqRel);
    }

    async fn ask(&self, call: &Call, number: u64) -> Result<Current, TokenError> {
        let inner = &*self.0;
        let asked_at = Instant::now();
        tell_token(TokenEvent::Wanted);
        let request = Request::new(Method::POST, inner.endpoint.clone(), Repeat::WhenTransient)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(AUTHORIZATION, inner.grant.authorization()?)
            .header(ENCODED_CREDENTIALS, HeaderValue::from_static("true"))
            .body(FORM, inner.grant.form());
        let answer =
            inner
                .http
                .send(call, &request)
                .await
                .map_err(|source| TokenError::NoAnswer {
                    host: self.host(),
                    source,
                })?;
        if !answer.status().is_success() {
            return Err(self.refusal(&answer));
        }
        let granted: Granted = answer
            .json()
            .map_err(|source| self.not_understood(source))?;
        if granted.access_token.is_empty() {
            let missing = "access token";
            return Err(self.not_understood(UnreadableAnswer::Missing { missing }));
        }
        let life = Duration::from_secs(granted.expires_in.unwrap_or(0));
        tell_token(TokenEvent::Obtained { life });
        let usable = life.saturating_sub(RENEWED_BEFORE_END.min(life / 10));
        Ok(Current {
            token: Token {
                value: granted.access_token.into(),
                scopes: granted
                    .scope
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect(),
                number,
            },
            renew_at: asked_at.checked_add(usable).unwrap_or(asked_at),
        })
    }

    fn refusal(&self, answer: &Answer) -> TokenError {
        let said: Refusal = answer.json().unwrap_or_default();
        TokenError::Refused {
            host: self.host(),
            status: answer.status(),
            error: cut(&said.error),
            description: match said.error_description {
                Some(description) => cut(&description),
                None => answer.error_text(),
            },
        }
    }

    fn not_understood(&self, source: UnreadableAnswer) -> TokenError {
        TokenError::NotUnderstood {
            host: self.host(),
            source,
        }
    }

    fn host(&self) -> String {
        self.0.endpoint.host_str().unwrap_or_default().to_owned()
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource")
            .field("endpoint", &self.0.endpoint.as_str())
            .finish_non_exhaustive()
    }
}

impl Token {
    /// What the token allows, in UAA's words; nothing where UAA does not tell.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    pub(super) fn value(&self) -> &SecretString {
        &self.value
    }

    pub(crate) fn header(&self) -> Result<HeaderValue, TokenError> {
        let value = format!("Bearer {}", self.value.expose_secret());
        let mut value = HeaderValue::try_from(value).map_err(|_| TokenError::Unusable)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([REDACTED])")
    }
}

/// Why an authorized request has no answer.
pub(crate) enum AuthorizedError {
    Token(TokenError),
    Transport(TransportError),
}

impl HttpClient {
    /// Sends a request with a token. If the answer says that the token is not accepted, nothing
    /// has taken effect, and the request is sent once more with a new one.
    pub(crate) async fn send_with_token(
        &self,
        call: &Call,
        request: Request,
        tokens: &TokenSource,
        refuses_token: fn(&Answer) -> bool,
    ) -> Result<Answer, AuthorizedError> {
        let token = tokens.token(call).await.map_err(AuthorizedError::Token)?;
        let answer = self.send_as(call, &request, &token).await?;
        if !refuses_token(&answer) {
            return Ok(answer);
        }
        tokens.invalidate(&token);
        let token = tokens.token(call).await.map_err(AuthorizedError::Token)?;
        self.send_as(call, &request, &token).await
    }

    async fn send_as(
        &self,
        call: &Call,
        request: &Request,
        token: &Token,
    ) -> Result<Answer, AuthorizedError> {
        let header = token.header().map_err(AuthorizedError::Token)?;
        let request = request.clone().header(AUTHORIZATION, header);
        self.send(call, &request)
            .await
            .map_err(AuthorizedError::Transport)
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

#[derive(Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    error: String,
    error_description: Option<String>,
}
