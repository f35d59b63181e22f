//! `GET /mgmt/service_instances`, as the Go broker answers it: `null` where there is none, nothing but a status where it
//! cannot be told.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use futures_util::{StreamExt, TryStreamExt, stream};
use odb_api_types::{code::Code, management::ListedInstance};

use super::streamed::{self, Frame};
use crate::{
    api::{
        AppState,
        incoming::{Parameters, WithContext},
        refusal::Refusal,
    },
    operations::{EntryStream, InstanceEntry, Operations, RequestContext, SourceError},
};

/// Why the instances are not listed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    #[error(
        "nobody knows the service instances: neither `cf` nor `service_instances_api` is configured"
    )]
    NoSource,
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Lists the service instances that the parameters choose.
pub(super) async fn list(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    query: Parameters,
) -> Result<HttpResponse, Refusal> {
    let (operations, parameters) = (app.operations.clone(), query.firsts());
    let entries = Box::pin(async move {
        let entries = chosen(&operations, &request_context, parameters).await?;
        Ok(entries.map_ok(listed).map_err(ListError::from))
    });
    let frame = Frame {
        head: "[",
        tail: "]",
        empty: "null",
    };
    streamed::answer(&app, entries, frame, refuse).await
}

async fn chosen(
    operations: &Operations,
    request_context: &RequestContext,
    parameters: Vec<(String, String)>,
) -> Result<EntryStream, ListError> {
    let source = operations.lists().ok_or(ListError::NoSource)?;
    let call = request_context.call();
    Ok(match source.select(&call, parameters).await? {
        Some(selection) => source.entries(&call, selection),
        None => stream::empty().boxed(),
    })
}

fn listed(entry: InstanceEntry) -> ListedInstance {
    ListedInstance {
        service_instance_id: entry.instance,
        plan_id: entry.plan,
        space_guid: entry.space.map(String::from),
    }
}

fn refuse(error: ListError) -> Refusal {
    let code = match &error {
        ListError::NoSource => Code::NoInstanceSource,
        ListError::Source(error) => error.code(),
    };
    Refusal::told_by_status(StatusCode::INTERNAL_SERVER_ERROR, code).because(error)
}
