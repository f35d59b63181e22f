//! `/v3/service_instances/GUID`, its bindings and shares.

use serde::Deserialize;

use super::pages::{Related, ToOne, list, values};
use crate::{
    cloud_controller::{
        AppGuid, BindingGuid, CfBinding, CfBindingKind, CfStanding, Deletion, InstanceGuid,
        SpaceGuid, deletions::WireStanding, instances::WireOperation, jobs,
    },
    connection::Connection,
    http::{Call, Method, Repeat, Request},
    service_error::ServiceError,
};

const CREDENTIAL_BINDINGS: [&str; 2] = ["v3", "service_credential_bindings"];
const ROUTE_BINDINGS: [&str; 2] = ["v3", "service_route_bindings"];

pub(in crate::cloud_controller) async fn standing(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<CfStanding, ServiceError> {
    let url = connection.address(&one(instance), &[]);
    let wire: WireStanding = connection.read_at(call, url).await?;
    Ok(wire.into())
}

pub(in crate::cloud_controller) async fn bindings(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<Vec<CfBinding>, ServiceError> {
    let guids = values([instance.as_str()]);
    let filter = ("service_instance_guids", guids.as_str());
    let credentials: Vec<WireBinding> =
        list(connection, call, &CREDENTIAL_BINDINGS, &[filter]).await?;
    let routes: Vec<WireBinding> = list(connection, call, &ROUTE_BINDINGS, &[filter]).await?;
    let (apps, keys): (Vec<_>, Vec<_>) = credentials
        .into_iter()
        .map(WireBinding::with_credentials)
        .partition(|binding| matches!(binding.kind, CfBindingKind::App(_)));
    let routes = routes.into_iter().map(WireBinding::of_route);
    Ok(apps.into_iter().chain(keys).chain(routes).collect())
}

pub(in crate::cloud_controller) async fn delete_binding(
    connection: &Connection,
    call: &Call,
    binding: &CfBinding,
) -> Result<Deletion, ServiceError> {
    let [api, kind] = match binding.kind {
        CfBindingKind::App(_) | CfBindingKind::Key => CREDENTIAL_BINDINGS,
        CfBindingKind::Route => ROUTE_BINDINGS,
    };
    begin(connection, call, &[api, kind, binding.guid.as_str()]).await
}

pub(in crate::cloud_controller) async fn delete_instance(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<Deletion, ServiceError> {
    begin(connection, call, &one(instance)).await
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

pub(in crate::cloud_controller) async fn shared_spaces(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
) -> Result<Vec<SpaceGuid>, ServiceError> {
    let url = connection.address(&shares(instance), &[]);
    let wire: WireShares = connection.read_at(call, url).await?;
    Ok(wire.data.into_iter().map(|space| space.guid).collect())
}

pub(in crate::cloud_controller) async fn unshare(
    connection: &Connection,
    call: &Call,
    instance: &InstanceGuid,
    space: &SpaceGuid,
) -> Result<(), ServiceError> {
    let [api, kind, guid, relationships, shared] = shares(instance);
    let segments = [api, kind, guid, relationships, shared, space.as_str()];
    let url = connection.address(&segments, &[]);
    let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
    connection.send(call, request).await?;
    Ok(())
}

/// Sent once: a repetition would meet the operation that the first one has begun.
async fn begin(
    connection: &Connection,
    call: &Call,
    segments: &[&str],
) -> Result<Deletion, ServiceError> {
    let url = connection.address(segments, &[]);
    let request = Request::new(Method::DELETE, url, Repeat::WhileUnsent);
    let written = connection.send(call, request).await?;
    Ok(jobs::accepted(connection, &written)?.into())
}

fn one(instance: &InstanceGuid) -> [&str; 3] {
    ["v3", "service_instances", instance.as_str()]
}

fn shares(instance: &InstanceGuid) -> [&str; 5] {
    let [api, kind, guid] = one(instance);
    [api, kind, guid, "relationships", "shared_spaces"]
}

#[derive(Deserialize)]
struct WireBinding {
    guid: BindingGuid,
    #[serde(default)]
    last_operation: Option<WireOperation>,
    relationships: WireRelationships,
}

#[derive(Deserialize)]
struct WireRelationships {
    /// Those of applications have it.
    app: Option<ToOne<AppGuid>>,
}

impl WireBinding {
    fn with_credentials(mut self) -> CfBinding {
        let kind = match self.relationships.app.take() {
            Some(app) => CfBindingKind::App(app.data.guid),
            None => CfBindingKind::Key,
        };
        self.binding(kind)
    }

    fn of_route(self) -> CfBinding {
        self.binding(CfBindingKind::Route)
    }

    fn binding(self, kind: CfBindingKind) -> CfBinding {
        CfBinding {
            guid: self.guid,
            kind,
            last_operation: self.last_operation.and_then(WireOperation::known),
        }
    }
}

#[derive(Deserialize)]
struct WireShares {
    data: Vec<Related<SpaceGuid>>,
}
