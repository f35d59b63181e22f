//! The service instances API: a list of service instances that somebody else than a Cloud
//! Controller keeps.
//!
//! Contract: `spec/contracts/broker-behaviour.md`, section 7.6.

use std::{fmt, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::http::{
    Answer, Call, ClientError, HttpClient, Limits, Neighbour, Request, StatusCode, TransportError,
    Trust, UnreadableAnswer, Words, address, cut, is_transient,
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-vcap-request-id");

/// Who keeps the list. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct ServiceInstancesApi(Arc<Inner>);

struct Inner {
    http: HttpClient,
    url: Url,
    authorization: HeaderValue,
}

/// A service instance of the list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ListedInstance {
    /// The service instance's id.
    #[serde(rename = "service_instance_id")]
    pub id: String,
    /// The plan's id in the broker's catalog.
    #[serde(rename = "plan_id")]
    pub plan: String,
    /// The space, where the list has one.
    #[serde(rename = "space_guid", default)]
    pub space: Option<String>,
}

/// Why the list cannot be asked for.
#[derive(Debug, thiserror::Error)]
pub enum ServiceInstancesApiSetUpError {
    /// The address or the HTTP client's settings are wrong.
    #[error("the service instances API's client cannot be set up")]
    Client(#[source] ClientError),
    /// The name or the password cannot be put into a header.
    #[error("the credentials for the service instances API cannot be sent in a header")]
    Credentials,
}

/// A call to the service instances API had no good end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ServiceInstancesApiError {
    /// No (complete) answer came.
    #[error("the service instances API did not answer `GET {url}`")]
    NoAnswer {
        /// Where it was asked, without the query.
        url: String,
        /// What happened instead.
        #[source]
        source: TransportError,
    },
    /// The server's certificate is of nobody who is trusted.
    #[error(
        "the certificate of the service instances API at `{url}` is signed by an unknown authority"
    )]
    UnknownAuthority {
        /// Where it was asked, without the query.
        url: String,
        /// What TLS said.
        #[source]
        source: TransportError,
    },
    /// It said no.
    #[error(
        "the service instances API refused `GET {url}` with status {status}{}",
        Words(detail)
    )]
    Refused {
        /// Where it was asked, without the query.
        url: String,
        /// The answer's status.
        status: StatusCode,
        /// Its `description`, or the start of the body; 2 KiB at most.
        detail: String,
    },
    /// The answer is not what the contract says.
    #[error("the answer of the service instances API to `GET {url}` was not understood")]
    NotUnderstood {
        /// Where it was asked, without the query.
        url: String,
        /// What is wrong with it.
        #[source]
        source: UnreadableAnswer,
    },
    /// The deadline of the call passed.
    #[error("the time was over before the service instances API had answered `GET {url}`")]
    OutOfTime {
        /// Where it was asked, without the query.
        url: String,
    },
}

impl ServiceInstancesApiError {
    /// Whether the same call may well succeed later. Repeats within the call have been made.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAnswer { source, .. } => source.is_transient(),
            Self::Refused { status, .. } => {
                is_transient(*status) || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::OutOfTime { .. } => true,
            Self::UnknownAuthority { .. } | Self::NotUnderstood { .. } => false,
        }
    }
}

impl ServiceInstancesApi {
    /// The API at `url` (`https` if no scheme is given), query included. Basic authentication is
    /// always sent, be name and password empty. Nothing is sent yet.
    pub fn connect(
        url: &str,
        trust: &Trust,
        username: &str,
        password: &SecretString,
        limits: Limits,
    ) -> Result<Self, ServiceInstancesApiSetUpError> {
        let credentials = format!("{username}:{}", password.expose_secret());
        let value = format!("Basic {}", BASE64_STANDARD.encode(credentials));
        let mut authorization =
            HeaderValue::try_from(value).map_err(|_| ServiceInstancesApiSetUpError::Credentials)?;
        authorization.set_sensitive(true);
        Ok(Self(Arc::new(Inner {
            http: HttpClient::new(trust, limits)
                .map_err(ServiceInstancesApiSetUpError::Client)?
                .of(Neighbour::ServiceInstancesApi),
            url: address::server(url).map_err(ServiceInstancesApiSetUpError::Client)?,
            authorization,
        })))
    }

    /// All service instances that `parameters` let through; there are no pages. What they mean is
    /// for the API to say: they join the query of its address, in place of those of the same names.
    /// Safe to repeat.
    #[tracing::instrument(name = "service_instances_api.instances", skip_all)]
    pub async fn instances(
        &self,
        call: &Call,
        parameters: &[(String, String)],
    ) -> Result<Vec<ListedInstance>, ServiceInstancesApiError> {
        let request = Request::get(self.asked_with(parameters))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(AUTHORIZATION, self.0.authorization.clone())
            .request_id(REQUEST_ID, call);
        let answer = self.0.http.send(call, &request).await;
        let answer = answer.map_err(|source| self.no_answer(source))?;
        if answer.status() != StatusCode::OK {
            return Err(ServiceInstancesApiError::Refused {
                url: self.url(),
                status: answer.status(),
                detail: description(&answer),
            });
        }
        // What a Go server makes of a list without members is `null`.
        let listed: Option<Vec<ListedInstance>> =
            answer
                .json()
                .map_err(|source| ServiceInstancesApiError::NotUnderstood {
                    url: self.url(),
                    source,
                })?;
        Ok(listed.unwrap_or_default())
    }

    /// An address without parameters stays as it is written.
    fn asked_with(&self, parameters: &[(String, String)]) -> Url {
        let mut url = self.0.url.clone();
        if parameters.is_empty() {
            return url;
        }
        let own: Vec<(String, String)> = url
            .query_pairs()
            .into_owned()
            .filter(|(name, _)| parameters.iter().all(|(given, _)| given != name))
            .collect();
        url.query_pairs_mut()
            .clear()
            .extend_pairs(own)
            .extend_pairs(parameters);
        url
    }

    fn no_answer(&self, source: TransportError) -> ServiceInstancesApiError {
        let url = self.url();
        match source {
            TransportError::OutOfTime { .. } => ServiceInstancesApiError::OutOfTime { url },
            source if source.is_unknown_authority() => {
                ServiceInstancesApiError::UnknownAuthority { url, source }
            }
            source => ServiceInstancesApiError::NoAnswer { url, source },
        }
    }

    /// The address without its query, which may hold what is nobody's business.
    fn url(&self) -> String {
        let mut url = self.0.url.clone();
        url.set_query(None);
        url.into()
    }
}

impl fmt::Debug for ServiceInstancesApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceInstancesApi")
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}

fn description(answer: &Answer) -> String {
    match answer.json::<Refusal>() {
        Ok(refusal) => cut(&refusal.description),
        Err(_) => answer.error_text(),
    }
}

#[derive(Deserialize)]
struct Refusal {
    description: String,
}
