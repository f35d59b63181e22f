//! `GET /v2/catalog`.

use std::fmt::Write as _;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ContentType, ETag, EntityTag, Header, IfNoneMatch},
    web::{Bytes, Data},
};
use odb_core::offering;
use sha2::{Digest, Sha256};

use crate::api::AppState;

#[derive(Debug)]
pub(in crate::api) struct Catalog {
    body: Bytes,
    tag: EntityTag,
}

impl Catalog {
    pub(in crate::api) fn of(app: &AppState) -> Self {
        let operations = &app.operations;
        let catalog = offering::catalog(
            operations.offering(),
            operations.schemas(),
            app.broker.instances_retrievable,
        );
        Self::new(catalog.to_string())
    }

    fn new(body: String) -> Self {
        Self {
            tag: tag(&body),
            body: body.into(),
        }
    }
}

/// The catalog. A platform with the current version gets 304.
pub(super) async fn catalog(catalog: Data<Catalog>, request: HttpRequest) -> HttpResponse {
    let tag = ETag(catalog.tag.clone());
    if is_known(&request, &catalog.tag) {
        return HttpResponse::NotModified().insert_header(tag).finish();
    }
    HttpResponse::Ok()
        .insert_header(tag)
        .insert_header(ContentType::json())
        .body(catalog.body.clone())
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

#[cfg(test)]
mod tests {
    use actix_web::{
        body::{BodySize, MessageBody},
        test::TestRequest,
    };

    use super::*;

    #[tokio::test]
    async fn every_answer_shares_the_bytes_that_were_made_once() {
        let made = Data::new(Catalog::new(r#"{"services":[]}"#.to_owned()));
        let request = TestRequest::get().to_http_request();
        for _ in 0..2 {
            let answer = catalog(made.clone(), request.clone()).await;
            assert_eq!(answer.body().size(), BodySize::Sized(15));
            let body = answer.into_body().try_into_bytes().unwrap();
            assert_eq!(body.as_ptr(), made.body.as_ptr());
        }
    }

    #[test]
    fn a_known_version_is_recognized_in_every_form_and_by_the_next_process() {
        let tag = tag("a");
        assert_eq!(tag, super::tag("a"));
        assert_ne!(tag, super::tag("b"));
        assert!(!tag.weak);
        let is_known = |header: &str| {
            let request = TestRequest::get().insert_header(("If-None-Match", header));
            is_known(&request.to_http_request(), &tag)
        };
        let weak = format!("W/{tag}");
        for known in ["*", &tag.to_string(), &weak, &format!("\"other\", {weak}")] {
            assert!(is_known(known), "{known}");
        }
        for unknown in ["\"other\"", "other", ""] {
            assert!(!is_known(unknown), "{unknown}");
        }
    }
}
