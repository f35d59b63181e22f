//! How requests to the broker are sent and its answers sorted.

use std::{fmt, sync::Arc, time::Duration};

use odb_clients::{
    FailureKind, ServiceError,
    http::{
        Answer, Call, HttpClient, Limits, Method, Repeat, Request, Service, UnreadableAnswer, Url,
        address, basic_authorization, cut,
        header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue},
    },
};
use odb_config::errands;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::BrokerApiSetUpError;
use crate::{Console, trust};

const API_VERSION: HeaderName = HeaderName::from_static("x-broker-api-version");

/// The longest time for a request when the operator sets no limit.
const NO_LIMIT: Duration = Duration::from_hours(1);

/// A list of a hundred thousand instances is shorter, in bytes.
const LONGEST_ANSWER: usize = 64 << 20;

/// The broker. Cheap to clone; clones share connections.
///
/// Read requests are tried up to six times, other requests only until a connection exists.
#[derive(Clone)]
pub struct BrokerApi(Arc<Inner>);

struct Inner {
    http: HttpClient,
    server: Url,
    authorization: HeaderValue,
    timeout: Duration,
    /// For requests that the broker answers immediately, whatever it works on.
    short_timeout: Duration,
}

impl BrokerApi {
    /// The default timeout of an answer.
    pub const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

    /// The broker of a configuration. No request is sent yet. `timeout` is for each attempt at a request; without it
    /// there is no practical limit.
    pub fn connect(
        config: &errands::BrokerApi,
        timeout: Option<Duration>,
        console: &Console,
    ) -> Result<Self, BrokerApiSetUpError> {
        let trust = trust::of_a_server(
            config.ca_cert.as_deref(),
            config.verification,
            "broker_api.tls.ca_cert",
            "the broker",
            console,
        )?;
        let limits = Limits {
            attempt: timeout.unwrap_or(NO_LIMIT),
            answer: LONGEST_ANSWER,
            attempts: 6,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(1),
            ..Limits::default()
        };
        let url = config.url.as_written().trim().trim_end_matches('/');
        let of_all_attempts = (limits.attempt + limits.longest_pause * 2).saturating_mul(6);
        Ok(Self(Arc::new(Inner {
            timeout: of_all_attempts,
            // The absence of a limit is for long work, not for a lost answer.
            short_timeout: timeout.map_or(Self::USUAL_TIMEOUT, |_| of_all_attempts),
            http: HttpClient::new(&trust, limits).map_err(BrokerApiSetUpError::Client)?,
            server: address::server(url).map_err(BrokerApiSetUpError::Client)?,
            authorization: basic_authorization(&config.username, &config.password)
                .map_err(BrokerApiSetUpError::Credentials)?,
        })))
    }

    /// `GET` of a path in segments, which are encoded like the query.
    pub async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ServiceError> {
        let request = self.request(Method::GET, segments, query);
        self.understood(&request, &self.send(&request).await?)
    }

    /// `GET` with a short answer time, such as of one instance: it always has a time limit.
    pub async fn look_up<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ServiceError> {
        let request = self.request(Method::GET, segments, query);
        let call = Call::within(self.0.short_timeout);
        self.understood(&request, &self.send_within(&call, &request).await?)
    }

    /// `POST` of JSON.
    pub async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &B,
    ) -> Result<T, ServiceError> {
        let request = json(self.request(Method::POST, segments, &[]), body);
        self.understood(&request, &self.send(&request).await?)
    }

    /// `PATCH` with JSON.
    pub async fn patch<B: Serialize, T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &B,
    ) -> Result<T, ServiceError> {
        let request = json(self.request(Method::PATCH, segments, &[]), body);
        self.understood(&request, &self.send(&request).await?)
    }

    /// `DELETE`.
    pub async fn delete<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ServiceError> {
        let request = self.request(Method::DELETE, segments, query);
        self.understood(&request, &self.send(&request).await?)
    }

    /// A request that is authenticated and not sent yet. It is repeated only if it reads.
    pub fn request(&self, method: Method, segments: &[&str], query: &[(&str, &str)]) -> Request {
        let repeat = if method == Method::GET {
            Repeat::WhenTransient
        } else {
            Repeat::WhileUnsent
        };
        Request::new(method, address::on(&self.0.server, segments, query), repeat)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(API_VERSION, HeaderValue::from_static("2.13"))
            .header(AUTHORIZATION, self.0.authorization.clone())
    }

    /// Sends a request; an answer of any status is one.
    pub async fn send(&self, request: &Request) -> Result<Answer, ServiceError> {
        let call = Call::within(self.0.timeout);
        self.send_within(&call, request).await
    }

    async fn send_within(&self, call: &Call, request: &Request) -> Result<Answer, ServiceError> {
        let answer = self.0.http.send(call, request).await;
        answer.map_err(|source| {
            let server = self.0.server.as_str().trim_end_matches('/');
            failure(request, FailureKind::NoAnswer { source }).at(server)
        })
    }

    /// The JSON of an answer that is a success. An empty body is read as `null`.
    pub fn understood<T: DeserializeOwned>(
        &self,
        request: &Request,
        answer: &Answer,
    ) -> Result<T, ServiceError> {
        if !answer.status().is_success() {
            return Err(refused(request, answer));
        }
        let read = if answer.bytes().is_empty() {
            serde_json::from_str("null").map_err(UnreadableAnswer::from)
        } else {
            answer.json()
        };
        read.map_err(|source| failure(request, FailureKind::NotUnderstood { source }))
    }
}

impl fmt::Debug for BrokerApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerApi")
            .field("server", &self.0.server.as_str())
            .finish_non_exhaustive()
    }
}

/// A rejection, with the broker's description.
pub(super) fn refused(request: &Request, answer: &Answer) -> ServiceError {
    let said: Rejection = answer.json().unwrap_or_default();
    let kind = FailureKind::Refused {
        status: answer.status(),
        code: None,
        name: said.code.unwrap_or_default(),
        description: match said.description {
            Some(description) => cut(&description),
            None => answer.error_text(),
        },
    };
    failure(request, kind)
}

fn failure(request: &Request, kind: FailureKind) -> ServiceError {
    let method = request.method().clone();
    ServiceError::new(Service::BrokerManagementApi, method, request.path(), kind)
}

pub(super) fn json<B: Serialize>(request: Request, body: &B) -> Request {
    let body =
        serde_json::to_vec(body).expect("what is sent has text for keys, and nothing fails in it");
    request.body("application/json", body)
}

#[derive(Default, Deserialize)]
struct Rejection {
    description: Option<String>,
    code: Option<String>,
}
