//! `/mgmt/v1/service_instances`: the service instances, with what is known of each.

use std::collections::BTreeSet;

use actix_web::{HttpResponse, web::Path};
use odb_core::operations::InventoryFilter;

use super::streamed::Frame;
use crate::api::{
    error::ApiError,
    incoming::{self, Parameters},
    refused::RequestKind,
    run::Run,
};

/// `GET /mgmt/v1/service_instances`.
pub(super) async fn list(run: Run, query: Parameters) -> Result<HttpResponse, ApiError> {
    let filter = filter(&query)?;
    let frame = Frame {
        head: r#"{"service_instances":["#,
        tail: r#"],"complete":true}"#,
        empty: r#"{"service_instances":[],"complete":true}"#,
    };
    let entries = run.streamed(
        RequestKind::Inventory,
        frame,
        |operations, context| async move { operations.inventory(context, filter).await },
    );
    entries.await
}

/// `GET /mgmt/v1/service_instances/{id}`.
pub(super) async fn one(run: Run, path: Path<String>) -> Result<HttpResponse, ApiError> {
    let instance = incoming::instance_id(path.into_inner())?;
    let entry = run.operator(RequestKind::Inventory, |operations, context| async move {
        operations.inventory_entry(context, instance).await
    });
    Ok(HttpResponse::Ok().json(entry.await?))
}

/// An unknown filter would match everything.
fn filter(query: &Parameters) -> Result<InventoryFilter, ApiError> {
    let mut filter = InventoryFilter::default();
    for (name, value) in query.all() {
        let values: &mut BTreeSet<String> = match name {
            "plan" => &mut filter.plans,
            "organization" => &mut filter.organizations,
            "space" => &mut filter.spaces,
            "instance" => &mut filter.instances,
            _ => {
                return Err(ApiError::malformed(
                    "Unknown query parameter. Available: `plan`, `organization`, `space`, `instance`.",
                ));
            }
        };
        if value.is_empty() {
            return Err(ApiError::malformed(format!(
                "The parameter `{name}` of the query is empty."
            )));
        }
        values.insert(value.to_owned());
    }
    Ok(filter)
}
