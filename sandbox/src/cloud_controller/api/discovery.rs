//! The discovery routes of a Cloud Controller (`spec/contracts/platform-apis.md`, "Discovery").

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Data, ServiceConfig, get},
};
use serde_json::{Map, json};

use super::{Answer, call::Call, ok};
use crate::cloud_controller::{CloudController, v2::V2_VERSION};

const RESOURCES: [&str; 20] = [
    "apps",
    "deployments",
    "domains",
    "feature_flags",
    "info",
    "isolation_segments",
    "jobs",
    "organization_quotas",
    "organizations",
    "processes",
    "roles",
    "routes",
    "service_brokers",
    "service_credential_bindings",
    "service_instances",
    "service_offerings",
    "service_plans",
    "service_route_bindings",
    "spaces",
    "users",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/", get().to(root))
        .route("/v3", get().to(v3))
        .route("/v3/info", get().to(info));
}

async fn root(controller: Data<CloudController>) -> HttpResponse {
    let generation = controller.0.settings.generation;
    let uaa = json!({"href": controller.0.settings.uaa_url});
    let mut body = json!({"links": {
        "self": {"href": controller.0.settings.url},
        "cloud_controller_v3": {"href": controller.href("/v3"), "meta": {"version": generation.v3_version()}},
        "network_policy_v0": null,
        "network_policy_v1": null,
        "login": uaa,
        "uaa": uaa,
        "credhub": null,
        "routing": null,
        "logging": null,
        "log_cache": null,
        "log_stream": null,
        "app_ssh": null,
    }});
    if generation.reports_v2_version() {
        body["links"]["cloud_controller_v2"] =
            json!({"href": controller.href("/v2"), "meta": {"version": V2_VERSION}});
    }
    ok(&body)
}

async fn v3(request: HttpRequest) -> Answer {
    Call::of(&request)?.read(|view| {
        let own = [("self".to_owned(), view.link("/v3"))];
        let links = RESOURCES.iter().map(|name| {
            let path = format!("/v3/{name}");
            ((*name).to_owned(), view.link(path))
        });
        let links: Map<_, _> = own.into_iter().chain(links).collect();
        Ok(ok(&json!({"links": links})))
    })
}

async fn info(controller: Data<CloudController>) -> HttpResponse {
    ok(&json!({
        "build": "",
        "cli_version": {"minimum": "", "recommended": ""},
        "custom": {},
        "description": "A foundation on one machine",
        "name": "odb-sandbox",
        "version": 0,
        "osbapi_version": "2.15",
        "rate_limits": {"enabled": false, "general_limit": 0, "reset_interval_in_minutes": 0},
        "links": {"self": {"href": controller.href("/v3/info")}, "support": {"href": ""}},
    }))
}
