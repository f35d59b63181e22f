//! The Open Service Broker API: a file per route, its request and its errors beside it.

mod bind;
mod catalog;
mod deprovision;
mod fetch;
mod fetch_binding;
mod last_operation;
mod not_offered;
mod provision;
mod unbind;
mod update;
mod version;

use actix_web::{Scope, dev::HttpServiceFactory, middleware::from_fn, web};

use super::edge::{self, wrong_method};

pub(super) use catalog::Catalog;

/// Everything under `/v2`.
pub(super) fn scope() -> impl HttpServiceFactory {
    let routes: Scope = web::scope("/v2")
        .service(
            web::resource("/catalog")
                .route(web::get().to(catalog::catalog))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/service_instances/{instance}")
                .route(web::put().to(provision::provision))
                .route(web::patch().to(update::update))
                .route(web::delete().to(deprovision::deprovision))
                .route(web::get().to(fetch::fetch))
                .default_service(web::to(|| wrong_method("GET, PUT, PATCH, DELETE"))),
        )
        .service(
            web::resource("/service_instances/{instance}/last_operation")
                .route(web::get().to(last_operation::last_operation))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/service_instances/{instance}/service_bindings/{binding}")
                .route(web::put().to(bind::bind))
                .route(web::delete().to(unbind::unbind))
                .route(web::get().to(fetch_binding::fetch_binding))
                .default_service(web::to(|| wrong_method("GET, PUT, DELETE"))),
        )
        .service(
            web::resource(
                "/service_instances/{instance}/service_bindings/{binding}/last_operation",
            )
            .route(web::get().to(not_offered::last_binding_operation))
            .default_service(web::to(|| wrong_method("GET"))),
        )
        .default_service(web::to(edge::no_such_path));
    routes.wrap(from_fn(version::require))
}
