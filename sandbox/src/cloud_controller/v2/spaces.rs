//! Spaces of v2.

use actix_web::web::{Data, Path, ServiceConfig, get, resource};
use serde_json::json;

use super::{
    V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, changed},
    rejection::V2Rejection,
};
use crate::cloud_controller::{
    CloudController,
    model::{Space, SpaceGuid, Tables},
};

pub(super) const FIELDS: [&str; 2] = ["name", "organization_guid"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/spaces/{guid}").route(get().to(one)));
}

async fn one(controller: Data<CloudController>, caller: V2Caller, guid: Path<String>) -> V2Answer {
    controller
        .0
        .state
        .read(|tables| Ok(space(visible(tables, &caller, &guid)?).answer()))
}

fn visible<'a>(
    tables: &'a Tables,
    caller: &V2Caller,
    guid: &str,
) -> Result<&'a Space, V2Rejection> {
    tables
        .spaces
        .get(&SpaceGuid::given(guid))
        .filter(|row| caller.sees_space(tables, &row.guid))
        .ok_or_else(|| V2Rejection::no_such_space(guid))
}

pub(super) fn row(row: &Space) -> Row {
    Row {
        resource: space(row),
        fields: vec![
            ("name", vec![row.name.clone()]),
            ("organization_guid", vec![row.organization.to_string()]),
        ],
    }
}

fn space(space: &Space) -> Resource {
    let url = format!("/v2/spaces/{}", space.guid);
    let below = |name: &str| format!("{url}/{name}");
    let entity = json!({
        "name": space.name,
        "organization_guid": space.organization,
        "space_quota_definition_guid": null,
        "isolation_segment_guid": null,
        "allow_ssh": true,
        "organization_url": format!("/v2/organizations/{}", space.organization),
        "developers_url": below("developers"),
        "managers_url": below("managers"),
        "auditors_url": below("auditors"),
        "apps_url": below("apps"),
        "routes_url": below("routes"),
        "domains_url": below("domains"),
        "service_instances_url": below("service_instances"),
        "app_events_url": below("app_events"),
        "events_url": below("events"),
        "security_groups_url": below("security_groups"),
        "staging_security_groups_url": below("staging_security_groups"),
    });
    Resource {
        guid: space.guid.to_string(),
        created_at: space.created_at,
        updated_at: changed(space.created_at, space.updated_at),
        entity,
        url,
    }
}
