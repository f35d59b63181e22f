//! The task that deletes a deployment.

use serde::{Deserialize, Serialize};

use super::{
    deleting::{Force, delete_instances},
    error::ManifestError,
};
use crate::director::{
    audit::Deed,
    deployments::Attention,
    tasks::{TaskFailure, TaskRun},
};

/// So many instances are deleted at a time.
const AT_ONCE: usize = 32;

#[derive(Serialize, Deserialize)]
pub(in crate::director) struct DeleteOrder {
    pub(in crate::director) force: Force,
}

/// Deletes all instances of a deployment, then the deployment. The values of its variables stay in the config server,
/// as with a real Director.
pub(in crate::director) async fn delete(
    run: &TaskRun,
    order: DeleteOrder,
) -> Result<String, TaskFailure> {
    let deed = || Deed::new("delete", "deployment").named(&run.deployment);
    let begun = run.record(deed());
    let end = delete_recorded(run, order).await;
    run.record(deed().after(begun).ended(&end));
    end
}

async fn delete_recorded(run: &TaskRun, order: DeleteOrder) -> Result<String, TaskFailure> {
    let director = &run.director.inner;
    let row = director
        .deployments
        .find(run.deployment.as_ref())
        .unwrap_or_default();
    if row
        .instances
        .iter()
        .any(|instance| instance.attention == Attention::Ignored)
    {
        return Err(ManifestError::DeletesIgnoredDeployment(run.deployment.clone()).into());
    }
    let stage = run.events.stage("Deleting instances", row.instances.len());
    delete_instances(run, stage, &row.instances, order.force, AT_ONCE).await?;

    let artifacts = run.events.stage("Removing deployment artifacts", 3);
    for (location, task) in ["Detaching stemcells", "Detaching releases"]
        .into_iter()
        .enumerate()
    {
        artifacts.begin(task, location + 1).await?.end(Ok(()))?;
    }
    let properties = run.events.stage("Deleting properties", 0);
    let step = properties.begin("Destroying deployment", 1).await?;
    director.deployments.remove(&run.deployment);
    director.links.forget(&run.deployment);
    step.end(Ok(format!("/deployments/{}", run.deployment)))
}
