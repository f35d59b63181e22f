//! The client of the broker: its management API and last operation (`spec/contracts/errands.md` §1.2, §4).
//!
//! | file | contents |
//! | --- | --- |
//! | `routes` | the requests with their answers |
//! | `rejection` | what a rejection of the broker means |
//! | `catalog` | the catalog, as the platform reads it |
//! | `offering` | the offering of the catalog, with its plans |

pub(crate) mod catalog;
mod offering;
mod rejection;
mod routes;

use std::{path::Path, time::Duration};

use anyhow::Context;
use odb_clients::{
    FailureKind, ServiceError,
    http::{
        Call, HttpClient, Limits, Method, Repeat, Request, Response, Service, UnreadableResponse,
        Url, address, basic_authorization, cut,
        header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue},
    },
};
use odb_config::errands;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Console, Dependencies,
    cloud_controller::trust_of,
    command_line::{ConfigTexts, load},
};

pub use offering::{Offering, OfferingPlan};
pub use rejection::BrokerApiRejection;
pub(crate) use routes::is_unknown_list;
pub use routes::{Deprovisioning, LastOperation, LastOperationError, OperationData};

pub(crate) const API_VERSION: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-broker-api-version"),
    HeaderValue::from_static("2.13"),
);

/// The longest time for a request when the operator sets no limit.
const NO_LIMIT: Duration = Duration::from_hours(1);

/// How often a read request is tried.
const ATTEMPTS: usize = 6;

/// A list of a hundred thousand instances is shorter, in bytes.
const LONGEST_ANSWER: usize = 64 << 20;

/// The broker. Read requests are tried up to six times, other requests only until a connection exists.
pub struct BrokerApi {
    http: HttpClient,
    server: Url,
    authorization: HeaderValue,
    timeout: Duration,
    /// For requests that the broker answers immediately, whatever it works on.
    short_timeout: Duration,
}

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("give --config FILE"),
    unreadable: Some("error reading config file"),
    invalid: Some("invalid config file"),
};

impl BrokerApi {
    /// The time for one attempt at a request.
    pub const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

    /// The broker of a file with a section `broker_api`.
    pub(crate) fn load(file: Option<&Path>, dependencies: &Dependencies) -> anyhow::Result<Self> {
        let config = load(file, &FILE_TEXTS, errands::BrokerOnly::load, dependencies)?;
        let timeout = Some(Self::USUAL_TIMEOUT);
        Self::connect(&config.broker_api, timeout, &dependencies.console)
    }

    /// The broker of a configuration. No request is sent yet. `timeout` is for each attempt at a request; without it
    /// there is no practical limit.
    pub fn connect(
        config: &errands::BrokerApi,
        timeout: Option<Duration>,
        console: &Console,
    ) -> anyhow::Result<Self> {
        Self::connect_with(config, (timeout, ATTEMPTS), console)
    }

    /// The same with requests that are tried once: an operator waits for the answer.
    pub fn connect_once(
        config: &errands::BrokerApi,
        timeout: Duration,
        console: &Console,
    ) -> anyhow::Result<Self> {
        Self::connect_with(config, (Some(timeout), 1), console)
    }

    fn connect_with(
        config: &errands::BrokerApi,
        (timeout, attempts): (Option<Duration>, usize),
        console: &Console,
    ) -> anyhow::Result<Self> {
        const NO_CLIENT: &str = "cannot create the client of the broker";
        let trust = trust_of(
            config.ca_cert.as_deref(),
            config.verification,
            "broker_api.tls.ca_cert",
            "the broker",
            console,
        )?;
        let limits = Limits {
            attempt: timeout.unwrap_or(NO_LIMIT),
            answer: LONGEST_ANSWER,
            attempts,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(1),
            ..Limits::default()
        };
        let url = config.url.as_written().trim().trim_end_matches('/');
        let of_all_attempts = (limits.attempt + limits.longest_pause * 2)
            .saturating_mul(u32::try_from(attempts).unwrap_or(u32::MAX));
        Ok(Self {
            timeout: of_all_attempts,
            // The absence of a limit is for long work, not for a lost answer.
            short_timeout: timeout.map_or(Self::USUAL_TIMEOUT, |_| of_all_attempts),
            http: HttpClient::new(&trust, limits).context(NO_CLIENT)?,
            server: address::server(url).context(NO_CLIENT)?,
            authorization: basic_authorization(&config.username, &config.password)
                .context("the credentials for the broker are not valid")?,
        })
    }

    /// `GET` of a path in segments, which are encoded like the query.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ServiceError> {
        let request = self.request(Method::GET, path, query);
        understood(&request, &self.send(&request).await?)
    }

    /// `GET` with a short answer time, such as of one instance: it always has a time limit.
    pub(crate) async fn look_up<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ServiceError> {
        let request = self.request(Method::GET, path, query);
        let answer = self.send_within(self.short_timeout, &request).await?;
        understood(&request, &answer)
    }

    pub(crate) async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ServiceError> {
        let request = json(self.request(method, path, &[]), body);
        understood(&request, &self.send(&request).await?)
    }

    /// A request that is authenticated and not sent yet. It is repeated only if it reads.
    fn request(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> Request {
        let repeat = if method == Method::GET {
            Repeat::WhenTransient
        } else {
            Repeat::WhileUnsent
        };
        let (version, value) = API_VERSION;
        Request::new(method, address::on(&self.server, path, query), repeat)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(version, value)
            .header(AUTHORIZATION, self.authorization.clone())
    }

    async fn send(&self, request: &Request) -> Result<Response, ServiceError> {
        self.send_within(self.timeout, request).await
    }

    async fn send_within(
        &self,
        timeout: Duration,
        request: &Request,
    ) -> Result<Response, ServiceError> {
        let answer = self.http.send(&Call::within(timeout), request).await;
        answer.map_err(|source| {
            let server = self.server.as_str().trim_end_matches('/');
            failure(request, FailureKind::NoResponse { source }).at(server)
        })
    }
}

/// The JSON of an answer that is a success. An empty body is read as `null`.
fn understood<T: DeserializeOwned>(
    request: &Request,
    answer: &Response,
) -> Result<T, ServiceError> {
    if !answer.status().is_success() {
        return Err(refused(request, answer));
    }
    let read = if answer.bytes().is_empty() {
        serde_json::from_str("null").map_err(UnreadableResponse::from)
    } else {
        answer.json()
    };
    read.map_err(|source| failure(request, FailureKind::NotUnderstood { source }))
}

/// A rejection, with the broker's description.
fn refused(request: &Request, answer: &Response) -> ServiceError {
    #[derive(Default, Deserialize)]
    struct Rejection {
        description: Option<String>,
        code: Option<String>,
    }
    let rejection: Rejection = answer.json().unwrap_or_default();
    let kind = FailureKind::Refused {
        status: answer.status(),
        code: None,
        name: rejection.code.unwrap_or_default(),
        description: match rejection.description {
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

fn json(request: Request, body: &impl Serialize) -> Request {
    let body = serde_json::to_vec(body).expect("requests have text for keys");
    request.body("application/json", body)
}
