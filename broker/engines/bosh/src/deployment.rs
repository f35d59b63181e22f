//! The deployment of a service instance: its name, those of its configs, and the tasks on it.

use odb_api_types::{ids::InstanceId, kind::OperationKind};
use odb_clients::director::{ConfigName, ContextId, DeploymentName, Force, TaskFilter, TaskId};

/// Whether the Director swallows the errors of a deletion.
pub(crate) fn force(kind: OperationKind) -> Force {
    if kind == OperationKind::ForceDelete {
        Force::Yes
    } else {
        Force::No
    }
}

/// The prefix of each service instance's deployment, for every on-demand broker.
const DEPLOYMENT_PREFIX: &str = "service-instance_";

/// The service instance that a deployment of this name holds, if it holds one.
pub(crate) fn instance_of(deployment: &str) -> Option<InstanceId> {
    let id = deployment.strip_prefix(DEPLOYMENT_PREFIX)?;
    InstanceId::try_from(id.to_owned()).ok()
}

/// The deployment that holds a service instance. The name is the Go broker's.
pub(crate) fn deployment(instance: &InstanceId) -> DeploymentName {
    DeploymentName::try_from(format!("{DEPLOYMENT_PREFIX}{instance}"))
        .expect("an id that travels fits into a path")
}

/// The name of the configs that an adapter asks for: the deployment's, as with the Go broker.
pub(crate) fn config_name(deployment: &DeploymentName) -> ConfigName {
    ConfigName::try_from(deployment.as_str().to_owned())
        .expect("a deployment's name fits into an address")
}

/// The tasks of one operation.
pub(crate) fn of_context(context: &ContextId) -> TaskFilter {
    TaskFilter {
        context: Some(context.clone()),
        ..TaskFilter::default()
    }
}

/// How texts for users name a task.
pub(crate) fn task_reference(task: TaskId) -> String {
    format!("task-id: {task}")
}
