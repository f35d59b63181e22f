//! What a Cloud Controller tells about itself (`spec/contracts/platform-apis.md`, "Discovery").

use actix_web::{
    HttpResponse,
    web::{Data, ServiceConfig, get, resource},
};
use serde_json::{Map, Value, json};

use super::{Answer, caller::Caller, ok};
use crate::cloud_controller::{CloudController, refusal::Refusal};

const VERSION: &str = "3.228.0";
const RESOURCES: [&str; 11] = [
    "apps",
    "feature_flags",
    "info",
    "jobs",
    "organizations",
    "service_brokers",
    "service_credential_bindings",
    "service_instances",
    "service_offerings",
    "service_plans",
    "spaces",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/").route(get().to(root)))
        .service(resource("/v3").route(get().to(v3)))
        .service(resource("/v3/info").route(get().to(info)))
        .service(resource("/v2/info").route(get().to(v2_info)))
        .service(resource("/v2{below:.*}").route(get().to(v2_disabled)))
        .service(resource("/v3/feature_flags/{name}").route(get().to(feature_flag)));
}

async fn root(controller: Data<CloudController>) -> HttpResponse {
    let uaa = json!({"href": controller.0.settings.uaa_url});
    ok(&json!({"links": {
        "self": {"href": controller.0.settings.url},
        "cloud_controller_v3": {"href": controller.href("/v3"), "meta": {"version": VERSION}},
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
    }}))
}

async fn v3(controller: Data<CloudController>, _caller: Caller) -> HttpResponse {
    let links = RESOURCES.iter().map(|name| {
        (
            (*name).to_owned(),
            controller.link(format_args!("/v3/{name}")),
        )
    });
    let own = ("self".to_owned(), controller.link("/v3"));
    let links: Map<_, _> = [own].into_iter().chain(links).collect();
    ok(&json!({"links": links}))
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
        "links": {"self": controller.link("/v3/info"), "support": {"href": ""}},
    }))
}

/// v2 is off, as it is by default since 2025; this one path still answers.
async fn v2_info(controller: Data<CloudController>) -> HttpResponse {
    let uaa = &controller.0.settings.uaa_url;
    ok(&json!({
        "name": "odb-sandbox", "build": "", "support": "CF API v2 is disabled", "version": 0,
        "description": "A foundation on one machine",
        "authorization_endpoint": uaa, "token_endpoint": uaa,
        "min_cli_version": null, "min_recommended_cli_version": null,
        "app_ssh_endpoint": null, "app_ssh_host_key_fingerprint": null, "app_ssh_oauth_client": null,
        "doppler_logging_endpoint": null, "api_version": "", "osbapi_version": "2.15",
    }))
}

async fn v2_disabled() -> HttpResponse {
    HttpResponse::NotFound()
        .content_type("text/html")
        .body("V2 endpoints disabled")
}

async fn feature_flag(
    controller: Data<CloudController>,
    _caller: Caller,
    name: actix_web::web::Path<String>,
) -> Answer {
    let known = ["service_instance_creation", "service_instance_sharing"];
    if !known.contains(&name.as_str()) {
        return Err(Refusal::no_such("Feature flag"));
    }
    Ok(ok(&json!({
        "name": *name,
        "enabled": name.as_str() == "service_instance_creation",
        "updated_at": Value::Null,
        "custom_error_message": Value::Null,
        "links": {"self": controller.link(format_args!("/v3/feature_flags/{name}"))},
    })))
}
