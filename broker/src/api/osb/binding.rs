//! `/v2/service_instances/{instance}/service_bindings/{binding}`: credentials from their making to their end.

use actix_web::{
    Error, HttpResponse,
    web::{Bytes, Path},
};
use odb_core::operations::{BindRequest, BindResource, Bound, UnbindRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::instance::{check_context, required};
use crate::api::{
    error::ApiError,
    incoming::{self, Parameters, not_offered},
    refused::RequestKind,
    run::Run,
};

/// The body (Open Service Broker API 2.17, "Binding"). Unknown members go to the adapter unread.
#[derive(Deserialize)]
struct BindBody {
    service_id: Option<String>,
    plan_id: Option<String>,
    context: Option<Value>,
    parameters: Option<Value>,
    /// Deprecated and still sent beside that of the resource.
    app_guid: Option<String>,
    bind_resource: Option<Resource>,
}

#[derive(Default, Deserialize)]
struct Resource {
    app_guid: Option<String>,
    space_guid: Option<String>,
    route: Option<String>,
    credential_client_id: Option<String>,
    backup_agent: Option<bool>,
}

/// Makes credentials. It ends within the request, whether or not the platform would wait (`accepts_incomplete`).
pub(super) async fn bind(
    run: Run,
    path: Path<(String, String)>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
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
    let bound = run.user(
        &instance,
        RequestKind::Bind,
        |operations, context| async move { operations.bind(context, request).await },
    );
    match bound.await? {
        Bound::New(binding) => Ok(HttpResponse::Created().json(binding)),
        Bound::Same(binding) => Ok(HttpResponse::Ok().json(binding)),
    }
}

/// Empty texts count as absent.
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

pub(super) async fn unbind(
    run: Run,
    path: Path<(String, String)>,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
    let (instance, binding) = path.into_inner();
    let instance = incoming::instance_id(instance)?;
    let request = UnbindRequest {
        instance: instance.clone(),
        binding: incoming::binding_id(binding)?,
        service: query.required("service_id")?.to_owned().into(),
        plan: query.required("plan_id")?.to_owned().into(),
    };
    let unbound = run.user(
        &instance,
        RequestKind::Unbind,
        |operations, context| async move { operations.unbind(context, request).await },
    );
    unbound.await?;
    Ok(HttpResponse::Ok().json(json!({})))
}

/// Returns a binding, if the catalog announces it.
pub(super) async fn fetch(
    run: Run,
    path: Path<(String, String)>,
) -> Result<HttpResponse, ApiError> {
    if !run.app.operations.offering().bindings_retrievable {
        return Err(not_offered("GetBinding"));
    }
    let (instance, binding) = path.into_inner();
    let instance = incoming::instance_id(instance)?;
    let (of, binding) = (instance.clone(), incoming::binding_id(binding)?);
    let binding = run.user(
        &instance,
        RequestKind::Other,
        |operations, context| async move { operations.fetch_binding(context, of, binding).await },
    );
    Ok(HttpResponse::Ok().json(binding.await?))
}

/// `GET …/last_operation`: every bind and unbind ends within its request.
pub(super) async fn last_operation() -> Result<HttpResponse, ApiError> {
    Err(not_offered("LastBindingOperation"))
}
