//! `/v2/service_instances/{instance}`: a service instance from its order to its end.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Path},
};
use odb_api_types::{code::Code, ids::InstanceId, kind::OperationKind};
use odb_core::{
    engine::{Deleted, Started, Upgraded},
    operations::{
        DeprovisionRequest, PreviousValues, ProvisionRequest, Provisioned, UpdateRequest,
    },
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::{
    error::ApiError,
    incoming::{self, Parameters, not_offered},
    refused::RequestKind,
    run::Run,
};

/// The body of an order (Open Service Broker API 2.17, "Provisioning"). Unknown members go to the adapter unread.
#[derive(Deserialize)]
struct ProvisionBody {
    service_id: Option<String>,
    plan_id: Option<String>,
    organization_guid: Option<String>,
    space_guid: Option<String>,
    context: Option<Value>,
    parameters: Option<Value>,
    maintenance_info: Option<MaintenanceInfo>,
}

/// The body of a change ("Updating a Service Instance").
#[derive(Deserialize)]
struct UpdateBody {
    service_id: Option<String>,
    plan_id: Option<String>,
    context: Option<Value>,
    parameters: Option<Value>,
    previous_values: Option<PreviousState>,
    maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Deserialize)]
struct PreviousState {
    plan_id: Option<String>,
    maintenance_info: Option<MaintenanceInfo>,
}

/// Only the version counts.
#[derive(Deserialize)]
struct MaintenanceInfo {
    version: Option<String>,
}

/// Starts a service instance.
pub(super) async fn provision(
    run: Run,
    path: Path<String>,
    query: Parameters,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let request = order(instance.clone(), &query, incoming::body(body)?)?;
    if run.app.requires_organization_and_space {
        required(request.organization.clone(), "organization_guid")?;
        required(request.space.clone(), "space_guid")?;
    }
    let kind = RequestKind::Operation(OperationKind::Create);
    let provisioned = run.user(&instance, kind, |operations, context| async move {
        operations.provision(context, request).await
    });
    match provisioned.await? {
        Provisioned::Started(started) => Ok(accepted(started)),
        Provisioned::Exists {
            dashboard_url,
            labels,
        } => Ok(HttpResponse::Ok().json(described(dashboard_url, &labels))),
    }
}

fn order(
    instance: InstanceId,
    query: &Parameters,
    body: incoming::Body<ProvisionBody>,
) -> Result<ProvisionRequest, ApiError> {
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
        accepts_incomplete: query.accepts_incomplete(),
        body: body.raw,
    })
}

/// Changes a service instance.
pub(super) async fn update(
    run: Run,
    path: Path<String>,
    query: Parameters,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let body = incoming::body::<UpdateBody>(body)?;
    let value = body.value;
    check_context(value.context.as_ref())?;
    let given = |id: Option<String>| id.filter(|id| !id.is_empty()).map(Into::into);
    let request = UpdateRequest {
        instance: instance.clone(),
        service: required(value.service_id, "service_id")?.into(),
        plan: given(value.plan_id),
        previous: value
            .previous_values
            .map(|values| PreviousValues {
                plan: given(values.plan_id),
                maintenance_version: values.maintenance_info.and_then(|info| info.version),
            })
            .unwrap_or_default(),
        parameters: value.parameters,
        maintenance_version: value.maintenance_info.and_then(|info| info.version),
        accepts_incomplete: query.leniently_accepts_incomplete(),
        body: body.raw,
    };
    let kind = RequestKind::Operation(OperationKind::Update);
    let updated = run.user(&instance, kind, |operations, context| async move {
        Box::pin(operations.update(context, request)).await
    });
    match updated.await? {
        Upgraded::Started(started) => Ok(accepted(started)),
        Upgraded::NothingToDo => Ok(HttpResponse::Ok().json(Map::new())),
    }
}

/// Ends a service instance.
pub(super) async fn deprovision(
    run: Run,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let (deletion, kind) = query.force();
    let request = DeprovisionRequest {
        instance: instance.clone(),
        service: query.required("service_id")?.to_owned().into(),
        plan: query.required("plan_id")?.to_owned().into(),
        deletion,
        accepts_incomplete: query.accepts_incomplete(),
    };
    let kind = RequestKind::Operation(kind);
    let deleted = run.user(&instance, kind, |operations, context| async move {
        operations.deprovision(context, request).await
    });
    match deleted.await? {
        Deleted::Started(started) => Ok(accepted(started)),
        Deleted::WasAbsent => Err(ApiError::new(
            StatusCode::GONE,
            Code::NotFound,
            "there is no such service instance",
        )),
    }
}

/// Returns a service instance, if the catalog announces it. Parameters are not stored, and so not returned.
pub(super) async fn fetch(run: Run, path: Path<String>) -> Result<HttpResponse, ApiError> {
    if !run.app.instances_retrievable {
        return Err(not_offered("GetInstance"));
    }
    let instance = incoming::instance_id(path.into_inner())?;
    let wanted = instance.clone();
    let fetched = run.user(
        &instance,
        RequestKind::Other,
        |operations, context| async move {
            Ok(operations
                .engine()
                .record_at_rest(&context.call(), &wanted)
                .await?)
        },
    );
    let fetched = fetched.await?;
    let mut body = Map::new();
    body.insert(
        "service_id".to_owned(),
        json!(run.app.operations.offering().id),
    );
    if let Some(plan) = fetched.plan {
        body.insert("plan_id".to_owned(), json!(plan));
    }
    body.extend(described(fetched.dashboard_url, &fetched.labels));
    Ok(HttpResponse::Ok().json(body))
}

/// A member that the specification demands.
pub(super) fn required(value: Option<String>, name: &str) -> Result<String, ApiError> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        ApiError::malformed(format!(
            "{name} missing: give it in the body of the request."
        ))
    })
}

pub(super) fn check_context(context: Option<&Value>) -> Result<(), ApiError> {
    match context {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err(ApiError::malformed("`context` is not a JSON object.")),
    }
}

/// The answer to a started operation.
fn accepted(started: Started) -> HttpResponse {
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
        body.insert("metadata".to_owned(), json!({ "labels": labels }));
    }
    body
}
