//! Requests to the Cloud Controller and its error responses.

use reqwest::header::HeaderName;
use serde::Deserialize;

use crate::{
    connection::{Connection, Identity, Protocol, Shown, is_success, is_unauthorized, refused},
    http::{Answer, ClientError, Limits, Service, Trust, address, cut},
    service_error::FailureKind,
    uaa::TokenSource,
};

/// More pages than any list has that does not go round in circles.
pub(super) const MOST_PAGES: usize = 1000;

static PROTOCOL: Protocol = Protocol {
    service: Service::CloudController,
    request_id: Some(HeaderName::from_static("x-vcap-request-id")),
    asks_for_json: true,
    accepts: is_success,
    refuses_token: is_unauthorized,
    rejection,
    shown: Shown::Path,
};

pub(super) fn connect(
    url: &str,
    trust: &Trust,
    tokens: TokenSource,
    limits: Limits,
) -> Result<Connection, ClientError> {
    let server = address::server(url)?;
    Connection::new(&PROTOCOL, server, trust, Identity::Token(tokens), limits)
}

fn rejection(answer: &Answer) -> FailureKind {
    let (code, name, description) = match answer.json::<Rejection>() {
        Ok(Rejection::V3 { errors }) => match errors.into_iter().next() {
            Some(error) => (error.code, error.title, error.detail),
            None => return refused(answer),
        },
        Ok(Rejection::V2(error)) => (error.code, error.error_code, error.description),
        Err(_) => return refused(answer),
    };
    FailureKind::Refused {
        status: answer.status(),
        code,
        name: cut(&name),
        description: cut(&description),
    }
}

/// The body of an error, as the two versions of the API have it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Rejection {
    V3 { errors: Vec<V3Error> },
    V2(V2Error),
}

#[derive(Deserialize)]
struct V3Error {
    code: Option<u64>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
}

#[derive(Deserialize)]
struct V2Error {
    code: Option<u64>,
    #[serde(default)]
    error_code: String,
    description: String,
}
