//! The Director's HTTP API.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`caller`] | who calls, and what that caller may do |
//! | [`answer`] | answers with the headers that a real Director sends |
//! | [`rejection`] | every way to refuse a call, in the Director's numbers and words |
//! | [`query`] | parameters, as Rack takes them apart |
//! | [`info`], [`deployments`], [`certificate_expiry`], [`diff`], [`job_states`], [`instances`], [`errands`], [`tasks`], [`output`], [`configs`], [`config_diff`], [`legacy_configs`], [`deployment_configs`], [`disks`], [`links`], [`locks`], [`events`], [`releases`] | the calls |

mod answer;
mod caller;
mod certificate_expiry;
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
mod output;
mod query;
mod rejection;
mod releases;
mod submission;
mod tasks;

use actix_web::{
    HttpRequest, HttpResponse,
    guard::{Guard, GuardContext},
    http::header::CONTENT_TYPE,
    web::{self, ServiceConfig},
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

/// Mounts every call.
pub(super) fn mount(director: &Director, cfg: &mut ServiceConfig) {
    cfg.app_data(web::Data::new(director.clone()));
    resource(cfg, "/info", |r| r.route(web::get().to(info::info)));
    mount_deployments(cfg);
    resource(cfg, "/tasks", |r| r.route(web::get().to(tasks::list)));
    resource(cfg, "/tasks/cancel", |r| {
        r.route(
            web::post()
                .guard(Body("application/json"))
                .to(tasks::cancel_all),
        )
    });
    resource(cfg, "/tasks/{id}", |r| r.route(web::get().to(tasks::show)));
    resource(cfg, "/tasks/{id}/output", |r| {
        r.route(web::get().to(output::output))
    });
    resource(cfg, "/task/{id}", |r| {
        r.route(web::delete().to(tasks::cancel))
    });
    resource(cfg, "/configs", |r| {
        r.route(web::get().to(configs::list))
            .route(
                web::post()
                    .guard(Body("application/json"))
                    .to(configs::post),
            )
            .route(web::delete().to(configs::delete))
    });
    resource(cfg, "/configs/diff", |r| {
        r.route(
            web::post()
                .guard(Body("application/json"))
                .to(config_diff::diff),
        )
    });
    resource(cfg, "/configs/{id}", |r| {
        r.route(web::get().to(configs::show))
            .route(web::delete().to(configs::delete_version))
    });
    for kind in LegacyKind::ALL {
        legacy_configs::mount(cfg, kind);
    }
    resource(cfg, "/link_providers", |r| {
        r.route(web::get().to(links::providers))
    });
    resource(cfg, "/link_consumers", |r| {
        r.route(web::get().to(links::consumers))
    });
    resource(cfg, "/links", |r| {
        r.route(web::get().to(links::list)).route(
            web::post()
                .guard(Body("application/json"))
                .to(links::create),
        )
    });
    resource(cfg, "/links/{id}", |r| {
        r.route(web::delete().to(links::delete))
    });
    resource(cfg, "/link_address", |r| {
        r.route(web::get().to(links::address))
    });
    resource(cfg, "/disks", |r| r.route(web::get().to(disks::list)));
    resource(cfg, "/deployment_configs", |r| {
        r.route(web::get().to(deployment_configs::list))
    });
    resource(cfg, "/events", |r| r.route(web::get().to(events::list)));
    resource(cfg, "/events/{id}", |r| {
        r.route(web::get().to(events::show))
    });
    resource(cfg, "/locks", |r| r.route(web::get().to(locks::list)));
    resource(cfg, "/releases", |r| {
        r.route(web::get().to(releases::releases))
    });
    resource(cfg, "/releases/{name}", |r| {
        r.route(web::get().to(releases::release))
    });
    resource(cfg, "/stemcells", |r| {
        r.route(web::get().to(releases::stemcells))
    });
    cfg.default_service(web::to(unknown));
}

/// Mounts what is below `/deployments`.
fn mount_deployments(cfg: &mut ServiceConfig) {
    resource(cfg, "/deployments", |r| {
        r.route(web::get().to(deployments::list))
            .route(web::post().guard(Body("text/yaml")).to(deployments::deploy))
    });
    resource(cfg, "/deployments/{name}", |r| {
        r.route(web::get().to(deployments::show))
            .route(web::delete().to(deployments::delete))
    });
    resource(cfg, "/deployments/{name}/diff", |r| {
        r.route(web::post().guard(Body("text/yaml")).to(diff::diff))
    });
    resource(cfg, "/deployments/{name}/jobs/{group}", |r| {
        let change = web::put().guard(Body("text/yaml"));
        r.route(change.to(job_states::change_group))
    });
    resource(cfg, "/deployments/{name}/jobs/{group}/{instance}", |r| {
        let change = web::put().guard(Body("text/yaml"));
        r.route(change.to(job_states::change_instance))
    });
    let ignore = "/deployments/{name}/instance_groups/{group}/{instance}/ignore";
    resource(cfg, ignore, |r| {
        let change = web::put().guard(Body("application/json"));
        r.route(change.to(job_states::ignore))
    });
    resource(cfg, "/deployments/{name}/vms", |r| {
        r.route(web::get().to(instances::vms))
    });
    resource(cfg, "/deployments/{name}/instances", |r| {
        r.route(web::get().to(instances::instances))
    });
    resource(cfg, "/deployments/{name}/variables", |r| {
        r.route(web::get().to(deployments::variables))
    });
    resource(cfg, "/deployments/{name}/certificate_expiry", |r| {
        r.route(web::get().to(certificate_expiry::list))
    });
    resource(cfg, "/deployments/{name}/errands", |r| {
        r.route(web::get().to(errands::list))
    });
    resource(cfg, "/deployments/{name}/errands/{errand}/runs", |r| {
        r.route(web::post().to(errands::run))
    });
}

/// Mounts one path. Methods and bodies that it does not know are an unknown endpoint.
fn resource(
    cfg: &mut ServiceConfig,
    path: &str,
    routes: impl FnOnce(actix_web::Resource) -> actix_web::Resource,
) {
    cfg.service(routes(web::resource(path)).default_service(web::to(unknown)));
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
