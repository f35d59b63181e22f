//! The routes of the v3 API: one file per kind of resource.

mod accepted;
mod app_environment;
mod apps;
mod caller;
mod discovery;
mod feature_flags;
mod instance_rules;
mod jobs;
mod listing;
mod message;
mod organization_quotas;
mod organizations;
mod permissions;
mod plan_visibility;
mod present;
mod processes;
mod query;
mod rate_limits;
mod roles;
mod routes;
mod service_binding_changes;
mod service_brokers;
mod service_credential_bindings;
mod service_instance_changes;
mod service_instance_parts;
mod service_instances;
mod service_offerings;
mod service_plans;
mod service_route_bindings;
mod shared_spaces;
mod spaces;
mod user_provided_instances;
mod users;

use actix_web::{
    Error, HttpMessage, HttpResponse, ResponseError,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{CONTENT_TYPE, HeaderName, HeaderValue},
    },
    middleware::{Next, from_fn},
    web::{self, ServiceConfig},
};
use serde_json::Value;
use uuid::Uuid;

pub(super) use rate_limits::RequestCounts;

pub(super) use caller::Caller;
pub(super) use instance_rules::{effective, needs_broker};

use super::rejection::{ErrorKind, JSON, Rejection};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-vcap-request-id");
/// A longer id of a client is not passed on.
const CLIENT_REQUEST_ID_LIMIT: usize = 128;

/// Mounts all routes.
pub(super) fn routes(app: &mut ServiceConfig) {
    let scope = web::scope("")
        .wrap(from_fn(rate_limits::limited))
        .wrap(from_fn(with_request_id))
        .configure(discovery::routes)
        .configure(organizations::routes)
        .configure(organization_quotas::routes)
        .configure(spaces::routes)
        .configure(users::routes)
        .configure(roles::routes)
        .configure(feature_flags::routes)
        .configure(apps::routes)
        .configure(app_environment::routes)
        .configure(processes::routes)
        .configure(routes::routes)
        .configure(service_brokers::routes)
        .configure(service_offerings::routes)
        .configure(service_plans::routes)
        .configure(plan_visibility::routes)
        .configure(service_instance_changes::routes)
        .configure(service_instance_parts::routes)
        .configure(shared_spaces::routes)
        .configure(service_credential_bindings::routes)
        .configure(service_route_bindings::routes)
        .configure(jobs::routes)
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
    let response = next.call(request).await?.map_into_boxed_body();
    let mut response = match response.status() {
        // A path that is known for another method only is as unknown as any other.
        StatusCode::METHOD_NOT_ALLOWED => response.into_response(unknown().error_response()),
        _ => response,
    };
    if let Ok(header) = header {
        response.headers_mut().insert(REQUEST_ID, header);
    }
    Ok(response)
}

fn unknown() -> Rejection {
    ErrorKind::NotFound.with("Unknown request")
}

type Answer = Result<HttpResponse, Rejection>;

fn ok(body: &Value) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, JSON))
        .body(body.to_string())
}

fn no_content() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
