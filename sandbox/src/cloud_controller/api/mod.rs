//! The v3 API.
//!
//! | module | contents |
//! | --- | --- |
//! | `resource`, `query`, `call`, `message` | what all routes have in common: lists, filters, pages, metadata |
//! | `permissions`, `instance_rules` | the rights of callers, the rules for orders |
//! | the others | one kind of resource each: its members, filters and changes |

mod apps;
mod call;
mod discovery;
mod feature_flags;
mod instance_rules;
mod message;
mod organizations;
mod permissions;
mod query;
mod resource;
mod roles;
mod routes;
mod service_binding_changes;
mod service_bindings;
mod service_brokers;
mod service_instance_changes;
mod service_instances;
mod service_offerings;
mod service_plans;
mod shared_spaces;
mod spaces;

use actix_web::{
    Error, HttpMessage, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{CONTENT_TYPE, HeaderName, HeaderValue},
    middleware::{Next, from_fn},
    web::{self, ServiceConfig, get},
};
use serde_json::Value;
use uuid::Uuid;

use super::{
    model::Job,
    rejection::{ErrorKind, JSON, Rejection},
};

pub(super) use call::{Call, Caller, View};
pub(super) use instance_rules::{effective, needs_broker};
pub(super) use resource::stamp;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-vcap-request-id");
/// A longer id of a client is not passed on.
const CLIENT_REQUEST_ID_LIMIT: usize = 128;

pub(super) fn routes(app: &mut ServiceConfig) {
    let scope = web::scope("")
        .wrap(from_fn(with_request_id))
        .configure(discovery::routes)
        .configure(organizations::routes)
        .configure(spaces::routes)
        .configure(roles::routes)
        .configure(feature_flags::routes)
        .configure(apps::routes)
        .configure(routes::routes)
        .configure(service_brokers::routes)
        .configure(service_offerings::routes)
        .configure(service_plans::routes)
        .configure(service_instances::routes)
        .configure(shared_spaces::routes)
        .configure(service_bindings::routes)
        .route("/v3/jobs/{guid}", get().to(resource::one::<Job>))
        .default_service(web::to(async || Err::<HttpResponse, _>(unknown())));
    app.service(scope);
}

/// The id under which a request is known here and to the brokers that it makes us call.
#[derive(Clone)]
struct RequestId(String);

pub(super) async fn with_request_id(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let own = Uuid::new_v4();
    let given = request
        .headers()
        .get(REQUEST_ID)
        .and_then(|id| id.to_str().ok());
    let id = match given.filter(|id| id.len() <= CLIENT_REQUEST_ID_LIMIT) {
        Some(given) => format!("{given}::{own}"),
        None => own.to_string(),
    };
    let header = HeaderValue::from_str(&id);
    request.extensions_mut().insert(RequestId(id));
    let mut response = next.call(request).await?.map_into_boxed_body();
    if let Ok(header) = header {
        response.headers_mut().insert(REQUEST_ID, header);
    }
    Ok(response)
}

fn unknown() -> Rejection {
    ErrorKind::NotFound.with("Unknown request")
}

type Response = Result<HttpResponse, Rejection>;

fn ok(body: &Value) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, JSON))
        .body(body.to_string())
}

fn created(body: &Value) -> HttpResponse {
    HttpResponse::Created()
        .insert_header((CONTENT_TYPE, JSON))
        .body(body.to_string())
}

fn no_content() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
