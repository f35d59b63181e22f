//! How answers look.

use actix_web::{HttpResponse, http::StatusCode};
use serde_json::Value;

/// The content type of all JSON answers.
pub(super) const JSON: &str = "application/json;charset=UTF-8";

pub(super) fn json_answer(body: &Value) -> HttpResponse {
    json_answer_with(StatusCode::OK, body)
}

pub(super) fn json_answer_with(status: StatusCode, body: &Value) -> HttpResponse {
    HttpResponse::build(status)
        .content_type(JSON)
        .body(body.to_string())
}

pub(super) fn joined<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, separator: &str) -> String {
    let mut joined = String::new();
    for text in texts {
        if !joined.is_empty() {
            joined.push_str(separator);
        }
        joined.push_str(text.as_ref());
    }
    joined
}
