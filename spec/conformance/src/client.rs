//! The HTTP client of the broker, which records every exchange.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::{Exchange, Objection};

/// The largest answer that is read, in bytes. A catalog has some kilobytes.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub struct Target {
    /// The broker's address; it may have a path.
    pub url: Url,
    pub username: String,
    pub password: SecretString,
    pub api_version: String,
    pub http: reqwest::Client,
    /// The client with HTTP/1.1 and headers as `Title-Case`.
    pub title_case_http: reqwest::Client,
}

#[derive(Clone, Debug)]
pub(super) struct Ask {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<String>,
    credentials: Credentials,
    version: Option<String>,
    spelling: Spelling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    Right,
    WrongPassword,
    WrongUser,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    AsUsual,
    TitleCase,
}

#[derive(Debug)]
pub(super) struct Client {
    target: Target,
    said: Mutex<Vec<Arc<Exchange>>>,
}

impl Ask {
    /// A request for a path below the broker's address; ids in it are encoded already.
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            credentials: Credentials::Right,
            version: Some(String::new()),
            spelling: Spelling::AsUsual,
        }
    }

    pub(super) fn query(mut self, name: &str, value: &str) -> Self {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn json(self, body: &Value) -> Self {
        self.raw(body.to_string())
            .header("Content-Type", "application/json")
    }

    /// A body that need not be JSON, and does not say so.
    pub(super) fn raw(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub(super) fn with_credentials(self, credentials: Credentials) -> Self {
        Self {
            credentials,
            ..self
        }
    }

    pub(super) fn with_version(self, version: &str) -> Self {
        Self {
            version: Some(version.to_owned()),
            ..self
        }
    }

    pub(super) fn without_version(self) -> Self {
        Self {
            version: None,
            ..self
        }
    }

    pub(super) fn with_title_case_headers(self) -> Self {
        Self {
            spelling: Spelling::TitleCase,
            ..self
        }
    }
}

impl Client {
    pub(super) fn new(target: Target) -> Self {
        Self {
            target,
            said: Mutex::default(),
        }
    }

    /// Everything that was said so far.
    pub(super) fn said(&self) -> Vec<Arc<Exchange>> {
        self.said
            .lock()
            .map(|said| said.clone())
            .unwrap_or_default()
    }

    /// The token of the last operation that was accepted at this path, if it got one.
    pub(super) fn operation_at(&self, path: &str) -> Option<String> {
        let said = self.said();
        let accepted = said.iter().rfind(|exchange| {
            exchange.path == path && exchange.method != Method::GET && exchange.has_status(&[202])
        });
        accepted?.text("operation")
    }

    pub(super) fn password(&self) -> &SecretString {
        &self.target.password
    }

    /// Sends a request. No answer at all breaks whatever rule is looked at.
    pub(super) async fn send(&self, ask: Ask) -> Result<Arc<Exchange>, Objection> {
        let line = format!("{} {}", ask.method, ask.path);
        let exchange = self
            .try_send(ask)
            .await
            .map_err(|error| Objection::broken(format!("no answer to {line}: {error}")))?;
        let exchange = Arc::new(exchange);
        if let Ok(mut said) = self.said.lock() {
            said.push(Arc::clone(&exchange));
        }
        Ok(exchange)
    }

    async fn try_send(&self, ask: Ask) -> Result<Exchange, NoResponse> {
        let base = self.target.url.as_str().trim_end_matches('/');
        let mut url = Url::parse(&format!("{base}{}", ask.path)).map_err(NoResponse::Address)?;
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&ask.query);
        }
        let http = match ask.spelling {
            Spelling::AsUsual => &self.target.http,
            Spelling::TitleCase => &self.target.title_case_http,
        };
        let mut request = http.request(ask.method.clone(), url);
        let mut headers = ask.headers;
        if let Some(version) = ask.version {
            let version = if version.is_empty() {
                self.target.api_version.clone()
            } else {
                version
            };
            headers.insert(0, ("X-Broker-API-Version".to_owned(), version));
        }
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let (username, password) = (&self.target.username, self.target.password.expose_secret());
        request = match ask.credentials {
            Credentials::Right => request.basic_auth(username, Some(password)),
            Credentials::WrongPassword => request.basic_auth(username, Some("not the password")),
            Credentials::WrongUser => request.basic_auth("not the user", Some(password)),
            Credentials::None => request,
        };
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        let began = Instant::now();
        let mut response = request.send().await.map_err(NoResponse::Transport)?;
        let (status, answered) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(NoResponse::Transport)? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_ANSWER {
                return Err(NoResponse::TooLarge);
            }
        }
        Ok(Exchange {
            method: ask.method,
            path: ask.path,
            query: ask.query,
            request_headers: headers,
            request_body: ask.body,
            status,
            headers: answered,
            body: String::from_utf8_lossy(&body).into_owned(),
            took: began.elapsed(),
        })
    }
}

#[derive(Debug, thiserror::Error)]
enum NoResponse {
    #[error("the address is none: {0}")]
    Address(url::ParseError),
    #[error("{}", innermost(.0))]
    Transport(reqwest::Error),
    #[error("the answer is larger than {LARGEST_ANSWER} bytes")]
    TooLarge,
}

/// The text of reqwest repeats the address; the cause is the innermost error.
fn innermost(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "the time for a request is up".to_owned();
    }
    let mut error: &dyn std::error::Error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The broker's `Retry-After`, in complete seconds.
pub(super) fn retry_after(exchange: &Exchange) -> Option<Duration> {
    let seconds = exchange.header("retry-after").parse().ok()?;
    Some(Duration::from_secs(seconds))
}
