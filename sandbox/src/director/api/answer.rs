//! Answers, with the headers that a real Director sends. The content type is no guide to the
//! content: much of the JSON comes as HTML.
//!
//! Parameters of a query, as Rack takes them apart.

use std::time::SystemTime;

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::{
        Method, StatusCode,
        header::{CONTENT_TYPE, LOCATION, LastModified, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS},
    },
};
use jiff::Timestamp;
use serde::Serialize;
use url::form_urlencoded;

use crate::director::{FrontEnd, ids::TaskId};

const HTML: &str = "text/html;charset=utf-8";
const JSON: &str = "application/json";

/// JSON that is sent as HTML: deployments, configs, errors.
pub(super) fn json_as_html(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    html(status, to_json(body))
}

/// JSON that is sent as such: tasks, locks.
pub(super) fn json(body: &impl Serialize) -> HttpResponse {
    start(StatusCode::OK, JSON).body(to_json(body))
}

/// JSON from the one call that needs no authentication.
pub(super) fn open_json(body: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((CONTENT_TYPE, JSON))
        .body(to_json(body))
}

/// Text or lines of JSON, sent as HTML.
pub(super) fn html(status: StatusCode, body: impl Into<String>) -> HttpResponse {
    html_bytes(status, body.into().into_bytes()).finish()
}

/// An answer sent as HTML to which headers can be added.
pub(super) fn html_bytes(status: StatusCode, body: Vec<u8>) -> Unfinished {
    let mut response = start(status, HTML);
    response
        .insert_header(("X-XSS-Protection", "1; mode=block"))
        .insert_header(("X-Frame-Options", "SAMEORIGIN"));
    Unfinished { response, body }
}

/// A part of a log or all of it, with the time of its last change.
pub(super) fn log(status: StatusCode, body: Vec<u8>, written_at: Timestamp) -> Unfinished {
    let mut response = start(status, "text/plain;charset=utf-8");
    let written_at = SystemTime::from(written_at);
    response.insert_header(LastModified(written_at.into()));
    Unfinished { response, body }
}

/// The router's answer for an unknown path, before authentication.
pub(super) fn no_route(text: String) -> HttpResponse {
    HttpResponse::NotFound()
        .insert_header((CONTENT_TYPE, "text/plain"))
        .insert_header(("X-Cascade", "pass"))
        .body(text)
}

/// Done, and nothing to say.
pub(super) fn no_content() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((WWW_AUTHENTICATE, CHALLENGE))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .finish()
}

/// Work has begun: redirects to its task, with an absolute location built from the address that the caller used.
/// Without a proxy in between, a request other than GET gets 303, as HTTP/1.1 allows.
pub(super) fn task_begun(request: &HttpRequest, front_end: FrontEnd, task: TaskId) -> HttpResponse {
    let connection = request.connection_info();
    let location = format!(
        "{}://{}/tasks/{task}",
        connection.scheme(),
        connection.host()
    );
    let status = match front_end {
        FrontEnd::None if request.method() != Method::GET => StatusCode::SEE_OTHER,
        FrontEnd::None | FrontEnd::Nginx => StatusCode::FOUND,
    };
    html_bytes(status, Vec::new())
        .header((LOCATION, location))
        .finish()
}

/// An answer without its last headers.
pub(super) struct Unfinished {
    response: HttpResponseBuilder,
    body: Vec<u8>,
}

impl Unfinished {
    pub(super) fn header(
        mut self,
        header: impl actix_web::http::header::TryIntoHeaderPair,
    ) -> Self {
        self.response.insert_header(header);
        self
    }

    pub(super) fn finish(mut self) -> HttpResponse {
        self.response.body(self.body)
    }
}

const CHALLENGE: &str = "Basic realm=\"BOSH Director\"";

fn start(status: StatusCode, content_type: &str) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response
        .insert_header((WWW_AUTHENTICATE, CHALLENGE))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((CONTENT_TYPE, content_type));
    response
}

fn to_json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("answers have text keys and no failing serializers")
}

/// The parameters of a query, in the order in which they were sent.
pub(super) struct Parameters(Vec<(String, String)>);

pub(super) fn parameters(request: &HttpRequest) -> Parameters {
    let pairs = form_urlencoded::parse(request.query_string().as_bytes());
    Parameters(pairs.into_owned().collect())
}

impl Parameters {
    /// One parameter; the last one counts.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().rev();
        values
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The elements of a list, which is written `name[]`.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(key, _)| key == name);
        values.map(|(_, value)| value.clone()).collect()
    }
}
