//! `PUT /v2/service_instances/{instance}/service_bindings/{binding}`.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use odb_api_types::code::Code;
use serde::Deserialize;
use serde_json::Value;

use super::provision::{check_context, required};
use crate::{
    api::{
        AppState,
        fault::{Asking, Audience, not_in_catalog},
        incoming::{self, WithContext},
        refusal::Refusal,
    },
    complaint::Asked,
    operations::{BindError, BindRequest, BindResource, Bound, Unkeepable},
};

/// The body (Open Service Broker API 2.17, "Binding"). Unknown members go to the adapter unread.
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
    /// Deprecated and still sent beside that of the resource.
    #[serde(default)]
    app_guid: Option<String>,
    #[serde(default)]
    bind_resource: Option<Resource>,
}

#[derive(Default, Deserialize)]
struct Resource {
    #[serde(default)]
    app_guid: Option<String>,
    #[serde(default)]
    space_guid: Option<String>,
    #[serde(default)]
    route: Option<String>,
    #[serde(default)]
    credential_client_id: Option<String>,
    #[serde(default)]
    backup_agent: Option<bool>,
}

/// Makes credentials. It ends within the request, whether or not the platform would wait (`accepts_incomplete`).
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
        resource: resource(value.app_guid, value.bind_resource.unwrap_or_default()),
        body: body.raw,
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { app.operations.bind(request_context, request).await }
    };
    let asking = Asking {
        audience: Audience::User,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: Some(Asked::Bind),
    };
    match app.lifecycle.finish(work).await {
        Ok(Ok(Bound::New(binding))) => Ok(HttpResponse::Created().json(binding)),
        Ok(Ok(Bound::Same(binding))) => Ok(HttpResponse::Ok().json(binding)),
        Ok(Err(error)) => Err(refuse(error, &asking)),
        Err(cut) => Err(asking.cut(cut)),
    }
}

/// Empty texts are as good as none.
fn resource(app: Option<String>, resource: Resource) -> BindResource {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    BindResource {
        app: given(app).or(given(resource.app_guid)),
        space: given(resource.space_guid),
        route: given(resource.route),
        credential_client: given(resource.credential_client_id),
        for_backup_agent: resource.backup_agent == Some(true),
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
        BindError::Unkeepable(Unkeepable::NoReader(error)) => Refusal::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::NotSupported,
            "The credentials of this service are handed out through CredHub, to an application or to a service key of a \
             platform that names its client there: bind an application.",
        )
        .named("RequiresApp")
        .because(error),
        BindError::Unkeepable(Unkeepable::Ids(error)) => Refusal::malformed(format!("{error}.")),
        BindError::Parameters(error) => Refusal::invalid_parameters(error),
        BindError::Lock(error) => Refusal::out_of_time(error),
        BindError::Taken => Refusal::new(
            StatusCode::CONFLICT,
            Code::Conflict,
            "A service binding with this id exists with other attributes.",
        )
        .because(error),
        BindError::LookUp(fault) if fault.is_out_of_time() => Refusal::out_of_time(fault),
        BindError::LookUp(_) | BindError::Keep(_) => asking.complain(Code::RuntimeCredHub, error),
        BindError::Answer(_) => asking.complain(Code::AdapterAnswer, error),
        BindError::Instance(fault) => asking.fault(fault),
    }
}
