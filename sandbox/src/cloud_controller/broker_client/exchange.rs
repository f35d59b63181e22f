//! One request to a broker and its answer (`spec/contracts/platform-apis.md`, "CC → broker: requests").
//!
//! An answer as it came, or that none came.

use std::{error::Error, io, time::Duration};

use actix_web::http::StatusCode;
use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::StreamExt;
use reqwest::{Client, Method, RequestBuilder, Response, redirect};
use rustls::ClientConfig;
use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::{Map, Value, json};
use url::Url;
use uuid::Uuid;

use super::{client::Identity, failure::Exchange};
use crate::cloud_controller::model::BrokerAddress;

const API_VERSION: &str = "2.15";
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
const REDIRECTS: usize = 10;

/// Sends requests to brokers.
#[derive(Clone)]
pub(super) struct Exchanges {
    client: Client,
    timeout: Duration,
    info_location: String,
}

#[derive(Debug, thiserror::Error)]
#[error("could not set up the client for brokers")]
pub struct BrokerClientError(#[source] reqwest::Error);

pub(super) struct Request<'a, B> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) body: Option<&'a B>,
}

impl Exchanges {
    pub(super) fn new(
        tls: ClientConfig,
        timeout: Duration,
        info_location: String,
    ) -> Result<Self, BrokerClientError> {
        Ok(Self {
            client: client(tls)?,
            timeout,
            info_location,
        })
    }

    pub(super) async fn send<B: Serialize>(
        &self,
        broker: &BrokerAddress,
        request: Request<'_, B>,
        identity: &Identity,
    ) -> Result<RawResponse, Silence> {
        let address = format!("{}{}", broker.url.trim_end_matches('/'), request.path);
        let mut url = Url::parse(&address).map_err(|_| Silence::Unreachable {
            url: address.clone(),
        })?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(request.query);
        }
        let mut sent = self
            .client
            .request(request.method.clone(), url.clone())
            .timeout(self.timeout)
            .basic_auth(&broker.username, Some(broker.password.expose_secret()));
        sent = self.with_headers(sent, identity);
        if let Some(body) = request.body {
            // Our own bodies always serialise: their maps have text keys.
            let text = serde_json::to_string(body).unwrap_or_default();
            sent = sent.header("Content-Type", "application/json").body(text);
        }
        let silent = |error: &reqwest::Error| silence(error, url.as_str());
        let response = sent.send().await.map_err(|error| silent(&error))?;
        let status = StatusCode::from_u16(response.status().as_u16())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = retry_after(&response);
        let body = text(response).await.map_err(|error| silent(&error))?;
        Ok(RawResponse {
            method: request.method,
            url: url.into(),
            status,
            retry_after,
            body,
        })
    }

    fn with_headers(&self, request: RequestBuilder, identity: &Identity) -> RequestBuilder {
        let request = request
            .header("X-Broker-Api-Version", API_VERSION)
            .header("X-VCAP-Request-ID", &identity.request)
            .header("X-Broker-API-Request-Identity", Uuid::new_v4().to_string())
            .header("X-Api-Info-Location", &self.info_location)
            .header("X-B3-TraceId", format!("{:016x}", rand::random::<u64>()))
            .header("X-B3-SpanId", format!("{:016x}", rand::random::<u64>()))
            .header("Accept", "application/json");
        let Some(user) = &identity.user else {
            return request;
        };
        let user = BASE64_STANDARD.encode(json!({"user_id": user}).to_string());
        request.header(
            "X-Broker-Api-Originating-Identity",
            format!("cloudfoundry {user}"),
        )
    }
}

fn client(tls: ClientConfig) -> Result<Client, BrokerClientError> {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::limited(REDIRECTS))
        .no_proxy()
        .build()
        .map_err(BrokerClientError)
}

/// Whole seconds only; a date is ignored.
fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers().get("Retry-After")?;
    let seconds = value.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

async fn text(response: Response) -> Result<String, reqwest::Error> {
    let mut text = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        text.extend_from_slice(&chunk?);
        if text.len() > ANSWER_LIMIT {
            text.truncate(ANSWER_LIMIT);
            break;
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn silence(error: &reqwest::Error, url: &str) -> Silence {
    let causes: Vec<&(dyn Error + 'static)> =
        std::iter::successors(error.source(), |&cause| cause.source()).collect();
    let cause = causes
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string);
    tracing::info!(url, error = cause, "a broker did not answer");
    let nothing_there = |cause: &&(dyn Error + 'static)| {
        let refused = cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        refused || cause.to_string().starts_with("dns error")
    };
    let url = url.to_owned();
    if error.is_timeout() {
        Silence::Timeout { url }
    } else if causes.iter().any(nothing_there) {
        Silence::Unreachable { url }
    } else {
        Silence::Disconnected { cause }
    }
}

#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) status: StatusCode,
    /// The broker's `Retry-After`, if it is in whole seconds.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: String,
}

/// No answer came.
#[derive(Debug)]
pub(crate) enum Silence {
    Timeout {
        url: String,
    },
    /// No server listens there, or the name is unknown.
    Unreachable {
        url: String,
    },
    /// The connection could not be made or broke.
    Disconnected {
        cause: String,
    },
}

impl RawResponse {
    pub(super) fn object(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(&self.body).ok()
    }

    pub(super) fn exchange(&self) -> Exchange {
        Exchange {
            method: self.method.clone(),
            status: self.status.as_u16(),
        }
    }

    /// `502 Bad Gateway`
    pub(super) fn status_line(&self) -> String {
        let reason = self.status.canonical_reason().unwrap_or_default();
        format!("{} {reason}", self.status.as_str())
    }

    /// The message for the user when the body has a description of any type.
    pub(super) fn described(&self) -> Option<String> {
        let description = match self.object()?.remove("description")? {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        Some(format!("Service broker error: {description}"))
    }
}
