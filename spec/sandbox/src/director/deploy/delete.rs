//! The task that deletes a deployment.

use super::instances::{Force, delete_instances};
use crate::director::tasks::{TaskFailure, TaskRun};

/// A deployment that is to be deleted.
pub(in crate::director) struct DeleteOrder {
    pub(in crate::director) force: Force,
}

/// Deletes all instances of a deployment, then the deployment and its variables.
pub(in crate::director) async fn delete(
    run: &TaskRun,
    order: DeleteOrder,
) -> Result<String, TaskFailure> {
    let director = &run.director.inner;
    let row = director
        .deployments
        .find(run.deployment.as_ref())
        .unwrap_or_default();
    let stage = run.events.stage("Deleting instances", row.instances.len());
    delete_instances(run, stage, &row.instances, order.force).await?;

    let artifacts = run.events.stage("Removing deployment artifacts", 3);
    for (place, task) in ["Detaching stemcells", "Detaching releases"]
        .into_iter()
        .enumerate()
    {
        artifacts.start(task, place + 1).end(Ok(()))?;
    }
    let properties = run.events.stage("Deleting properties", 0);
    let step = properties.start("Destroying deployment", 1);
    director.deployments.remove(&run.deployment);
    let own_variables = format!("/{}/{}/", director.settings.name, run.deployment);
    director.variables.forget_below(&own_variables);
    step.end(Ok(format!("/deployments/{}", run.deployment)))
}
