//! How a request to the Cloud Controller is authenticated, sent, and its answer sorted.

use std::{fmt, sync::Arc};

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::CloudControllerError;
use crate::{
    http::{
        Answer, Call, ClientError, HttpClient, Limits, Method, Request, StatusCode, TransportError,
        Trust, UnreadableAnswer, address, cut,
    },
    uaa::{AuthorizedError, TokenSource},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-vcap-request-id");

/// A Cloud Controller. Cheap to clone; clones share connections and token.
#[derive(Clone)]
pub struct CloudController(Arc<Inner>);

struct Inner {
    http: HttpClient,
    server: Url,
    tokens: TokenSource,
}

impl CloudController {
    /// The Cloud Controller at `url` (`https` if no scheme is given). Nothing is sent yet.
    pub fn connect(
        url: &str,
        trust: &Trust,
        tokens: TokenSource,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        Ok(Self(Arc::new(Inner {
            server: address::server(url)?,
            http: HttpClient::new(trust, limits)?,
            tokens,
        })))
    }

    pub(super) fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        address::on(&self.0.server, segments, query)
    }

    /// The page that a link names, on the server that this client speaks to: links carry the
    /// external domain, which need not be reachable from here.
    pub(super) fn page(&self, link: &str) -> Option<Url> {
        let link = self.0.server.join(link).ok()?;
        let mut url = self.0.server.clone();
        url.set_path(link.path());
        url.set_query(link.query());
        Some(url)
    }

    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        call: &Call,
        url: Url,
    ) -> Result<T, CloudControllerError> {
        let path = url.path().to_owned();
        let request = prepared(call, url);
        let answer = self
            .0
            .http
            .send_with_token(call, request, &self.0.tokens, refuses_token)
            .await;
        let answer = answer.map_err(|error| match error {
            AuthorizedError::Transport(source) => no_answer(&path, source),
            AuthorizedError::Token(source) if source.is_out_of_time() => out_of_time(&path),
            AuthorizedError::Token(source) => CloudControllerError::NoToken { source },
        })?;
        understood(&path, &answer)
    }

    pub(super) async fn read_anonymously<T: DeserializeOwned>(
        &self,
        call: &Call,
        url: Url,
    ) -> Result<T, CloudControllerError> {
        let path = url.path().to_owned();
        let answer = self.0.http.send(call, &prepared(call, url)).await;
        understood(&path, &answer.map_err(|source| no_answer(&path, source))?)
    }
}

impl fmt::Debug for CloudController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudController")
            .field("server", &self.0.server.as_str())
            .finish_non_exhaustive()
    }
}

fn prepared(call: &Call, url: Url) -> Request {
    Request::get(url)
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .request_id(REQUEST_ID, call)
}

/// 401 with code 1000: the token is bad or has expired.
fn refuses_token(answer: &Answer) -> bool {
    answer.status() == StatusCode::UNAUTHORIZED
}

fn understood<T: DeserializeOwned>(path: &str, answer: &Answer) -> Result<T, CloudControllerError> {
    if !answer.status().is_success() {
        return Err(refusal(path, answer));
    }
    answer.json().map_err(|source| not_understood(path, source))
}

pub(super) fn not_understood(path: &str, source: UnreadableAnswer) -> CloudControllerError {
    CloudControllerError::NotUnderstood {
        method: Method::GET,
        path: path.to_owned(),
        source,
    }
}

fn no_answer(path: &str, source: TransportError) -> CloudControllerError {
    match source {
        TransportError::OutOfTime { .. } => out_of_time(path),
        source => CloudControllerError::NoAnswer {
            method: Method::GET,
            path: path.to_owned(),
            source,
        },
    }
}

fn out_of_time(path: &str) -> CloudControllerError {
    CloudControllerError::OutOfTime {
        method: Method::GET,
        path: path.to_owned(),
    }
}

fn refusal(path: &str, answer: &Answer) -> CloudControllerError {
    let first = answer
        .json::<Refusal>()
        .ok()
        .and_then(|refusal| refusal.errors.into_iter().next());
    let (code, title, detail) = match first {
        Some(error) => (error.code, cut(&error.title), cut(&error.detail)),
        None => (None, String::new(), answer.error_text()),
    };
    CloudControllerError::Refused {
        method: Method::GET,
        path: path.to_owned(),
        status: answer.status(),
        code,
        title,
        detail,
    }
}

#[derive(Deserialize)]
struct Refusal {
    errors: Vec<RefusalEntry>,
}

#[derive(Deserialize)]
struct RefusalEntry {
    code: Option<u64>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
}
