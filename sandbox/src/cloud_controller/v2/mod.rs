//! The v2 API, as far as brokers, their errands and old clients use it (`spec/contracts/platform-apis.md`, "Cloud
//! Controller v2"). It looks at the same tables as v3; what brokers are asked is asked while the request waits.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `info` | `/v2/info`, and what is there while v2 is off |
//! | `listing`, `rejection`, `caller`, `body` | what all routes have in common |
//! | the others | the routes, one file per kind of resource |

mod body;
mod caller;
mod info;
mod listing;
mod organizations;
mod plan_visibilities;
mod rejection;
mod service_bindings;
mod service_brokers;
mod service_instance_changes;
mod service_instance_routes;
mod service_instances;
mod service_keys;
mod service_plans;
mod services;
mod spaces;

use actix_web::{
    Error, HttpResponse, ResponseError,
    body::{BoxBody, MessageBody},
    dev::{HttpServiceFactory, ServiceRequest, ServiceResponse},
    http::StatusCode,
    middleware::{Next, from_fn},
    web::{self, ServiceConfig},
};
use serde_json::Value;

use self::rejection::V2Rejection;
use super::{api::with_request_id, generation::ApiGeneration};

pub(super) use info::V2_VERSION;

/// Differs from v3's by a space.
const JSON: &str = "application/json;charset=utf-8";

type V2Answer = Result<HttpResponse, V2Rejection>;

/// The routes of v2, as a generation of the API has them.
pub(super) fn routes(generation: ApiGeneration) -> impl HttpServiceFactory {
    let scope = web::scope("/v2").configure(move |app| info::routes(generation, app));
    let scope = if generation.has_v2() {
        scope
            .configure(resources)
            .default_service(web::to(async || {
                Err::<HttpResponse, _>(V2Rejection::unknown_request(""))
            }))
    } else {
        scope.default_service(web::to(info::disabled))
    };
    scope
        .wrap(from_fn(without_unknown_methods))
        .wrap(from_fn(with_request_id))
}

/// A path that is known for another method only is as unknown as any other.
async fn without_unknown_methods(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let response = next.call(request).await?.map_into_boxed_body();
    Ok(match response.status() {
        StatusCode::METHOD_NOT_ALLOWED => {
            response.into_response(V2Rejection::unknown_request("").error_response())
        }
        _ => response,
    })
}

fn resources(app: &mut ServiceConfig) {
    app.configure(organizations::routes)
        .configure(spaces::routes)
        .configure(services::routes)
        .configure(service_plans::routes)
        .configure(plan_visibilities::routes)
        .configure(service_brokers::routes)
        .configure(service_instances::routes)
        .configure(service_instance_changes::routes)
        .configure(service_instance_routes::routes)
        .configure(service_bindings::routes)
        .configure(service_keys::routes);
}

fn ok(body: &Value) -> HttpResponse {
    HttpResponse::Ok().content_type(JSON).body(body.to_string())
}

fn created(body: &Value) -> HttpResponse {
    HttpResponse::Created()
        .content_type(JSON)
        .body(body.to_string())
}

fn no_content() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
