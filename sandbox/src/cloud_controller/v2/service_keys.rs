//! Service keys of v2. Brokers are never given time for them.

use actix_web::web::{Data, Path, ServiceConfig, delete, resource};
use serde_json::json;

use super::{
    V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, changed},
    rejection::V2Rejection,
    service_bindings::{credentials, removed, sees},
};
use crate::cloud_controller::{
    CloudController,
    broker_client::AcceptsIncomplete,
    model::{Binding, BindingGuid, BindingKind, Tables},
};

pub(super) const FIELDS: [&str; 2] = ["name", "service_instance_guid"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/service_keys/{guid}").route(delete().to(remove)));
}

async fn remove(
    controller: Data<CloudController>,
    caller: V2Caller,
    guid: Path<String>,
) -> V2Answer {
    removed(
        &controller,
        &caller,
        &guid,
        AcceptsIncomplete::Synchronous,
        |tables, guid| visible(tables, &caller, guid),
    )
    .await
}

fn visible<'a>(
    tables: &'a Tables,
    caller: &V2Caller,
    guid: &str,
) -> Result<&'a Binding, V2Rejection> {
    tables
        .bindings
        .get(&BindingGuid::given(guid))
        .filter(|row| row.kind == BindingKind::Key && sees(tables, caller, row))
        .ok_or_else(|| V2Rejection::no_such_key(guid))
}

pub(super) fn row(tables: &Tables, caller: &V2Caller, row: &Binding) -> Row {
    Row {
        resource: key(tables, caller, row),
        fields: vec![
            ("name", row.name.iter().cloned().collect()),
            ("service_instance_guid", vec![row.instance.to_string()]),
        ],
    }
}

fn key(tables: &Tables, caller: &V2Caller, key: &Binding) -> Resource {
    let url = format!("/v2/service_keys/{}", key.guid);
    Resource {
        guid: key.guid.to_string(),
        created_at: key.created_at,
        updated_at: changed(key.created_at, key.updated_at),
        entity: json!({
            "name": key.name,
            "service_instance_guid": key.instance,
            "credentials": credentials(tables, caller, key),
            "service_instance_url": format!("/v2/service_instances/{}", key.instance),
            "service_key_parameters_url": format!("{url}/parameters"),
        }),
        url,
    }
}
