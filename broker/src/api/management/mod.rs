//! The management API, which the operator's errands speak: a file per route (`spec/contracts/broker-behaviour.md` §6).

mod dry_run;
mod health;
mod inventory;
mod operate;
mod operation;
mod orphan_deployments;
mod orphans;
mod runs;
mod service_instances;
mod service_metrics;
mod streamed;

use actix_web::{Scope, dev::HttpServiceFactory, web};

use super::edge::{self, wrong_method};

/// What the Go broker does not know. Refusals below it have codes, whoever refuses: errands tell by them that the broker has
/// answered, and neither a Go broker nor a router.
pub(super) const OWN: &str = "/mgmt/v1/";

/// Everything under `/mgmt`.
pub(super) fn scope() -> impl HttpServiceFactory {
    let routes: Scope = web::scope("/mgmt");
    let routes = routes
        .service(
            web::resource("/service_instances")
                .route(web::get().to(service_instances::list))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/orphan_deployments")
                .route(web::get().to(orphan_deployments::list))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/metrics")
                .route(web::get().to(service_metrics::metrics))
                .default_service(web::to(|| wrong_method("GET"))),
        );
    let routes = routes.service(
        web::resource("/service_instances/{instance}")
            .route(web::patch().to(operate::operate))
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
            .route(web::get().to(operation::review))
            .route(web::delete().to(operation::cancel))
            .default_service(web::to(|| wrong_method("GET, DELETE"))),
    );
    let routes = routes.service(
        web::resource("/v1/service_instances/{instance}/dry_run")
            .route(web::post().to(dry_run::dry_run))
            .default_service(web::to(|| wrong_method("POST"))),
    );
    let routes = routes
        .service(
            web::resource("/v1/service_instances/{instance}/health")
                .route(web::get().to(health::health))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/v1/director")
                .route(web::get().to(health::director))
                .default_service(web::to(|| wrong_method("GET"))),
        );
    routes.default_service(web::to(edge::no_such_path))
}
