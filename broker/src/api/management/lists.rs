//! Lists of service instances and of orphans: our own, and those of the Go broker's management API, whose errors have only
//! a status.

use std::collections::BTreeSet;

use actix_web::{HttpResponse, web::Path};
use futures_util::TryStreamExt;
use odb_api_types::management::{ListedInstance, ListedOrphan};
use odb_core::operations::{Detail, InstanceEntry, InventoryFilter, Refused};

use super::streamed::Frame;
use crate::api::{
    error::ApiError,
    incoming::{self, Parameters},
    refused::RequestKind,
    run::Run,
};

/// `GET /mgmt/v1/service_instances`.
pub(super) async fn instances(run: Run, query: Parameters) -> Result<HttpResponse, ApiError> {
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
pub(super) async fn instance(run: Run, path: Path<String>) -> Result<HttpResponse, ApiError> {
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

/// `GET /mgmt/v1/orphan_deployments`.
pub(super) async fn orphans(run: Run) -> Result<HttpResponse, ApiError> {
    let orphans = run.operator(RequestKind::Orphans, |operations, context| async move {
        operations.orphans(context, Detail::All).await
    });
    Ok(HttpResponse::Ok().json(orphans.await?))
}

/// `GET /mgmt/service_instances`: those that the parameters choose; `null` where there is none.
pub(super) async fn go_instances(run: Run, query: Parameters) -> Result<HttpResponse, ApiError> {
    let parameters = query.firsts();
    let frame = Frame {
        head: "[",
        tail: "]",
        empty: "null",
    };
    let entries = run.streamed(
        RequestKind::StatusAlone,
        frame,
        |operations, context| async move {
            let call = context.call();
            let entries = operations.lists()?.chosen(&call, parameters).await?;
            Ok(entries.map_ok(listed).map_err(Refused::from))
        },
    );
    entries.await
}

fn listed(entry: InstanceEntry) -> ListedInstance {
    ListedInstance {
        service_instance_id: entry.instance,
        plan_id: entry.plan,
        space_guid: entry.space.map(String::from),
    }
}

/// `GET /mgmt/orphan_deployments`: the deployments without a service instance, except those that another broker has
/// marked.
pub(super) async fn go_orphans(run: Run) -> Result<HttpResponse, ApiError> {
    let orphans = run.operator(RequestKind::StatusAlone, |operations, context| async move {
        operations.orphans(context, Detail::Names).await
    });
    let listed = orphans.await?.into_iter().map(|orphan| ListedOrphan {
        deployment_name: orphan.deployment_name,
    });
    Ok(HttpResponse::Ok().json(listed.collect::<Vec<_>>()))
}

/// `GET /mgmt/metrics`: how much of the offering is used.
pub(super) async fn go_metrics(run: Run) -> Result<HttpResponse, ApiError> {
    let metrics = run.operator(
        RequestKind::ServiceMetrics,
        |operations, context| async move { operations.service_metrics(context).await },
    );
    Ok(HttpResponse::Ok().json(metrics.await?))
}
