//! How a request to the Cloud Controller is authenticated, sent, and its answer sorted.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use url::Url;

use super::CloudControllerError;
use crate::{
    http::{
        Answer, Call, ClientError, HttpClient, Limits, Method, Neighbour, Repeat, Request,
        StatusCode, TransportError, Trust, UnreadableAnswer, address, cut,
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
    limits: Limits,
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
            http: HttpClient::new(trust, limits.clone())?.of(Neighbour::CloudController),
            tokens,
            limits,
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

    /// The pauses between two looks at something that takes its time. They grow and do not end.
    pub(super) fn pauses(&self) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.limits.first_pause)
            .with_max_delay(self.limits.longest_pause)
            .without_max_times()
            .build()
    }

    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        call: &Call,
        url: Url,
    ) -> Result<T, CloudControllerError> {
        let (asked, answer) = self.ask(call, Request::get(url)).await?;
        asked.understood(&answer)
    }

    /// Changes something. The answer is one of success.
    ///
    /// What is not safe to repeat ([`Repeat::WhileUnsent`]) may have taken effect even though an error is told:
    /// [`CloudControllerError::may_have_taken_effect`].
    pub(super) async fn write(
        &self,
        call: &Call,
        request: Request,
    ) -> Result<Written, CloudControllerError> {
        let (asked, answer) = self.ask(call, request).await?;
        Ok(Written { asked, answer })
    }

    async fn ask(
        &self,
        call: &Call,
        request: Request,
    ) -> Result<(Asked, Answer), CloudControllerError> {
        let asked = Asked::by(&request);
        let sent =
            self.http
                .send_with_token(call, prepared(call, request), &self.tokens, refuses_token);
        // Boxed, for it is large and at the bottom of everything that asks.
        let answer = Box::pin(sent).await.map_err(|error| match error {
            AuthorizedError::Transport(source) => asked.no_answer(source),
            AuthorizedError::Token(source) if source.is_out_of_time() => asked.out_of_time(),
            AuthorizedError::Token(source) => CloudControllerError::NoToken { source },
        })?;
        if answer.status().is_success() {
            Ok((asked, answer))
        } else {
            Err(asked.refusal(&answer))
        }
    }

    /// What the token allows, as far as UAA tells.
    pub(super) async fn scopes(&self, call: &Call) -> Result<Vec<String>, CloudControllerError> {
        match self.tokens.token(call).await {
            Ok(token) => Ok(token.scopes().to_vec()),
            Err(source) if source.is_out_of_time() => Err(out_of_time("/")),
            Err(source) => Err(CloudControllerError::NoToken { source }),
        }
    }

    pub(super) async fn read_anonymously<T: DeserializeOwned>(
        &self,
        call: &Call,
        url: Url,
    ) -> Result<T, CloudControllerError> {
        let request = Request::get(url);
        let asked = Asked::by(&request);
        let answer = self.http.send(call, &prepared(call, request)).await;
        let answer = answer.map_err(|source| asked.no_answer(source))?;
        if answer.status().is_success() {
            asked.understood(&answer)
        } else {
            Err(asked.refusal(&answer))
        }
    }
}

/// A request that changes something, with a body of JSON.
pub(super) fn with_body(
    method: Method,
    url: Url,
    repeat: Repeat,
    body: &impl Serialize,
) -> Request {
    let body = serde_json::to_vec(body).expect("bodies are structs of texts and lists");
    Request::new(method, url, repeat).body("application/json", body)
}

/// The answer to a request that has changed something.
pub(super) struct Written {
    asked: Asked,
    answer: Answer,
}

impl Written {
    pub(super) fn status(&self) -> StatusCode {
        self.answer.status()
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.answer.header(name)
    }

    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, CloudControllerError> {
        self.asked.understood(&self.answer)
    }

    /// The answer lacks what it must have.
    pub(super) fn lacks(&self, missing: &'static str) -> CloudControllerError {
        self.asked
            .not_understood(UnreadableAnswer::Missing { missing })
    }
}

fn prepared(call: &Call, request: Request) -> Request {
    request
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .request_id(REQUEST_ID, call)
}

/// 401 with code 1000: the token is bad or has expired.
fn refuses_token(answer: &Answer) -> bool {
    answer.status() == StatusCode::UNAUTHORIZED
}

pub(super) fn out_of_time(path: &str) -> CloudControllerError {
    CloudControllerError::OutOfTime {
        method: Method::GET,
        path: path.to_owned(),
    }
}

/// What errors tell of a request.
struct Asked {
    method: Method,
    path: String,
}

impl Asked {
    fn by(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            path: request.path().to_owned(),
        }
    }

    fn understood<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, CloudControllerError> {
        answer.json().map_err(|source| self.not_understood(source))
    }

    fn not_understood(&self, source: UnreadableAnswer) -> CloudControllerError {
        CloudControllerError::NotUnderstood {
            method: self.method.clone(),
            path: self.path.clone(),
            source,
        }
    }

    fn no_answer(&self, source: TransportError) -> CloudControllerError {
        match source {
            TransportError::OutOfTime { .. } => self.out_of_time(),
            source => CloudControllerError::NoAnswer {
                method: self.method.clone(),
                path: self.path.clone(),
                source,
            },
        }
    }

    fn out_of_time(&self) -> CloudControllerError {
        CloudControllerError::OutOfTime {
            method: self.method.clone(),
            path: self.path.clone(),
        }
    }

    fn refusal(&self, answer: &Answer) -> CloudControllerError {
        let (code, title, detail) = match answer.json::<Refusal>() {
            Ok(Refusal::V3 { errors }) => match errors.into_iter().next() {
                Some(error) => (error.code, cut(&error.title), cut(&error.detail)),
                None => (None, String::new(), answer.error_text()),
            },
            Ok(Refusal::V2(error)) => (error.code, cut(&error.error_code), cut(&error.description)),
            Err(_) => (None, String::new(), answer.error_text()),
        };
        CloudControllerError::Refused {
            method: self.method.clone(),
            path: self.path.clone(),
            status: answer.status(),
            code,
            title,
            detail,
        }
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
