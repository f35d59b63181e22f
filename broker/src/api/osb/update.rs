//! `PATCH /v2/service_instances/{instance}`.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use odb_api_types::{code::Code, kind::OperationKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::provision::{MaintenanceInfo, accepted, check_context, quota_text, required};
use crate::{
    api::{
        AppState,
        fault::{Asking, Audience, maintenance_conflict, not_in_catalog},
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    complaint::Asked,
    offering::UpdateRefused,
    operations::{PreviousValues, UpdateError, UpdateRequest, Updated},
};

/// The body (Open Service Broker API 2.17, "Updating a Service Instance").
#[derive(Deserialize)]
struct UpdateBody {
    #[serde(default)]
    service_id: Option<String>,
    #[serde(default)]
    plan_id: Option<String>,
    #[serde(default)]
    context: Option<Value>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    previous_values: Option<PreviousState>,
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Deserialize)]
struct PreviousState {
    #[serde(default)]
    plan_id: Option<String>,
    #[serde(default)]
    maintenance_info: Option<MaintenanceInfo>,
}

/// Changes a service instance.
pub(super) async fn update(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    query: Parameters,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, Refusal> {
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
        patience: query.lenient_patience(),
        body: body.raw,
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { Box::pin(app.operations.update(request_context, request)).await }
    };
    let asking = Asking {
        audience: Audience::User,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Operation(OperationKind::Update)),
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(Updated::Started(started))) => Ok(accepted(started)),
        Ok(Ok(Updated::NothingToDo)) => Ok(HttpResponse::Ok().json(Map::new())),
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

fn refuse(error: UpdateError, asking: &Asking<'_>) -> Refusal {
    match error {
        UpdateError::Catalog(fault) => not_in_catalog(fault),
        UpdateError::AsyncRequired(error) => Refusal::async_required(error),
        UpdateError::NotAnObject(error) => Refusal::malformed(format!("{error}.")),
        UpdateError::Refused(refused) => refuse_meaning(refused),
        UpdateError::Lock(error) => Refusal::out_of_time(error),
        UpdateError::Count(error) => asking.count(error),
        UpdateError::Quota(error) => Refusal::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::Quota,
            quota_text(&error),
        )
        .because(error),
        UpdateError::Parameters(error) => Refusal::invalid_parameters(error),
        UpdateError::Instance(fault) => asking.fault(fault),
    }
}

fn refuse_meaning(refused: UpdateRefused) -> Refusal {
    let unprocessable =
        |code, text: &str| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, code, text);
    match refused {
        UpdateRefused::Catalog(fault) => not_in_catalog(fault),
        UpdateRefused::Maintenance(conflict) => maintenance_conflict(conflict),
        UpdateRefused::PlanUnknown => {
            Refusal::malformed("plan_id missing: give it in the body of the request.")
        }
        UpdateRefused::PlanNotUpdatable => unprocessable(
            Code::NotSupported,
            "The plan of a service instance of this offering cannot be changed.",
        )
        .because(refused),
        UpdateRefused::UpgradeFirst { .. } => unprocessable(
            Code::UpgradeFirst,
            "The service instance needs to be upgraded before updating: upgrade it (cf upgrade-service), then try again.",
        )
        .because(refused),
    }
}
