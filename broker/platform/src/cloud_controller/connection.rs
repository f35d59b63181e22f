//! How a request to the Cloud Controller is authenticated, sent, and its answer sorted.

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::CloudControllerError;
use crate::{
    http::{
        Answer, Call, ClientError, HttpClient, Limits, Method, Neighbour, Request, StatusCode,
        TransportError, Trust, UnreadableAnswer, address, cut,
    },
    uaa::{AuthorizedError, TokenSource},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-vcap-request-id");

/// More pages than any list has that does not go round in circles.
pub(super) const MOST_PAGES: usize = 1000;

/// The server, and as whom it is spoken to.
pub(super) struct Connection {
    http: HttpClient,
    server: Url,
    tokens: TokenSource,
}

impl Connection {
    pub(super) fn new(
        url: &str,
        trust: &Trust,
        tokens: TokenSource,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        Ok(Self {
            server: address::server(url)?,
            http: HttpClient::new(trust, limits)?.of(Neighbour::CloudController),
            tokens,
        })
    }

    pub(super) fn server(&self) -> &str {
        self.server.as_str()
    }

    pub(super) fn address(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        address::on(&self.server, segments, query)
    }

    /// The page that a link names, on the server that this client speaks to: links carry the
    /// external domain, which need not be reachable from here.
    pub(super) fn page(&self, link: &str) -> Option<Url> {
        let link = self.server.join(link).ok()?;
        let mut url = self.server.clone();
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
            .http
            .send_with_token(call, request, &self.tokens, refuses_token)
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
        let answer = self.http.send(call, &prepared(call, url)).await;
        understood(&path, &answer.map_err(|source| no_answer(&path, source))?)
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

fn not_understood(path: &str, source: UnreadableAnswer) -> CloudControllerError {
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

pub(super) fn out_of_time(path: &str) -> CloudControllerError {
    CloudControllerError::OutOfTime {
        method: Method::GET,
        path: path.to_owned(),
    }
}

fn refusal(path: &str, answer: &Answer) -> CloudControllerError {
    let (code, title, detail) = match answer.json::<Refusal>() {
        Ok(Refusal::V3 { errors }) => match errors.into_iter().next() {
            Some(error) => (error.code, cut(&error.title), cut(&error.detail)),
            None => (None, String::new(), answer.error_text()),
        },
        Ok(Refusal::V2(error)) => (error.code, cut(&error.error_code), cut(&error.description)),
        Err(_) => (None, String::new(), answer.error_text()),
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

/// The body of an error, as the two versions of the API have it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Refusal {
    V3 { errors: Vec<V3Error> },
    V2(V2Error),
}

#[derive(Deserialize)]
struct V3Error {
    code: Option<u64>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
}

#[derive(Deserialize)]
struct V2Error {
    code: Option<u64>,
    #[serde(default)]
    error_code: String,
    description: String,
}
