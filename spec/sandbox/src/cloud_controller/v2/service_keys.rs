//! Service keys of v2. Brokers are never given time for them.

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, resource},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    V2Answer,
    body::message,
    caller::V2Caller,
    listing::{Resource, Row, V2Query, changed},
    refusal::V2Refusal,
    service_bindings::{added, bindable, bound, credentials, removed, sees},
};
use crate::cloud_controller::{
    CloudController,
    broker_client::Patience,
    model::{Binding, BindingGuid, BindingKind, Tables},
};

pub(super) const FIELDS: [&str; 2] = ["name", "service_instance_guid"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/service_keys")
            .route(get().to(list))
            .route(post().to(create)),
    )
    .service(
        resource("/service_keys/{guid}")
            .route(get().to(one))
            .route(delete().to(remove)),
    );
}

async fn list(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
) -> V2Answer {
    let query = V2Query::of(&request, &FIELDS)?;
    controller.0.state.read(|tables| {
        let rows = tables
            .bindings
            .values()
            .filter(|row| row.kind == BindingKind::Key && sees(tables, &caller, row))
            .map(|key| row(tables, &caller, key))
            .filter(|row| query.admits(row))
            .map(|row| {
                Ok::<_, V2Refusal>(Row {
                    resource: resolved(&controller, row.resource)?,
                    ..row
                })
            });
        let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
        Ok(query.answer(rows.into_iter()))
    })
}

async fn one(controller: Data<CloudController>, caller: V2Caller, guid: Path<String>) -> V2Answer {
    controller.0.state.read(|tables| {
        let row = visible(tables, &caller, &guid)?;
        Ok(resolved(&controller, key(tables, &caller, row))?.answer())
    })
}

/// The key with what its credentials refer to.
fn resolved(controller: &CloudController, mut key: Resource) -> Result<Resource, V2Refusal> {
    let credentials = &mut key.entity["credentials"];
    *credentials = controller
        .key_credentials(credentials.take())
        .map_err(|_| V2Refusal::credential_store(""))?;
    Ok(key)
}

#[derive(Deserialize)]
struct Create {
    name: String,
    service_instance_guid: String,
    parameters: Option<Map<String, Value>>,
}

async fn create(controller: Data<CloudController>, caller: V2Caller, body: Bytes) -> V2Answer {
    let wanted: Create = message(&body)?;
    let (operation, guid) = controller.0.state.change(|tables| {
        let instance = bindable(tables, &caller, &wanted.service_instance_guid)?.clone();
        let taken = tables.bindings_of(&instance.guid).any(|binding| {
            binding.kind == BindingKind::Key && binding.name.as_ref() == Some(&wanted.name)
        });
        if taken {
            return Err(V2Refusal::key_name_taken(&wanted.name));
        }
        let (name, kind) = (Some(wanted.name), BindingKind::Key);
        Ok(added(&controller, tables, &caller, &instance, name, kind))
    })?;
    let answer = operation
        .bind_and_wait(guid.clone(), wanted.parameters, Patience::Synchronous)
        .await;
    bound(&controller, &guid, answer, |tables, row| {
        key(tables, &caller, row).presented()
    })
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
        Patience::Synchronous,
        |tables, guid| visible(tables, &caller, guid),
    )
    .await
}

fn visible<'a>(
    tables: &'a Tables,
    caller: &V2Caller,
    guid: &str,
) -> Result<&'a Binding, V2Refusal> {
    tables
        .bindings
        .get(&BindingGuid::given(guid))
        .filter(|row| row.kind == BindingKind::Key && sees(tables, caller, row))
        .ok_or_else(|| V2Refusal::no_such_key(guid))
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
