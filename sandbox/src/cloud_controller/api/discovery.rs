//! The discovery routes of a Cloud Controller (`spec/contracts/platform-apis.md`, "Discovery").
//!
//! Jobs. Every logged-in user may read them.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Data, ServiceConfig, get},
};
use serde_json::{Map, Value, json};

use super::{
    Response,
    call::{Call, View},
    ok,
    resource::Resource,
};
use crate::cloud_controller::{
    CloudController,
    model::{BindingKind, Job, JobOperation, JobResource, Tables},
    v2::V2_VERSION,
};

const RESOURCES: [&str; 15] = [
    "apps",
    "domains",
    "feature_flags",
    "info",
    "jobs",
    "organizations",
    "roles",
    "routes",
    "service_brokers",
    "service_credential_bindings",
    "service_instances",
    "service_offerings",
    "service_plans",
    "service_route_bindings",
    "spaces",
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

async fn v3(request: HttpRequest) -> Response {
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

impl Resource for Job {
    type Row = Self;
    const KIND: &'static str = "Job";
    const PATH: &'static str = "/v3/jobs";

    fn sees(_view: &View<'_>, _row: &Self) -> bool {
        true
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let warnings = row.warnings.iter();
        let warnings: Vec<_> = warnings.map(|warning| json!({"detail": warning})).collect();
        let mut links = json!({});
        if let Some((name, path)) = resource_link(view.tables, row) {
            links[name] = view.link(path);
        }
        json!({
            "operation": row.operation,
            "state": row.state,
            "errors": row.errors,
            "warnings": warnings,
            "links": links,
        })
    }
}

/// The second link, which is there as long as the resource is. Its name depends on what the job does.
fn resource_link(tables: &Tables, job: &Job) -> Option<(&'static str, String)> {
    let (is_there, name, kind, guid) = match &job.resource {
        JobResource::Broker(guid) => {
            let name = match job.operation {
                JobOperation::DeleteBroker => "service_broker",
                _ => "service_brokers",
            };
            (
                tables.brokers.contains_key(guid),
                name,
                "service_brokers",
                guid.as_str(),
            )
        }
        JobResource::Instance(guid) => {
            let name = match job.operation {
                JobOperation::DeleteInstance => "service_instance",
                _ => "service_instances",
            };
            let is_there = tables.instances.contains_key(guid);
            (is_there, name, "service_instances", guid.as_str())
        }
        JobResource::Binding(guid) => {
            let (name, kind) = match tables.bindings.get(guid)?.kind {
                BindingKind::Route(_) => ("service_route_binding", "service_route_bindings"),
                BindingKind::App(_) | BindingKind::Key => {
                    ("service_credential_binding", "service_credential_bindings")
                }
            };
            (true, name, kind, guid.as_str())
        }
        JobResource::Gone => return None,
    };
    is_there.then(|| (name, format!("/v3/{kind}/{guid}")))
}
