//! Service bindings of v2: those of apps. Keys have routes of their own.

use actix_web::{
    HttpResponse,
    web::{Data, Path, ServiceConfig, delete, resource},
};
use serde_json::{Value, json};

use super::{
    JSON, V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, changed},
    no_content,
    rejection::V2Rejection,
    service_instances::last_operation,
};
use crate::cloud_controller::{
    CloudController,
    broker_client::AcceptsIncomplete,
    model::{
        AppGuid, Binding, BindingGuid, BindingKind, JobOperation, JobResource, OperationKind,
        OperationState, Tables,
    },
    work::FirstAnswer,
};

pub(super) const FIELDS: [&str; 3] = ["app_guid", "service_instance_guid", "name"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/apps/{app}/service_bindings/{guid}").route(delete().to(remove_of_app)));
}

async fn remove_of_app(
    controller: Data<CloudController>,
    caller: V2Caller,
    path: Path<(String, String)>,
) -> V2Answer {
    let (app, guid) = path.into_inner();
    let of_app = BindingKind::App(AppGuid::given(&app));
    removed(
        &controller,
        &caller,
        &guid,
        AcceptsIncomplete::Synchronous,
        |tables, guid| {
            let row = visible(tables, &caller, guid)?;
            if row.kind == of_app {
                Ok(row)
            } else {
                Err(V2Rejection::no_such_binding(guid))
            }
        },
    )
    .await
}

/// Has the broker delete a binding and waits for its answer.
pub(super) async fn removed(
    controller: &CloudController,
    caller: &V2Caller,
    guid: &str,
    accepts_incomplete: AcceptsIncomplete,
    find: impl for<'a> FnOnce(&'a Tables, &str) -> Result<&'a Binding, V2Rejection>,
) -> V2Answer {
    let (operation, guid, name) = controller.0.state.change(|tables| {
        let row = find(tables, guid)?;
        let instance = tables.instances.get(&row.instance);
        let name = instance.map_or_else(String::new, |instance| instance.name.clone());
        if let Some(space) = tables.space_of(row) {
            caller.permissions(tables).must_operate(tables, space)?;
        }
        if row.last_operation.is_running()
            || instance.is_some_and(|instance| instance.last_operation.is_running())
        {
            return Err(V2Rejection::in_progress(&name));
        }
        let job = match row.kind {
            BindingKind::App(_) => JobOperation::DeleteBinding,
            BindingKind::Key => JobOperation::DeleteKey,
            BindingKind::Route(_) => JobOperation::DeleteRouteBinding,
        };
        let guid = row.guid.clone();
        // The row keeps its last operation until the broker has taken the delete.
        let last_operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
        let resource = JobResource::Binding(guid.clone());
        let operation = controller.begun(tables, job, resource, &last_operation, caller);
        Ok((operation, guid, name))
    })?;
    match operation.unbind_and_wait(guid, accepts_incomplete).await {
        Some(FirstAnswer::Done) => Ok(no_content()),
        Some(FirstAnswer::Begun) => Ok(HttpResponse::Accepted().content_type(JSON).body("{}")),
        Some(FirstAnswer::Refused(failure)) => Err(V2Rejection::broker(&failure, Some(&name))),
        None => Err(V2Rejection::stopping("")),
    }
}

fn visible<'a>(
    tables: &'a Tables,
    caller: &V2Caller,
    guid: &str,
) -> Result<&'a Binding, V2Rejection> {
    tables
        .bindings
        .get(&BindingGuid::given(guid))
        .filter(|row| is_app_binding(row) && sees(tables, caller, row))
        .ok_or_else(|| V2Rejection::no_such_binding(guid))
}

fn is_app_binding(binding: &Binding) -> bool {
    matches!(binding.kind, BindingKind::App(_))
}

pub(super) fn sees(tables: &Tables, caller: &V2Caller, binding: &Binding) -> bool {
    caller.permissions(tables).sees_binding(tables, binding)
}

/// The credentials, for those who may see them.
pub(super) fn credentials(tables: &Tables, caller: &V2Caller, binding: &Binding) -> Value {
    let details = binding.details.as_ref();
    let given = details.and_then(|details| details.get("credentials").cloned());
    let may = tables
        .space_of(binding)
        .is_some_and(|space| caller.permissions(tables).sees_secrets(space));
    if may {
        given.unwrap_or_else(|| json!({}))
    } else {
        json!({"redacted_message": "[PRIVATE DATA HIDDEN]"})
    }
}

pub(super) fn row(tables: &Tables, caller: &V2Caller, row: &Binding) -> Row {
    let app = match &row.kind {
        BindingKind::App(app) => vec![app.to_string()],
        BindingKind::Key | BindingKind::Route(_) => Vec::new(),
    };
    Row {
        resource: binding(tables, caller, row),
        fields: vec![
            ("app_guid", app),
            ("service_instance_guid", vec![row.instance.to_string()]),
            ("name", row.name.iter().cloned().collect()),
        ],
    }
}

fn binding(tables: &Tables, caller: &V2Caller, binding: &Binding) -> Resource {
    let url = format!("/v2/service_bindings/{}", binding.guid);
    let app = match &binding.kind {
        BindingKind::App(app) => Some(app),
        BindingKind::Key | BindingKind::Route(_) => None,
    };
    let detail = |name: &str| binding.details.as_ref()?.get(name).cloned();
    let entity = json!({
        "app_guid": app,
        "service_instance_guid": binding.instance,
        "credentials": credentials(tables, caller, binding),
        "binding_options": {},
        "gateway_data": null,
        "gateway_name": "",
        "syslog_drain_url": detail("syslog_drain_url"),
        "volume_mounts": detail("volume_mounts").unwrap_or_else(|| json!([])),
        "name": binding.name,
        "last_operation": last_operation(&binding.last_operation),
        "app_url": app.map(|app| format!("/v2/apps/{app}")),
        "service_instance_url": format!("/v2/service_instances/{}", binding.instance),
        "service_binding_parameters_url": format!("{url}/parameters"),
    });
    Resource {
        guid: binding.guid.to_string(),
        created_at: binding.created_at,
        updated_at: changed(binding.created_at, binding.updated_at),
        entity,
        url,
    }
}
