//! `PUT /v2/service_instances/{instance}`.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use odb_api_types::{code::Code, ids::InstanceId, kind::OperationKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    api::{
        AppState,
        fault::{Asking, Audience, maintenance_conflict, not_in_catalog},
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::Started,
    complaint::Asked,
    config::OrganizationAndSpace,
    operations::{ProvisionError, ProvisionRequest, Provisioned},
};

/// The body (Open Service Broker API 2.17, "Provisioning"). Unknown members go to the adapter unread.
#[derive(Deserialize)]
struct ProvisionBody {
    #[serde(default)]
    service_id: Option<String>,
    #[serde(default)]
    plan_id: Option<String>,
    #[serde(default)]
    organization_guid: Option<String>,
    #[serde(default)]
    space_guid: Option<String>,
    #[serde(default)]
    context: Option<Value>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
}

/// Only the version counts.
#[derive(Deserialize)]
pub(super) struct MaintenanceInfo {
    #[serde(default)]
    pub(super) version: Option<String>,
}

/// Starts a service instance.
pub(super) async fn provision(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    query: Parameters,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let request = request(instance.clone(), &query, incoming::body(body)?)?;
    if app.organization_and_space == OrganizationAndSpace::Required {
        required(request.organization.clone(), "organization_guid")?;
        required(request.space.clone(), "space_guid")?;
    }
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { app.operations.provision(request_context, request).await }
    };
    let asking = Asking {
        audience: Audience::User,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Operation(OperationKind::Create)),
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(Provisioned::Started(started))) => Ok(accepted(started)),
        Ok(Ok(Provisioned::Exists {
            dashboard_url,
            labels,
        })) => Ok(HttpResponse::Ok().json(described(dashboard_url, &labels))),
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

fn request(
    instance: InstanceId,
    query: &Parameters,
    body: incoming::Body<ProvisionBody>,
) -> Result<ProvisionRequest, Refusal> {
    let value = body.value;
    check_context(value.context.as_ref())?;
    Ok(ProvisionRequest {
        instance,
        service: required(value.service_id, "service_id")?.into(),
        plan: required(value.plan_id, "plan_id")?.into(),
        parameters: value.parameters,
        organization: value.organization_guid,
        space: value.space_guid,
        maintenance_version: value.maintenance_info.and_then(|info| info.version),
        patience: query.patience(),
        body: body.raw,
    })
}

fn refuse(error: ProvisionError, asking: &Asking<'_>) -> Refusal {
    match error {
        ProvisionError::Catalog(fault) => not_in_catalog(fault),
        ProvisionError::AsyncRequired(error) => Refusal::async_required(error),
        ProvisionError::NotAnObject(error) => Refusal::malformed(format!("{error}.")),
        ProvisionError::Maintenance(conflict) => maintenance_conflict(conflict),
        ProvisionError::Lock(error) => Refusal::out_of_time(error),
        ProvisionError::Count(error) => asking.count(error),
        ProvisionError::Quota(error) => {
            Refusal::new(StatusCode::FORBIDDEN, Code::Quota, quota_text(&error)).because(error)
        }
        ProvisionError::Parameters(error) => Refusal::invalid_parameters(error),
        ProvisionError::Instance(fault) => asking.fault(fault),
    }
}

pub(super) fn quota_text(error: &crate::offering::QuotaExceeded) -> String {
    format!(
        "There is no room for another service instance: {error}. Delete one, or ask your operator for more."
    )
}

/// A member that the specification demands.
pub(super) fn required(value: Option<String>, name: &str) -> Result<String, Refusal> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        Refusal::malformed(format!(
            "{name} missing: give it in the body of the request."
        ))
    })
}

pub(super) fn check_context(context: Option<&Value>) -> Result<(), Refusal> {
    match context {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err(Refusal::malformed("`context` is not a JSON object.")),
    }
}

/// The answer to an operation that has been handed over.
pub(super) fn accepted(started: Started) -> HttpResponse {
    let mut body = described(started.dashboard_url, &started.labels);
    body.insert("operation".to_owned(), started.token.into());
    HttpResponse::Accepted().json(body)
}

fn described(dashboard_url: Option<String>, labels: &Map<String, Value>) -> Map<String, Value> {
    let mut body = Map::new();
    if let Some(url) = dashboard_url {
        body.insert("dashboard_url".to_owned(), url.into());
    }
    if !labels.is_empty() {
        body.insert(
            "metadata".to_owned(),
            serde_json::json!({ "labels": labels }),
        );
    }
    body
}
