//! Starting a lifecycle errand.

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_platform::{
    director::{
        ContextId, DeploymentName, Director, ErrandName, InstanceSelector, SubmitError, TaskId,
    },
    http::{Call, StatusCode},
};

/// Runs an errand on its instances, or in its own group when it names none.
pub(super) async fn run(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
    errand: &LifecycleErrand,
    context: &ContextId,
) -> Result<TaskId, SubmitError> {
    let name = ErrandName::try_from(errand.name.clone()).map_err(|error| SubmitError::Refused {
        asked: format!("POST /deployments/{deployment}/errands"),
        status: StatusCode::BAD_REQUEST,
        code: None,
        description: error.to_string(),
    })?;
    let selectors: Vec<InstanceSelector> =
        errand.instances.iter().map(|text| selector(text)).collect();
    director
        .run_errand(call, deployment, &name, &selectors, context)
        .await
}

/// `group` or `group/index-or-id`, as the configuration has checked.
fn selector(text: &str) -> InstanceSelector {
    match text.split_once('/') {
        Some((group, id)) => InstanceSelector {
            group: group.to_owned(),
            id: Some(id.to_owned()),
        },
        None => InstanceSelector {
            group: text.to_owned(),
            id: None,
        },
    }
}
