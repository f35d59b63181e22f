//! The v2 API, as far as brokers, their errands and old clients use it (`spec/contracts/platform-apis.md`, "Cloud
//! Controller v2"). It looks at the same tables as v3; what brokers are asked is asked while the request waits.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `info` | `/v2/info`, and what is there while v2 is off |
//! | `resource`, `rejection` | what all routes have in common: lists, filters, pages, errors |
//! | `kinds` | the members and filters of each kind of resource |
//! | `services`, `service_brokers` | changes |

mod info;
mod kinds;
mod rejection;
mod resource;
mod service_brokers;
mod services;

use actix_web::{
    HttpResponse,
    dev::HttpServiceFactory,
    middleware::from_fn,
    web::{self, ServiceConfig, delete, get, post, put},
};
use serde_json::Value;

use super::{
    api::with_request_id,
    model::{Broker, Instance, Offering, Organization, Plan, Space},
    settings::ApiGeneration,
};
use kinds::{BoundRoute, PlanVisibility, ServiceBinding, ServiceKey};
use rejection::V2Rejection;
use resource::{V2Call, list, list_of, one};

pub(super) use info::V2_VERSION;

/// Differs from v3's by a space.
const JSON: &str = "application/json;charset=utf-8";

type V2Response = Result<HttpResponse, V2Rejection>;

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
    scope.wrap(from_fn(with_request_id))
}

fn resources(app: &mut ServiceConfig) {
    let instance = "/service_instances/{guid}";
    app.route("/organizations", get().to(list::<Organization>))
        .route("/organizations/{guid}", get().to(one::<Organization>))
        .route(
            "/organizations/{guid}/spaces",
            get().to(|call: V2Call| list_of::<Organization, Space>(call, "organization_guid")),
        )
        .route("/spaces/{guid}", get().to(one::<Space>))
        .route("/services", get().to(list::<Offering>))
        .route(
            "/services/{guid}/service_plans",
            get().to(|call: V2Call| list_of::<Offering, Plan>(call, "service_guid")),
        )
        .route("/service_plans", get().to(list::<Plan>))
        .route("/service_plans/{guid}", get().to(one::<Plan>))
        .route("/service_plans/{guid}", put().to(services::update_plan))
        .route(
            "/service_plans/{guid}/service_instances",
            get().to(|call: V2Call| list_of::<Plan, Instance>(call, "service_plan_guid")),
        )
        .route(
            "/service_plan_visibilities",
            get().to(list::<PlanVisibility>),
        )
        .route(
            "/service_plan_visibilities",
            post().to(services::create_visibility),
        )
        .route(
            "/service_plan_visibilities/{guid}",
            delete().to(services::remove_visibility),
        )
        .route("/service_brokers", get().to(list::<Broker>))
        .route("/service_brokers", post().to(service_brokers::create))
        .route("/service_brokers/{guid}", put().to(service_brokers::update))
        .route(
            "/service_brokers/{guid}",
            delete().to(service_brokers::remove),
        )
        .route(instance, get().to(one::<Instance>))
        .route(instance, put().to(services::update_instance))
        .route(instance, delete().to(services::remove_instance))
        .route(
            "/service_instances/{guid}/service_bindings",
            get().to(|call: V2Call| {
                list_of::<Instance, ServiceBinding>(call, "service_instance_guid")
            }),
        )
        .route(
            "/service_instances/{guid}/service_keys",
            get().to(|call: V2Call| list_of::<Instance, ServiceKey>(call, "service_instance_guid")),
        )
        .route(
            "/service_instances/{guid}/routes",
            get().to(|call: V2Call| list_of::<Instance, BoundRoute>(call, "service_instance_guid")),
        )
        .route(
            "/service_instances/{guid}/routes/{route}",
            delete().to(services::unbind_route),
        )
        .route(
            "/apps/{app}/service_bindings/{guid}",
            delete().to(services::unbind_app),
        )
        .route("/service_keys/{guid}", delete().to(services::remove_key));
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
