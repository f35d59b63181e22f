//! Domains and routes: made and listed, so that there is something to bind route services to. No request takes them.

use actix_web::web::{ServiceConfig, get, post};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    message::Relation,
    query::Query,
    resource::{Listed, Resource, list, no_metadata, relation},
    spaces::ordered_space,
};
use crate::cloud_controller::{
    model::{BindingKey, Route, RouteGuid, SHARED_DOMAIN, Tables},
    rejection::Rejection,
};

const DOMAIN_GUID: &str = "3a5d3d89-3f89-4f05-8188-8a2b298c79d5";
/// 2025-01-01T00:00:00Z
const DOMAIN_SINCE: Timestamp = Timestamp::constant(1_735_689_600, 0);

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/v3/domains", get().to(list::<Domain>))
        .route("/v3/routes", get().to(list::<Route>))
        .route("/v3/routes", post().to(create));
}

/// The one domain. All organizations share it.
pub(super) struct Domain;

impl Listed for Domain {
    fn all(_tables: &Tables) -> Vec<&Self> {
        vec![&Self]
    }

    fn guid(&self) -> &str {
        DOMAIN_GUID
    }

    fn name(&self) -> &str {
        SHARED_DOMAIN
    }

    fn created_at(&self) -> Timestamp {
        DOMAIN_SINCE
    }

    fn updated_at(&self) -> Timestamp {
        DOMAIN_SINCE
    }
}

impl Resource for Domain {
    type Row = Self;
    const KIND: &'static str = "Domain";
    const PATH: &'static str = "/v3/domains";
    const FILTERS: &'static [&'static str] = &["organization_guids"];

    fn sees(_view: &View<'_>, _row: &Self) -> bool {
        true
    }

    fn body(view: &View<'_>, _row: &Self) -> Value {
        let reservations = format!("/v3/domains/{DOMAIN_GUID}/route_reservations");
        json!({
            "name": SHARED_DOMAIN,
            "internal": false,
            "router_group": null,
            "supported_protocols": ["http"],
            "relationships": {"organization": {"data": null}, "shared_organizations": {"data": []}},
            "metadata": no_metadata(),
            "links": {"route_reservations": view.link(reservations)},
        })
    }
}

impl Resource for Route {
    type Row = Self;
    const KIND: &'static str = "Route";
    const PATH: &'static str = "/v3/routes";
    const NAMED: bool = false;
    const FILTERS: &'static [&'static str] = &[
        "app_guids",
        "domain_guids",
        "hosts",
        "organization_guids",
        "paths",
        "service_instance_guids",
        "space_guids",
    ];

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_space(view.tables, &row.space)
    }

    fn admits(view: &View<'_>, query: &Query, row: &Self) -> bool {
        let bindings = view
            .tables
            .bindings
            .with(BindingKey::Route(row.guid.clone()));
        let instances = bindings.map(|binding| binding.instance.as_str());
        query.admits("space_guids", row.space.as_str())
            && query.admits("organization_guids", view.organization(&row.space))
            && query.admits("domain_guids", DOMAIN_GUID)
            && query.admits("hosts", &row.host)
            && query.admits("paths", &row.path)
            && query.admits("app_guids", "")
            && query.admits_any("service_instance_guids", instances)
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let destinations = format!("/v3/routes/{}/destinations", row.guid);
        json!({
            "protocol": "http",
            "port": null,
            "host": row.host,
            "path": row.path,
            "url": format!("{}.{SHARED_DOMAIN}{}", row.host, row.path),
            "destinations": [],
            "relationships": {"space": relation(&row.space), "domain": relation(DOMAIN_GUID)},
            "metadata": no_metadata(),
            "links": {
                "space": view.link(format_args!("/v3/spaces/{}", row.space)),
                "domain": view.link(format_args!("/v3/domains/{DOMAIN_GUID}")),
                "destinations": view.link(destinations),
            },
        })
    }
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

async fn create(call: Call) -> Response {
    let wanted: Create = call.message()?;
    call.change(|tables| {
        let view = call.view(tables);
        let space = ordered_space(&view, &wanted.relationships.space.data.guid)?;
        view.permissions.must_write(tables, &space)?;
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
        let guid = route.guid.clone();
        tables.routes.insert(guid.clone(), route);
        call.created::<Route>(tables, guid.as_str())
    })
}
