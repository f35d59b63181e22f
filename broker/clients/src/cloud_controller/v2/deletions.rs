//! `/v2/service_instances/GUID` and its bindings, keys and routes.

use serde::Deserialize;

use super::pages::{Resource, list};
use crate::{
    cloud_controller::{
        AppGuid, BindingGuid, CfBinding, CfBindingKind, CfStanding, Deletion, InstanceGuid,
        deletions::WireStanding, instances::WireOperation,
    },
    connection::Connection,
    http::{Call, Method, Repeat, Request, StatusCode},
    service_error::ServiceError,
};

pub(in crate::cloud_controller) async fn standing(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<CfStanding, ServiceError> {
    let url = connection.address(&one(instance), &[]);
    let wire: Resource<InstanceGuid, WireStanding> = connection.read_at(call, url).await?;
    Ok(wire.entity.into())
}

pub(in crate::cloud_controller) async fn bindings(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<Vec<CfBinding>, ServiceError> {
    let below = |what| {
        let [api, kind, guid] = one(instance);
        [api, kind, guid, what]
    };
    let apps: Vec<Resource<BindingGuid, WireBinding>> =
        list(connection, call, &below("service_bindings")).await?;
    let keys: Vec<Resource<BindingGuid, WireThing>> =
        list(connection, call, &below("service_keys")).await?;
    let routes: Vec<Resource<BindingGuid, WireThing>> =
        list(connection, call, &below("routes")).await?;
    let apps = apps.into_iter().map(|found| CfBinding {
        guid: found.metadata.guid,
        kind: CfBindingKind::App(found.entity.app_guid),
        last_operation: found.entity.last_operation.and_then(WireOperation::known),
    });
    let others = |found: Vec<Resource<BindingGuid, WireThing>>, kind: CfBindingKind| {
        found.into_iter().map(move |found| CfBinding {
            guid: found.metadata.guid,
            kind: kind.clone(),
            last_operation: None,
        })
    };
    Ok(apps
        .chain(others(keys, CfBindingKind::Key))
        .chain(others(routes, CfBindingKind::Route))
        .collect())
}

pub(in crate::cloud_controller) async fn delete_binding(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
    binding: &CfBinding,
) -> Result<Deletion, ServiceError> {
    let guid = binding.guid.as_str();
    match &binding.kind {
        CfBindingKind::App(app) => {
            let segments = ["v2", "apps", app.as_str(), "service_bindings", guid];
            begin(connection, call, &segments, &[]).await
        }
        CfBindingKind::Key => begin(connection, call, &["v2", "service_keys", guid], &[]).await,
        CfBindingKind::Route => {
            let [api, kind, instance] = one(instance);
            begin(
                connection,
                call,
                &[api, kind, instance, "routes", guid],
                &[],
            )
            .await
        }
    }
}

pub(in crate::cloud_controller) async fn delete_instance(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<Deletion, ServiceError> {
    let query = [("accepts_incomplete", "true")];
    begin(connection, call, &one(instance), &query).await
}

pub(in crate::cloud_controller) async fn purge_instance(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<(), ServiceError> {
    let url = connection.address(&one(instance), &[("purge", "true")]);
    let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
    connection.send(call, request).await?;
    Ok(())
}

/// Sent once: the broker is asked while the request waits.
async fn begin(
    connection: &Connection,
    call: &Call,
    segments: &[&str],
    query: &[(&str, &str)],
) -> Result<Deletion, ServiceError> {
    let url = connection.address(segments, query);
    let request = Request::new(Method::DELETE, url, Repeat::WhileUnsent);
    let written = connection.send(call, request).await?;
    Ok(if written.status() == StatusCode::ACCEPTED {
        Deletion::UnderWay
    } else {
        Deletion::Done
    })
}

fn one(instance: &InstanceGuid) -> [&str; 3] {
    ["v2", "service_instances", instance.as_str()]
}

#[derive(Deserialize)]
struct WireBinding {
    app_guid: AppGuid,
    #[serde(default)]
    last_operation: Option<WireOperation>,
}

/// Something of which only the id is needed.
#[derive(Deserialize)]
struct WireThing {}
