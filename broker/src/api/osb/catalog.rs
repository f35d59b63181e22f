//! `GET /v2/catalog`.

use actix_web::{HttpResponse, web::Data};

use crate::{api::AppState, offering};

/// What is offered.
pub(super) async fn catalog(app: Data<AppState>) -> HttpResponse {
    HttpResponse::Ok().json(offering::catalog(app.operations.offering()))
}
