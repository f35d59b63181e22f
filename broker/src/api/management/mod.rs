//! The management API for the operator's errands (`spec/contracts/broker-behaviour.md` §6).

mod go_lists;
mod instance;
mod inventory;
mod orphans;
mod runs;
mod streamed;

use actix_web::{Scope, dev::HttpServiceFactory, web};

use super::edge::{self, wrong_method};

/// The paths that the Go broker does not have. Every error below them has a code: errands recognise by it that this
/// broker has answered, and not a Go broker or a router.
pub(super) const OWN: &str = "/mgmt/v1/";

/// Everything under `/mgmt`.
pub(super) fn scope() -> impl HttpServiceFactory {
    let routes: Scope = web::scope("/mgmt");
    let routes = routes
        .service(
            web::resource("/service_instances")
                .route(web::get().to(go_lists::service_instances))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/orphan_deployments")
                .route(web::get().to(go_lists::orphan_deployments))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/metrics")
                .route(web::get().to(go_lists::metrics))
                .default_service(web::to(|| wrong_method("GET"))),
        );
    let routes = routes.service(
        web::resource("/service_instances/{instance}")
            .route(web::patch().to(instance::roll_out))
            .default_service(web::to(|| wrong_method("PATCH"))),
    );
    let routes = routes
        .service(
            web::resource("/v1/orphan_deployments")
                .route(web::get().to(orphans::list))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/v1/orphan_deployments/{name}")
                .route(web::delete().to(orphans::delete))
                .default_service(web::to(|| wrong_method("DELETE"))),
        );
    let routes = routes
        .service(
            web::resource("/v1/service_instances")
                .route(web::get().to(inventory::list))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/v1/service_instances/{instance}")
                .route(web::get().to(inventory::one))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/v1/runs")
                .route(web::post().to(runs::begin))
                .default_service(web::to(|| wrong_method("POST"))),
        )
        .service(
            web::resource("/v1/runs/latest")
                .route(web::get().to(runs::latest))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/v1/runs/{run}")
                .route(web::patch().to(runs::end))
                .default_service(web::to(|| wrong_method("PATCH"))),
        );
    let routes = routes.service(
        web::resource("/v1/service_instances/{instance}/operation")
            .route(web::get().to(instance::operation))
            .route(web::delete().to(instance::cancel))
            .default_service(web::to(|| wrong_method("GET, DELETE"))),
    );
    let routes = routes.service(
        web::resource("/v1/service_instances/{instance}/dry_run")
            .route(web::post().to(instance::dry_run))
            .default_service(web::to(|| wrong_method("POST"))),
    );
    let routes = routes
        .service(
            web::resource("/v1/service_instances/{instance}/health")
                .route(web::get().to(instance::health))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/v1/director")
                .route(web::get().to(instance::director))
                .default_service(web::to(|| wrong_method("GET"))),
        );
    routes.default_service(web::to(edge::no_such_path))
}
