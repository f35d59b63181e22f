//! `PUT /v2/service_instances/{instance}/service_bindings/{binding}`.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use serde::Deserialize;
use serde_json::Value;

use super::provision::{check_context, required};
use crate::{
    api::{
        AppState,
        fault::{Asking, not_in_catalog},
        incoming::{self, WithContext},
        refusal::Refusal,
    },
    code::Code,
    complaint::Asked,
    operations::{BindError, BindRequest},
};

/// The body (Open Service Broker API 2.17, "Binding").
#[derive(Deserialize)]
struct BindBody {
    #[serde(default)]
    service_id: Option<String>,
    #[serde(default)]
    plan_id: Option<String>,
    #[serde(default)]
    context: Option<Value>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    bind_resource: Option<BindResource>,
}

#[derive(Deserialize)]
struct BindResource {
    #[serde(default)]
    backup_agent: Option<bool>,
}

/// Makes credentials.
pub(super) async fn bind(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<(String, String)>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, Refusal> {
    let (instance, binding) = path.into_inner();
    let instance = incoming::instance_id(instance)?;
    let body = incoming::body::<BindBody>(body)?;
    let value = body.value;
    check_context(value.context.as_ref())?;
    let request = BindRequest {
        instance: instance.clone(),
        binding: incoming::binding_id(binding)?,
        service: required(value.service_id, "service_id")?.into(),
        plan: required(value.plan_id, "plan_id")?.into(),
        parameters: value.parameters,
        for_backup_agent: value
            .bind_resource
            .and_then(|resource| resource.backup_agent)
            == Some(true),
        body: body.raw,
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { app.operations.bind(request_context, request).await }
    };
    let asking = Asking {
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Bind),
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(binding)) => Ok(HttpResponse::Created().json(binding)),
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

fn refuse(error: BindError, asking: &Asking<'_>) -> Refusal {
    match error {
        BindError::Catalog(fault) => not_in_catalog(fault),
        BindError::NotAnObject(error) => Refusal::malformed(format!("{error}.")),
        BindError::BackupAgent => Refusal::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::NotSupported,
            "service does not support backup agent binding",
        )
        .because(error),
        BindError::Parameters(error) => Refusal::invalid_parameters(error),
        BindError::Lock(error) => Refusal::out_of_time(error),
        BindError::Instance(fault) => asking.fault(fault),
    }
}
