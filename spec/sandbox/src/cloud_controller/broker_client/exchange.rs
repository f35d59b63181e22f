//! One request to a broker and its answer.

use std::{error::Error, time::Duration};

use actix_web::http::StatusCode;
use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::StreamExt;
use reqwest::{Client, Method, redirect};
use rustls::ClientConfig;
use secrecy::ExposeSecret;
use serde::Serialize;
use serde_json::json;
use url::Url;
use uuid::Uuid;

use super::{
    answer::{Answer, BrokerFailure, Call, Progress, RawAnswer, Silence},
    body::{BindBody, ProvisionBody, UpdateBody},
    catalog::Catalog,
};
use crate::cloud_controller::model::{BindingGuid, BrokerAddress, InstanceGuid};

const API_VERSION: &str = "2.15";
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
const REDIRECTS: usize = 10;
const ASYNCHRONOUS: (&str, &str) = ("accepts_incomplete", "true");

/// Speaks to brokers: one for all of them.
#[derive(Clone)]
pub(crate) struct BrokerClient {
    http: Client,
    info_location: String,
}

/// The client for brokers could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("could not set up the client for brokers")]
pub struct BrokerClientError(#[source] reqwest::Error);

/// On whose behalf a broker is called.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The user who caused the call. Nobody did when orphans are mitigated.
    pub(crate) user: Option<String>,
    /// The id of the request that caused the call.
    pub(crate) request: String,
}

/// What a call is about: an instance or a binding, and what the catalog calls its service and plan.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) broker: BrokerAddress,
    pub(crate) instance: InstanceGuid,
    pub(crate) binding: Option<BindingGuid>,
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
}

/// Whether the broker may take its time after it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Asynchronous,
    Synchronous,
}

impl BrokerClient {
    /// A client that trusts what `tls` trusts, speaks plain HTTP too, and gives up after `timeout`.
    pub(crate) fn new(
        tls: ClientConfig,
        timeout: Duration,
        info_location: String,
    ) -> Result<Self, BrokerClientError> {
        let http = Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(timeout)
            .timeout(timeout)
            .redirect(redirect::Policy::limited(REDIRECTS))
            .no_proxy()
            .build()
            .map_err(BrokerClientError)?;
        Ok(Self {
            http,
            info_location,
        })
    }

    /// Reads the catalog.
    pub(crate) async fn catalog(
        &self,
        broker: &BrokerAddress,
        identity: &Identity,
    ) -> Result<Catalog, BrokerFailure> {
        let answer = self
            .send::<()>(Method::GET, broker, "/v2/catalog", &[], None, identity)
            .await;
        Catalog::from_answer(&answer?)
    }

    /// Orders an instance.
    pub(crate) async fn provision(
        &self,
        target: &Target,
        body: &ProvisionBody,
        identity: &Identity,
    ) -> Answer {
        let raw = self
            .call(
                Method::PUT,
                target,
                "",
                &[ASYNCHRONOUS],
                Some(body),
                identity,
            )
            .await;
        Answer::of(Call::Provision, raw)
    }

    /// Changes an instance.
    pub(crate) async fn update(
        &self,
        target: &Target,
        body: &UpdateBody,
        identity: &Identity,
    ) -> Answer {
        let raw = self
            .call(
                Method::PATCH,
                target,
                "",
                &[ASYNCHRONOUS],
                Some(body),
                identity,
            )
            .await;
        Answer::of(Call::Update, raw)
    }

    /// Orders a binding.
    pub(crate) async fn bind(
        &self,
        target: &Target,
        body: &BindBody,
        identity: &Identity,
    ) -> Answer {
        let raw = self
            .call(
                Method::PUT,
                target,
                "",
                &[ASYNCHRONOUS],
                Some(body),
                identity,
            )
            .await;
        Answer::of(Call::Bind, raw)
    }

    /// Gives an instance or a binding back.
    pub(crate) async fn delete(
        &self,
        target: &Target,
        patience: Patience,
        identity: &Identity,
    ) -> Answer {
        let mut query = vec![
            ("plan_id", target.plan_id.as_str()),
            ("service_id", &target.service_id),
        ];
        if patience == Patience::Asynchronous {
            query.insert(0, ASYNCHRONOUS);
        }
        let raw = self
            .call::<()>(Method::DELETE, target, "", &query, None, identity)
            .await;
        Answer::of(
            if target.binding.is_some() {
                Call::Unbind
            } else {
                Call::Deprovision
            },
            raw,
        )
    }

    /// Asks how far an operation is.
    pub(crate) async fn last_operation(
        &self,
        target: &Target,
        operation: Option<&str>,
        identity: &Identity,
    ) -> Progress {
        let mut query: Vec<_> = operation
            .map(|operation| ("operation", operation))
            .into_iter()
            .collect();
        query.extend([
            ("plan_id", target.plan_id.as_str()),
            ("service_id", target.service_id.as_str()),
        ]);
        Progress::of(
            self.call::<()>(
                Method::GET,
                target,
                "/last_operation",
                &query,
                None,
                identity,
            )
            .await,
        )
    }

    /// Reads an instance or a binding.
    pub(crate) async fn fetch(&self, target: &Target, identity: &Identity) -> Answer {
        let query = [
            ("plan_id", target.plan_id.as_str()),
            ("service_id", &target.service_id),
        ];
        Answer::of(
            Call::Fetch,
            self.call::<()>(Method::GET, target, "", &query, None, identity)
                .await,
        )
    }

    async fn call<B: Serialize>(
        &self,
        method: Method,
        target: &Target,
        below: &str,
        query: &[(&str, &str)],
        body: Option<&B>,
        identity: &Identity,
    ) -> Result<RawAnswer, Silence> {
        let mut path = format!("/v2/service_instances/{}", target.instance);
        if let Some(binding) = &target.binding {
            path = format!("{path}/service_bindings/{binding}");
        }
        self.send(
            method,
            &target.broker,
            &format!("{path}{below}"),
            query,
            body,
            identity,
        )
        .await
    }

    async fn send<B: Serialize>(
        &self,
        method: Method,
        broker: &BrokerAddress,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&B>,
        identity: &Identity,
    ) -> Result<RawAnswer, Silence> {
        let address = format!("{}{path}", broker.url.trim_end_matches('/'));
        let mut url = Url::parse(&address).map_err(|_| Silence::Unreachable {
            url: address.clone(),
        })?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self
            .http
            .request(method, url.clone())
            .basic_auth(&broker.username, Some(broker.password.expose_secret()))
            .header("X-Broker-Api-Version", API_VERSION)
            .header("X-VCAP-Request-ID", &identity.request)
            .header("X-Broker-API-Request-Identity", Uuid::new_v4().to_string())
            .header("X-Api-Info-Location", &self.info_location)
            .header("X-B3-TraceId", format!("{:016x}", rand::random::<u64>()))
            .header("X-B3-SpanId", format!("{:016x}", rand::random::<u64>()))
            .header("Accept", "application/json");
        if let Some(user) = &identity.user {
            let user = BASE64_STANDARD.encode(json!({"user_id": user}).to_string());
            request = request.header(
                "X-Broker-Api-Originating-Identity",
                format!("cloudfoundry {user}"),
            );
        }
        if let Some(body) = body {
            // A body of ours always serialises: its maps have text keys.
            let text = serde_json::to_string(body).unwrap_or_default();
            request = request
                .header("Content-Type", "application/json")
                .body(text);
        }
        let silent = |error: &reqwest::Error| silence(error, url.as_str());
        let response = request.send().await.map_err(|error| silent(&error))?;
        let status = StatusCode::from_u16(response.status().as_u16())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = response
            .headers()
            .get("Retry-After")
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let mut text = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            text.extend_from_slice(&chunk.map_err(|error| silent(&error))?);
            if text.len() > ANSWER_LIMIT {
                text.truncate(ANSWER_LIMIT);
                break;
            }
        }
        Ok(RawAnswer {
            url: url.into(),
            status,
            retry_after,
            body: String::from_utf8_lossy(&text).into_owned(),
        })
    }
}

fn silence(error: &reqwest::Error, url: &str) -> Silence {
    let mut cause = error.source();
    let mut last = error.to_string();
    while let Some(source) = cause {
        last = source.to_string();
        cause = source.source();
    }
    tracing::info!(url, error = last, "a broker did not answer");
    if error.is_timeout() {
        Silence::Timeout {
            url: url.to_owned(),
        }
    } else {
        Silence::Unreachable {
            url: url.to_owned(),
        }
    }
}
