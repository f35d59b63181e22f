//! `GET /v2/catalog`.

use actix_web::{HttpResponse, web::Data};

use crate::{api::Door, offering};

/// What is offered.
pub(super) async fn catalog(door: Data<Door>) -> HttpResponse {
    HttpResponse::Ok().json(offering::catalog(door.operations.offering()))
}
