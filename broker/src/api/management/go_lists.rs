//! The lists of the Go broker's management API: an error has only a status.

use actix_web::HttpResponse;
use futures_util::{StreamExt, TryStreamExt, stream};
use odb_api_types::management::{ListedInstance, ListedOrphan};
use odb_core::operations::{Detail, InstanceEntry, Refused};

use super::streamed::Frame;
use crate::api::{error::ApiError, incoming::Parameters, refused::RequestKind, run::Run};

/// `GET /mgmt/service_instances`: those that the parameters choose; `null` where there is none.
pub(super) async fn service_instances(
    run: Run,
    query: Parameters,
) -> Result<HttpResponse, ApiError> {
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
            let (source, call) = (operations.lists()?, context.call());
            let entries = match source.select(&call, parameters).await? {
                Some(selection) => source.entries(&call, selection),
                None => stream::empty().boxed(),
            };
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
pub(super) async fn orphan_deployments(run: Run) -> Result<HttpResponse, ApiError> {
    let orphans = run.operator(RequestKind::StatusAlone, |operations, context| async move {
        operations.orphans(context, Detail::Names).await
    });
    let engine = run.app.operations.engine();
    let listed = orphans.await?.into_iter().map(|orphan| ListedOrphan {
        deployment_name: engine.deployment_name(&orphan.instance),
    });
    Ok(HttpResponse::Ok().json(listed.collect::<Vec<_>>()))
}

/// `GET /mgmt/metrics`: how much of the offering is used.
pub(super) async fn metrics(run: Run) -> Result<HttpResponse, ApiError> {
    let metrics = run.operator(
        RequestKind::ServiceMetrics,
        |operations, context| async move { operations.service_metrics(context).await },
    );
    Ok(HttpResponse::Ok().json(metrics.await?))
}
