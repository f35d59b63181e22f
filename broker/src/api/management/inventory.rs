//! `/mgmt/v1/service_instances`: what service instances there are, and what is known of each.

use std::collections::BTreeSet;

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use odb_api_types::code::Code;

use crate::{
    api::{
        AppState,
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    operations::{Cut, InventoryError, InventoryFilter},
};

use super::streamed;

/// `GET /mgmt/v1/service_instances`.
pub(super) async fn list(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    query: Parameters,
) -> Result<HttpResponse, Refusal> {
    let filter = filter(&query)?;
    let operations = app.operations.clone();
    let entries = Box::pin(async move { operations.inventory(request_context, filter).await });
    let frame = streamed::Frame {
        head: r#"{"service_instances":["#,
        tail: r#"],"complete":true}"#,
        empty: r#"{"service_instances":[],"complete":true}"#,
    };
    streamed::answer(&app, entries, frame, refuse).await
}

/// `GET /mgmt/v1/service_instances/{id}`.
pub(super) async fn one(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let instance = incoming::instance_id(path.into_inner())?;
    let operations = app.operations.clone();
    let work = async move { operations.inventory_entry(request_context, instance).await };
    match app.lifecycle.finish(work).await {
        Ok(entry) => Ok(HttpResponse::Ok().json(entry.map_err(refuse)?)),
        Err(error @ Cut::Stopping) => Err(Refusal::stopping(error)),
        Err(error @ Cut::Off(_)) => Err(Refusal::unattended().because(error)),
    }
}

/// A filter that nobody understands would let everything through.
fn filter(query: &Parameters) -> Result<InventoryFilter, Refusal> {
    let mut filter = InventoryFilter::default();
    for (name, value) in query.all() {
        let values: &mut BTreeSet<String> = match name {
            "plan" => &mut filter.plans,
            "organization" => &mut filter.organizations,
            "space" => &mut filter.spaces,
            "instance" => &mut filter.instances,
            _ => {
                return Err(Refusal::malformed(
                    "The query has a parameter that is none of `plan`, `organization`, `space` and `instance`.",
                ));
            }
        };
        if value.is_empty() {
            return Err(Refusal::malformed(format!(
                "The parameter `{name}` of the query is empty."
            )));
        }
        values.insert(value.to_owned());
    }
    Ok(filter)
}

fn refuse(error: InventoryError) -> Refusal {
    if error.is_out_of_time() {
        return Refusal::out_of_time(error);
    }
    let (status, code, text) = match &error {
        InventoryError::NoSource => (
            StatusCode::NOT_IMPLEMENTED,
            Code::NoInstanceSource,
            "Nobody knows the service instances: configure `cf` or `service_instances_api`.",
        ),
        InventoryError::NoOrganizations => (
            StatusCode::BAD_REQUEST,
            Code::MalformedRequest,
            "The service instances API tells no organizations: choose by other filters.",
        ),
        InventoryError::UnknownPlan => (
            StatusCode::BAD_REQUEST,
            Code::MalformedRequest,
            "A plan that is to be chosen is unknown: give the name or the id of a plan of the catalog, or the id of one that it \
             had and the platform still has.",
        ),
        InventoryError::NotFound => (
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "The service instance does not exist.",
        ),
        InventoryError::Source(error) => (
            StatusCode::BAD_GATEWAY,
            error.code(),
            "The service instances could not be listed. The broker's log has the cause under this request's id.",
        ),
        InventoryError::Instances(_) => (
            StatusCode::BAD_GATEWAY,
            Code::Director,
            "The Director could not be asked. The broker's log has the cause under this request's id.",
        ),
    };
    Refusal::new(status, code, text).because(error)
}
