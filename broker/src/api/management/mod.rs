//! The management API for the operator's errands (`spec/contracts/broker-behaviour.md` §6).

mod broker;
mod instance;
mod lists;
mod runs;
mod streamed;

use actix_web::{dev::HttpServiceFactory, web};

use super::edge::{no_such_path, resource};

pub(crate) use broker::examined;

/// The paths that the Go broker does not have. Every error below them has a code: errands recognise by it that this
/// broker has answered, and not a Go broker or a router.
pub(super) const OWN: &str = "/mgmt/v1/";

pub(super) fn scope() -> impl HttpServiceFactory {
    let (get, post, patch, delete) = (web::get, web::post, web::patch, web::delete);
    let of_go = [
        resource("/service_instances", "GET", [get().to(lists::go_instances)]),
        resource(
            "/service_instances/{instance}",
            "PATCH",
            [patch().to(instance::roll_out)],
        ),
        resource("/orphan_deployments", "GET", [get().to(lists::go_orphans)]),
        resource("/metrics", "GET", [get().to(lists::go_metrics)]),
    ];
    let own = [
        resource("/v1/service_instances", "GET", [get().to(lists::instances)]),
        resource(
            "/v1/service_instances/{instance}",
            "GET",
            [get().to(lists::instance)],
        ),
        resource(
            "/v1/service_instances/{instance}/operation",
            "GET, DELETE",
            [get().to(instance::operation), delete().to(instance::cancel)],
        ),
        resource(
            "/v1/service_instances/{instance}/dry_run",
            "POST",
            [post().to(instance::dry_run)],
        ),
        resource(
            "/v1/service_instances/{instance}/health",
            "GET",
            [get().to(instance::health)],
        ),
        resource("/v1/orphan_deployments", "GET", [get().to(lists::orphans)]),
        resource(
            "/v1/orphan_deployments/{name}",
            "DELETE",
            [delete().to(instance::delete_orphan)],
        ),
        resource("/v1/runs", "POST", [post().to(runs::begin)]),
        resource("/v1/runs/latest", "GET", [get().to(runs::latest)]),
        resource("/v1/runs/{run}", "PATCH", [patch().to(runs::end)]),
        resource("/v1/runs/{run}/lease", "POST", [post().to(runs::lease)]),
        resource("/v1/runs/{run}/stop", "POST", [post().to(runs::stop)]),
        resource("/v1/broker", "GET", [get().to(broker::version)]),
        resource("/v1/doctor", "GET", [get().to(broker::doctor)]),
        resource("/v1/director", "GET", [get().to(instance::director)]),
    ];
    let routes = of_go.into_iter().chain(own);
    routes
        .fold(web::scope("/mgmt"), actix_web::Scope::service)
        .default_service(web::to(no_such_path))
}
