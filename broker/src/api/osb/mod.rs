//! The Open Service Broker API.

mod binding;
mod catalog;
mod instance;
mod last_operation;
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
                .route(web::put().to(instance::provision))
                .route(web::patch().to(instance::update))
                .route(web::delete().to(instance::deprovision))
                .route(web::get().to(instance::fetch))
                .default_service(web::to(|| wrong_method("GET, PUT, PATCH, DELETE"))),
        )
        .service(
            web::resource("/service_instances/{instance}/last_operation")
                .route(web::get().to(last_operation::last_operation))
                .default_service(web::to(|| wrong_method("GET"))),
        )
        .service(
            web::resource("/service_instances/{instance}/service_bindings/{binding}")
                .route(web::put().to(binding::bind))
                .route(web::delete().to(binding::unbind))
                .route(web::get().to(binding::fetch))
                .default_service(web::to(|| wrong_method("GET, PUT, DELETE"))),
        )
        .service(
            web::resource(
                "/service_instances/{instance}/service_bindings/{binding}/last_operation",
            )
            .route(web::get().to(binding::last_operation))
            .default_service(web::to(|| wrong_method("GET"))),
        )
        .default_service(web::to(edge::no_such_path));
    routes.wrap(from_fn(version::require))
}
