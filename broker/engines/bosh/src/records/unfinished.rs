//! The tasks that hold a deployment, or wait for it.

use odb_clients::{
    ServiceError,
    director::{DeploymentName, Director, Task, TaskFilter, TaskState},
    http::Call,
};

/// How the Director describes tasks of a deployment that take no lock and change nothing of it
/// (`spec/contracts/director-api.md`, "Deploying").
const HARMLESS: &[&str] = &[
    "retrieve vm-stats",
    "fetch logs",
    "ssh: ",
    "snapshot deployment",
];

/// The tasks that hold a deployment's lock, or wait for it. Tasks that read VMs or logs do not take it.
pub(crate) async fn of(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
) -> Result<Vec<Task>, ServiceError> {
    let filter = TaskFilter {
        deployment: Some(deployment.clone()),
        states: TaskState::unfinished(),
        ..TaskFilter::default()
    };
    let mut tasks = director.tasks(call, &filter).await?;
    tasks.retain(takes_the_lock);
    Ok(tasks)
}

/// An unknown task is assumed to take the lock.
pub(crate) fn takes_the_lock(task: &Task) -> bool {
    !HARMLESS
        .iter()
        .any(|text| task.description.starts_with(text))
}
