//! The requests that a Cloud Controller makes of a broker.
//!
//! Request bodies, with their members in the order in which a Cloud Controller writes them.

use std::time::Duration;

use reqwest::Method;
use rustls::ClientConfig;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    answer::{Call, Progress, Response},
    catalog::{Catalog, CatalogFailure},
    exchange::{BrokerClientError, Exchanges, RawResponse, Request, Silence},
};
use crate::cloud_controller::model::{BindingGuid, BrokerAddress, InstanceGuid, MaintenanceInfo};

const ASYNCHRONOUS: (&str, &str) = ("accepts_incomplete", "true");

#[derive(Clone)]
pub(crate) struct BrokerClient(Exchanges);

/// On whose behalf a broker is called.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The user who caused the call. Orphan mitigation has none.
    pub(crate) user: Option<String>,
    pub(crate) request: String,
}

/// The subject of a call: an instance or a binding, and its service and plan in the catalog.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) broker: BrokerAddress,
    pub(crate) instance: InstanceGuid,
    pub(crate) binding: Option<BindingGuid>,
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
}

/// Whether the platform accepts an asynchronous answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AcceptsIncomplete {
    Asynchronous,
    Synchronous,
}

impl BrokerClient {
    /// A client that trusts what `tls` trusts and also supports plain HTTP. Brokers receive `info_location`.
    pub(crate) fn new(
        tls: ClientConfig,
        timeout: Duration,
        info_location: String,
    ) -> Result<Self, BrokerClientError> {
        Exchanges::new(tls, timeout, info_location).map(Self)
    }

    /// Reads the catalog without validating it.
    pub(crate) async fn catalog(
        &self,
        broker: &BrokerAddress,
        identity: &Identity,
    ) -> Result<Map<String, Value>, CatalogFailure> {
        let request = Request::<()> {
            method: Method::GET,
            path: "/v2/catalog",
            query: &[],
            body: None,
        };
        Catalog::answered(self.0.send(broker, request, identity).await)
    }

    pub(crate) async fn provision(
        &self,
        target: &Target,
        body: &ProvisionBody,
        identity: &Identity,
    ) -> Response {
        let raw = self
            .change(
                Method::PUT,
                target,
                body,
                AcceptsIncomplete::Asynchronous,
                identity,
            )
            .await;
        Response::of(Call::Provision, raw)
    }

    pub(crate) async fn update(
        &self,
        target: &Target,
        body: &UpdateBody,
        accepts_incomplete: AcceptsIncomplete,
        identity: &Identity,
    ) -> Response {
        let raw = self
            .change(Method::PATCH, target, body, accepts_incomplete, identity)
            .await;
        Response::of(Call::Update, raw)
    }

    /// Orders a binding. With it the broker may give what the offering `requires`.
    pub(crate) async fn bind(
        &self,
        target: &Target,
        body: &BindBody,
        requires: &[String],
        identity: &Identity,
    ) -> Response {
        let raw = self
            .change(
                Method::PUT,
                target,
                body,
                AcceptsIncomplete::Asynchronous,
                identity,
            )
            .await;
        Response::of(Call::Bind(requires), raw)
    }

    pub(crate) async fn delete(
        &self,
        target: &Target,
        accepts_incomplete: AcceptsIncomplete,
        identity: &Identity,
    ) -> Response {
        let mut query = accepts_incomplete.query();
        query.extend(target.query());
        let raw = self.ask(Method::DELETE, target, "", &query, identity).await;
        let call = match target.binding {
            Some(_) => Call::Unbind,
            None => Call::Deprovision,
        };
        Response::of(call, raw)
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
        query.extend(target.query());
        Progress::of(
            self.ask(Method::GET, target, "/last_operation", &query, identity)
                .await,
        )
    }

    pub(crate) async fn fetch(&self, target: &Target, identity: &Identity) -> Response {
        let raw = self
            .ask(Method::GET, target, "", &target.query(), identity)
            .await;
        Response::of(Call::Fetch, raw)
    }

    async fn change<B: Serialize>(
        &self,
        method: Method,
        target: &Target,
        body: &B,
        accepts_incomplete: AcceptsIncomplete,
        identity: &Identity,
    ) -> Result<RawResponse, Silence> {
        let request = Request {
            method,
            path: &target.path(),
            query: &accepts_incomplete.query(),
            body: Some(body),
        };
        self.0.send(&target.broker, request, identity).await
    }

    async fn ask(
        &self,
        method: Method,
        target: &Target,
        below: &str,
        query: &[(&str, &str)],
        identity: &Identity,
    ) -> Result<RawResponse, Silence> {
        let request = Request::<()> {
            method,
            path: &format!("{}{below}", target.path()),
            query,
            body: None,
        };
        self.0.send(&target.broker, request, identity).await
    }
}

impl Target {
    fn path(&self) -> String {
        let instance = format!("/v2/service_instances/{}", self.instance);
        match &self.binding {
            Some(binding) => format!("{instance}/service_bindings/{binding}"),
            None => instance,
        }
    }

    fn query(&self) -> [(&str, &str); 2] {
        [("plan_id", &self.plan_id), ("service_id", &self.service_id)]
    }
}

impl AcceptsIncomplete {
    fn query(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Asynchronous => vec![ASYNCHRONOUS],
            Self::Synchronous => Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProvisionBody {
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
    pub(crate) organization_guid: String,
    pub(crate) space_guid: String,
    pub(crate) context: Context,
    /// Left out when the user gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<Map<String, Value>>,
    /// As the plan has it, the description included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct UpdateBody {
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
    pub(crate) previous_values: PreviousValues,
    pub(crate) context: Context,
    /// Always there; empty when the user gave none.
    pub(crate) parameters: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct PreviousValues {
    pub(crate) plan_id: String,
    pub(crate) service_id: String,
    pub(crate) organization_id: String,
    pub(crate) space_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct BindBody {
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) app_guid: Option<String>,
    pub(crate) bind_resource: Map<String, Value>,
    pub(crate) context: Context,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<Map<String, Value>>,
}

/// Where an instance lives, as the platform sees it. Names and annotations may change at any time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Context {
    pub(crate) platform: &'static str,
    pub(crate) organization_guid: String,
    pub(crate) space_guid: String,
    pub(crate) organization_name: String,
    pub(crate) space_name: String,
    pub(crate) organization_annotations: Map<String, Value>,
    pub(crate) space_annotations: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_annotations: Option<Map<String, Value>>,
}
