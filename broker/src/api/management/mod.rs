//! The management API, which the operator's errands speak: a file per route (`spec/contracts/broker-behaviour.md` §6).

mod operate;

use actix_web::{Scope, dev::HttpServiceFactory, web};

use super::edge::{self, wrong_method};

/// Everything under `/mgmt`.
pub(super) fn scope() -> impl HttpServiceFactory {
    let routes: Scope = web::scope("/mgmt").service(
        web::resource("/service_instances/{instance}")
            .route(web::patch().to(operate::operate))
            .default_service(web::to(|| wrong_method("PATCH"))),
    );
    routes.default_service(web::to(edge::no_such_path))
}
