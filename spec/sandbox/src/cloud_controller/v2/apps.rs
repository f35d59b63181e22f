//! Apps of v2, to look at.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::json;

use super::{
    V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, V2Query, changed},
    refusal::V2Refusal,
};
use crate::cloud_controller::{
    CloudController,
    model::{App, AppGuid},
};

const FIELDS: [&str; 2] = ["name", "space_guid"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/apps").route(get().to(list)))
        .service(resource("/apps/{guid}").route(get().to(one)));
}

async fn list(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
) -> V2Answer {
    let query = V2Query::of(&request, &FIELDS)?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let rows = tables
            .apps
            .values()
            .filter(|row| permissions.sees_space(tables, &row.space))
            .map(|row| Row {
                resource: app(row),
                fields: vec![
                    ("name", vec![row.name.clone()]),
                    ("space_guid", vec![row.space.to_string()]),
                ],
            });
        Ok(query.answer(rows))
    })
}

async fn one(controller: Data<CloudController>, caller: V2Caller, guid: Path<String>) -> V2Answer {
    controller.0.state.read(|tables| {
        let row = tables
            .apps
            .get(&AppGuid::given(&guid))
            .filter(|row| caller.sees_space(tables, &row.space));
        Ok(app(row.ok_or_else(|| V2Refusal::no_such_app(&guid))?).answer())
    })
}

fn app(app: &App) -> Resource {
    let url = format!("/v2/apps/{}", app.guid);
    let below = |name: &str| format!("{url}/{name}");
    let entity = json!({
        "name": app.name,
        "production": false,
        "space_guid": app.space,
        "stack_guid": null,
        "buildpack": null,
        "detected_buildpack": null,
        "environment_json": {},
        "memory": 1024,
        "instances": 1,
        "disk_quota": 1024,
        "state": "STOPPED",
        "command": null,
        "diego": true,
        "space_url": format!("/v2/spaces/{}", app.space),
        "routes_url": below("routes"),
        "events_url": below("events"),
        "service_bindings_url": below("service_bindings"),
        "route_mappings_url": below("route_mappings"),
    });
    Resource {
        guid: app.guid.to_string(),
        created_at: app.created_at,
        updated_at: changed(app.created_at, app.updated_at),
        entity,
        url,
    }
}
