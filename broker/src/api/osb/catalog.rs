//! `GET /v2/catalog`.

use std::fmt::Write as _;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ContentType, ETag, EntityTag, Header, IfNoneMatch},
    web::Data,
};
use sha2::{Digest, Sha256};

use crate::{api::AppState, offering};

/// What is offered. A platform that has it already is told so.
pub(super) async fn catalog(app: Data<AppState>, request: HttpRequest) -> HttpResponse {
    let catalog = offering::catalog(
        app.operations.offering(),
        app.operations.schemas(),
        app.instance_fetching,
    );
    let body = catalog.to_string();
    let tag = tag(&body);
    if is_known(&request, &tag) {
        return HttpResponse::NotModified()
            .insert_header(ETag(tag))
            .finish();
    }
    HttpResponse::Ok()
        .insert_header(ETag(tag))
        .insert_header(ContentType::json())
        .body(body)
}

fn tag(body: &str) -> EntityTag {
    let mut hex = String::new();
    for byte in Sha256::digest(body) {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    EntityTag::new_strong(hex)
}

fn is_known(request: &HttpRequest, tag: &EntityTag) -> bool {
    match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(known)) => known.iter().any(|known| known.weak_eq(tag)),
        Err(_) => false,
    }
}
