//! Route bindings of v2, which have no resource of their own: the routes of a service instance.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, delete, get, resource},
};
use serde_json::json;

use super::{
    V2Answer,
    caller::V2Caller,
    listing::{Resource, Row, V2Query},
    rejection::V2Rejection,
    service_bindings::removed,
    service_instance_changes::accepts_incomplete,
    service_instances::visible,
};
use crate::cloud_controller::{
    CloudController,
    model::{Binding, BindingKind, InstanceGuid, Route, RouteGuid, Tables},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/service_instances/{guid}/routes").route(get().to(routes_of)))
        .service(resource("/service_instances/{guid}/routes/{route}").route(delete().to(unbind)));
}

async fn routes_of(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> V2Answer {
    let query = V2Query::of(&request, &["host", "path"])?;
    controller.0.state.read(|tables| {
        let instance = visible(tables, &caller, &guid)?;
        let rows = tables.bindings_of(&instance.guid).filter_map(|binding| {
            let BindingKind::Route(route) = &binding.kind else {
                return None;
            };
            Some(row(tables.routes.get(route)?, &instance.guid))
        });
        Ok(query.answer(rows))
    })
}

async fn unbind(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
    path: Path<(String, String)>,
) -> V2Answer {
    let (instance, route) = path.into_inner();
    let binding = controller.0.state.read(|tables| {
        visible(tables, &caller, &instance)?;
        let binding = of_route(tables, &instance, &route);
        let binding = binding.ok_or_else(|| V2Rejection::not_bound(&route, &instance))?;
        Ok::<_, V2Rejection>(binding.guid.to_string())
    })?;
    let accepts_incomplete = accepts_incomplete(&request);
    removed(
        &controller,
        &caller,
        &binding,
        accepts_incomplete,
        |tables, _| {
            of_route(tables, &instance, &route)
                .ok_or_else(|| V2Rejection::not_bound(&route, &instance))
        },
    )
    .await
}

fn of_route<'a>(tables: &'a Tables, instance: &str, route: &str) -> Option<&'a Binding> {
    let wanted = BindingKind::Route(RouteGuid::given(route));
    tables
        .bindings_of(&InstanceGuid::given(instance))
        .find(|binding| binding.kind == wanted)
}

fn row(route: &Route, instance: &InstanceGuid) -> Row {
    let url = format!("/v2/routes/{}", route.guid);
    let entity = json!({
        "host": route.host,
        "path": route.path,
        "domain_guid": null,
        "space_guid": route.space,
        "service_instance_guid": instance,
        "port": null,
        "space_url": format!("/v2/spaces/{}", route.space),
        "service_instance_url": format!("/v2/service_instances/{instance}"),
        "apps_url": format!("{url}/apps"),
        "route_mappings_url": format!("{url}/route_mappings"),
    });
    Row {
        resource: Resource {
            guid: route.guid.to_string(),
            created_at: route.created_at,
            updated_at: None,
            entity,
            url,
        },
        fields: vec![
            ("host", vec![route.host.clone()]),
            ("path", vec![route.path.clone()]),
        ],
    }
}
