//! The Director's HTTP API.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`caller`] | who calls, and what that caller may do |
//! | [`answer`] | answers with the headers that a real Director sends |
//! | [`rejection`] | every way to refuse a call, in the Director's numbers and words |
//! | [`answer`] | parameters, as Rack takes them apart |
//! | [`info`], [`deployments`], [`diff`], [`job_states`], [`instances`], [`errands`], [`tasks`], [`configs`], [`config_diff`], [`legacy_configs`], [`deployment_configs`], [`disks`], [`links`], [`locks`], [`events`], [`releases`] | the calls |

mod answer;
mod caller;
mod config_diff;
mod configs;
mod deployment_configs;
mod deployments;
mod diff;
mod disks;
mod errands;
mod events;
mod info;
mod instances;
mod job_states;
mod legacy_configs;
mod links;
mod locks;
mod rejection;
mod releases;
mod submission;
mod tasks;

use actix_web::{
    HttpRequest, HttpResponse,
    guard::{Guard, GuardContext},
    http::header::CONTENT_TYPE,
    web::{self, ServiceConfig, delete, get, post, put},
};

use self::{caller::Caller, legacy_configs::LegacyKind, rejection::Rejection};
use super::Director;

/// First parts of paths under which a controller of the real Director answers.
const PREFIXES: [&str; 21] = [
    "info",
    "tasks",
    "task",
    "deployments",
    "configs",
    "cloud_configs",
    "runtime_configs",
    "cpi_configs",
    "locks",
    "releases",
    "stemcells",
    "events",
    "links",
    "link_providers",
    "link_consumers",
    "link_address",
    "disks",
    "deployment_configs",
    "packages",
    "cleanup",
    "backups",
];

/// Mounts all routes. Methods and bodies that a path does not know are an unknown endpoint.
pub(super) fn mount(director: &Director, cfg: &mut ServiceConfig) {
    cfg.app_data(web::Data::new(director.clone()));
    mount_deployments(cfg);
    for kind in LegacyKind::ALL {
        legacy_configs::mount(cfg, kind);
    }
    let json = || post().guard(Body("application/json"));
    cfg.route("/info", get().to(info::info))
        .route("/tasks", get().to(tasks::list))
        .route("/tasks/cancel", json().to(tasks::cancel_all))
        .route("/tasks/{id}", get().to(tasks::show))
        .route("/tasks/{id}/output", get().to(tasks::output))
        .route("/task/{id}", delete().to(tasks::cancel))
        .route("/configs", get().to(configs::list))
        .route("/configs", json().to(configs::post))
        .route("/configs", delete().to(configs::delete))
        .route("/configs/diff", json().to(config_diff::diff))
        .route("/configs/{id}", get().to(configs::show))
        .route("/configs/{id}", delete().to(configs::delete_version))
        .route("/link_providers", get().to(links::providers))
        .route("/link_consumers", get().to(links::consumers))
        .route("/links", get().to(links::list))
        .route("/links", json().to(links::create))
        .route("/links/{id}", delete().to(links::delete))
        .route("/link_address", get().to(links::address))
        .route("/disks", get().to(disks::list))
        .route("/deployment_configs", get().to(deployment_configs::list))
        .route("/events", get().to(events::list))
        .route("/events/{id}", get().to(events::show))
        .route("/locks", get().to(locks::list))
        .route("/releases", get().to(releases::releases))
        .route("/releases/{name}", get().to(releases::release))
        .route("/stemcells", get().to(releases::stemcells))
        .default_service(web::to(unknown));
}

fn mount_deployments(cfg: &mut ServiceConfig) {
    let one = "/deployments/{name}";
    let below = |path: &str| format!("{one}/{path}");
    let change = || put().guard(Body("text/yaml"));
    let ignore = put().guard(Body("application/json"));
    let manifest = || post().guard(Body("text/yaml"));
    cfg.route("/deployments", get().to(deployments::list))
        .route("/deployments", manifest().to(deployments::deploy))
        .route(one, get().to(deployments::show))
        .route(one, delete().to(deployments::delete))
        .route(&below("diff"), manifest().to(diff::diff))
        .route(
            &below("jobs/{group}"),
            change().to(job_states::change_group),
        )
        .route(
            &below("jobs/{group}/{instance}"),
            change().to(job_states::change_instance),
        )
        .route(
            &below("instance_groups/{group}/{instance}/ignore"),
            ignore.to(job_states::ignore),
        )
        .route(&below("vms"), get().to(instances::vms))
        .route(&below("instances"), get().to(instances::instances))
        .route(&below("variables"), get().to(deployments::variables))
        .route(&below("certificate_expiry"), get().to(info::list))
        .route(&below("errands"), get().to(errands::list))
        .route(&below("errands/{errand}/runs"), post().to(errands::run));
}

/// An unknown path or method. Under a known prefix the caller must authenticate first.
async fn unknown(request: HttpRequest) -> Result<HttpResponse, Rejection> {
    let path = request.path().to_owned();
    let first = path
        .trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default();
    if !PREFIXES.contains(&first) {
        return Err(Rejection::NoRoute { path });
    }
    Caller::of(&request)?;
    Err(Rejection::NoEndpoint { path })
}

/// The media type of a request is part of its route. Parameters such as a charset do not matter.
struct Body(&'static str);

impl Guard for Body {
    fn check(&self, context: &GuardContext<'_>) -> bool {
        let header = context.head().headers().get(CONTENT_TYPE);
        let media_type = header.and_then(|value| value.to_str().ok()?.split(';').next());
        media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(self.0))
    }
}
