//! `/v2/service_instances/{instance}`: a service instance from its order to its end, and its last operation.

use std::time::Duration;

use actix_web::{
    Error, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Path},
};
use odb_api_types::{code::Code, ids::InstanceId, kind::OperationKind, management::OperationState};
use odb_core::{
    engine::{Condition, Deleted, LastOperation, OperationView, Started, Upgraded},
    operations::{
        DeprovisionRequest, PreviousValues, ProvisionRequest, Provisioned, UpdateRequest,
    },
};
use serde::{Deserialize, Serialize};
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

#[derive(Deserialize)]
struct MaintenanceInfo {
    version: Option<String>,
}

pub(super) async fn provision(
    run: Run,
    path: Path<String>,
    query: Parameters,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let request = order(instance.clone(), &query, incoming::body(body)?)?;
    if run.app.broker.requires_organization_and_space {
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

pub(super) async fn deprovision(
    run: Run,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let deletion = query.deletion();
    let request = DeprovisionRequest {
        instance: instance.clone(),
        service: query.required("service_id")?.to_owned().into(),
        plan: query.required("plan_id")?.to_owned().into(),
        deletion,
        accepts_incomplete: query.accepts_incomplete(),
    };
    let kind = RequestKind::Operation(deletion.kind());
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
    if !run.app.broker.instances_retrievable {
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

/// Reports the state of an operation. Without a valid token, the latest operation is reported.
pub(super) async fn last_operation(
    run: Run,
    path: Path<String>,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let token = query.get("operation").map(str::to_owned);
    let polled = instance.clone();
    let latest = run.user(
        &instance,
        RequestKind::Other,
        |operations, context| async move {
            let (call, token) = (context.call(), token.as_deref());
            let latest =
                operations
                    .engine()
                    .last_operation(&call, &polled, token, &context.request);
            Ok(latest.await?)
        },
    );
    match latest.await? {
        LastOperation::Known(operation, ask_again) => Ok(reported(operation, ask_again)),
        LastOperation::Gone => Err(ApiError::new(
            StatusCode::GONE,
            Code::NotFound,
            "the service instance is gone",
        )),
        LastOperation::Unknown => Err(ApiError::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "The service instance does not exist.",
        )),
    }
}

fn reported(operation: OperationView, ask_again: Duration) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if operation.is_in_progress() {
        response.insert_header((header::RETRY_AFTER, whole_seconds(ask_again)));
    }
    response.json(Status::from(operation))
}

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

/// The state of an operation (Open Service Broker API 2.17, "Polling Last Operation for Service Instances").
#[derive(Serialize)]
struct Status {
    state: OperationState,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_usable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update_repeatable: Option<bool>,
}

impl From<OperationView> for Status {
    /// Failed updates and deletes report the state of the instance, as far as known; other operations may not
    /// (`spec/contracts/osb-api.md` §1.3). A deployment can always be repeated.
    fn from(operation: OperationView) -> Self {
        let usable = operation.condition.map(|left| left == Condition::Intact);
        let (instance_usable, update_repeatable) = match (operation.state, operation.kind) {
            (OperationState::Failed, Some(OperationKind::Update | OperationKind::Upgrade)) => {
                (usable, Some(true))
            }
            (OperationState::Failed, Some(OperationKind::Delete | OperationKind::ForceDelete)) => {
                (usable, None)
            }
            _ => (None, None),
        };
        Self {
            state: operation.state,
            description: operation.description.unwrap_or_default(),
            instance_usable,
            update_repeatable,
        }
    }
}

fn whole_seconds(pause: Duration) -> u64 {
    pause.as_secs() + u64::from(pause.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use actix_web::body::MessageBody;

    use super::*;

    #[test]
    fn a_poll_returns_when_to_ask_again_or_what_a_failure_has_left() {
        use OperationKind::{Create, Delete, ForceDelete, Recreate, Update, Upgrade};
        use OperationState::{Failed, InProgress, Succeeded};

        let (intact, damaged) = (Some(Condition::Intact), Some(Condition::Damaged));
        for (kind, state, condition, again, flags) in [
            (Create, InProgress, None, Some("3"), [None, None]),
            (Update, InProgress, damaged, Some("3"), [None, None]),
            (Create, Succeeded, None, None, [None, None]),
            (Update, Succeeded, intact, None, [None, None]),
            (Create, Failed, damaged, None, [None, None]),
            (Recreate, Failed, damaged, None, [None, None]),
            (Update, Failed, intact, None, [Some(true), Some(true)]),
            (Upgrade, Failed, damaged, None, [Some(false), Some(true)]),
            (Update, Failed, None, None, [None, Some(true)]),
            (Delete, Failed, intact, None, [Some(true), None]),
            (ForceDelete, Failed, damaged, None, [Some(false), None]),
        ] {
            let operation = OperationView {
                condition,
                ..OperationView::new(Some(kind), state, "text".to_owned())
            };

            let response = reported(operation, Duration::from_millis(2001));

            let header = response.headers().get(header::RETRY_AFTER);
            let header = header.map(|seconds| seconds.to_str().unwrap());
            assert_eq!(header, again, "{kind} {state:?}");
            let mut expected = json!({ "state": state, "description": "text" });
            for (name, flag) in ["instance_usable", "update_repeatable"]
                .into_iter()
                .zip(flags)
            {
                if let Some(flag) = flag {
                    expected[name] = flag.into();
                }
            }
            let body = response.into_body().try_into_bytes().unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body, expected, "{kind} {state:?} {condition:?}");
        }
    }

    #[test]
    fn a_part_of_a_second_is_a_whole_one() {
        for (milliseconds, seconds) in [(1, 1), (1000, 1), (1001, 2), (5000, 5)] {
            assert_eq!(whole_seconds(Duration::from_millis(milliseconds)), seconds);
        }
    }
}
