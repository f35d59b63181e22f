//! Domains and routes: made and listed, so that there is something to bind route services to. No request takes them.

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, ServiceConfig, get, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    message::{Relation, message},
    ok,
    present::{created, metadata, relation, stamp},
    query::Query,
    spaces::no_such_space,
};
use crate::cloud_controller::{
    CloudController,
    model::{BindingKey, Metadata, Route, RouteGuid, SHARED_DOMAIN, SpaceGuid, Tables},
    rejection::Rejection,
};

/// The guid of the one domain, the same everywhere.
const DOMAIN_GUID: &str = "3a5d3d89-3f89-4f05-8188-8a2b298c79d5";
const DOMAIN_SINCE: &str = "2025-01-01T00:00:00Z";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/domains").route(get().to(all_domains)))
        .service(
            resource("/v3/routes")
                .route(get().to(list))
                .route(post().to(create)),
        );
}

async fn all_domains(
    controller: Data<CloudController>,
    _caller: Caller,
    request: HttpRequest,
) -> Answer {
    let query = Query::of(&request, &["organization_guids"])?;
    Ok(ok(&controller.domains(&query)))
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::unnamed(
        &request,
        &[
            "app_guids",
            "domain_guids",
            "hosts",
            "organization_guids",
            "paths",
            "service_instance_guids",
            "space_guids",
        ],
    )?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &&Route| {
            let organization = tables
                .spaces
                .get(&row.space)
                .map_or("", |space| space.organization.as_str());
            query.admits_row(row)
                && query.admits("space_guids", row.space.as_str())
                && query.admits("organization_guids", organization)
                && query.admits("domain_guids", DOMAIN_GUID)
                && query.admits("hosts", &row.host)
                && query.admits("paths", &row.path)
                && query.admits("app_guids", "")
                && query.admits_any("service_instance_guids", bound(tables, row))
                && permissions.sees_space(tables, &row.space)
        };
        let page = query.page(&controller, tables.routes.values().filter(seen).collect());
        Ok(ok(&page.presented(|route| controller.route(route))))
    })
}

/// The instances that a route is bound to.
fn bound<'a>(tables: &'a Tables, route: &Route) -> impl Iterator<Item = &'a str> {
    let key = BindingKey::Route(route.guid.clone());
    tables
        .bindings
        .with(key)
        .map(|binding| binding.instance.as_str())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    host: String,
    #[serde(default)]
    path: String,
    relationships: Relationships,
}

#[derive(Deserialize)]
struct Relationships {
    space: Relation,
    domain: Relation,
}

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    let space = SpaceGuid::given(&wanted.relationships.space.data.guid);
    controller.0.state.change(|tables| {
        let permissions = caller.permissions(tables);
        if !tables.spaces.contains_key(&space) || !permissions.sees_space(tables, &space) {
            return Err(no_such_space());
        }
        permissions.must_write(tables, &space)?;
        if wanted.relationships.domain.data.guid != DOMAIN_GUID {
            return Err(Rejection::unprocessable(
                "Invalid domain. Ensure that the domain exists and you have access to it.",
            ));
        }
        let same = |route: &Route| route.host == wanted.host && route.path == wanted.path;
        if tables.routes.values().any(same) {
            return Err(Rejection::unprocessable(format!(
                "Route already exists with host '{}' for domain '{SHARED_DOMAIN}'.",
                wanted.host
            )));
        }
        let route = Route {
            guid: RouteGuid::random(),
            space,
            host: wanted.host,
            path: wanted.path,
            created_at: Timestamp::now(),
        };
        let body = controller.route(&route);
        tables.routes.insert(route.guid.clone(), route);
        Ok(created(&body))
    })
}

/// The shared domain.
pub(super) fn domain(controller: &CloudController) -> Value {
    let path = format!("/v3/domains/{DOMAIN_GUID}");
    json!({
        "guid": DOMAIN_GUID,
        "created_at": DOMAIN_SINCE,
        "updated_at": DOMAIN_SINCE,
        "name": SHARED_DOMAIN,
        "internal": false,
        "router_group": null,
        "supported_protocols": ["http"],
        "relationships": {"organization": {"data": null}, "shared_organizations": {"data": []}},
        "metadata": metadata(&Metadata::default()),
        "links": {
            "self": controller.link(&path),
            "route_reservations": controller.link(format_args!("{path}/route_reservations")),
        },
    })
}

impl CloudController {
    /// The list of all domains, of which there is one.
    pub(super) fn domains(&self, query: &Query) -> Value {
        let admitted = query.admits("names", SHARED_DOMAIN) && query.admits("guids", DOMAIN_GUID);
        let found: Vec<_> = admitted.then(|| domain(self)).into_iter().collect();
        let first = json!({"href": self.href(query.location(1))});
        json!({
            "pagination": {
                "total_results": found.len(), "total_pages": 1,
                "first": first, "last": first, "next": null, "previous": null,
            },
            "resources": found,
        })
    }

    pub(super) fn route(&self, route: &Route) -> Value {
        let path = format!("/v3/routes/{}", route.guid);
        json!({
            "guid": route.guid,
            "protocol": "http",
            "port": null,
            "created_at": stamp(route.created_at),
            "updated_at": stamp(route.created_at),
            "host": route.host,
            "path": route.path,
            "url": format!("{}.{SHARED_DOMAIN}{}", route.host, route.path),
            "destinations": [],
            "relationships": {"space": relation(&route.space), "domain": relation(DOMAIN_GUID)},
            "metadata": metadata(&Metadata::default()),
            "links": {
                "self": self.link(&path),
                "space": self.link(format_args!("/v3/spaces/{}", route.space)),
                "domain": self.link(format_args!("/v3/domains/{DOMAIN_GUID}")),
                "destinations": self.link(format_args!("{path}/destinations")),
            },
        })
    }
}
