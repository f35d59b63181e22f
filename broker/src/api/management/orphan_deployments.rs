//! `GET /mgmt/orphan_deployments`, as the Go broker answers it, but for deployments that another broker has marked: those
//! are not listed.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use odb_api_types::{code::Code, management::ListedOrphan};

use crate::{
    api::{AppState, incoming::WithContext, refusal::Refusal},
    bosh::deployment,
    operations::{Cut, Detail, OrphansError},
};

/// Lists the deployments that no service instance stands behind.
pub(super) async fn list(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
) -> Result<HttpResponse, Refusal> {
    let operations = app.operations.clone();
    let work = async move { operations.orphans(request_context, Detail::Names).await };
    let orphans = match app.lifecycle.finish(work).await {
        Ok(orphans) => orphans.map_err(refuse)?,
        Err(error @ Cut::Stopping) => return Err(Refusal::stopping(error)),
        Err(error @ Cut::Off(_)) => {
            return Err(
                Refusal::told_by_status(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal)
                    .because(error),
            );
        }
    };
    let listed: Vec<_> = orphans
        .into_iter()
        .map(|orphan| ListedOrphan {
            deployment_name: deployment(&orphan.instance).to_string(),
        })
        .collect();
    Ok(HttpResponse::Ok().json(listed))
}

fn refuse(error: OrphansError) -> Refusal {
    Refusal::told_by_status(StatusCode::INTERNAL_SERVER_ERROR, error.code()).because(error)
}
