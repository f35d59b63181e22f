//! Deletes instances with their VMs, each as a step of a stage in the event log.
//!
//! The task that deletes a deployment.

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};

use super::{agents::AgentClient, error::ManifestError, updating::all_of, vms};
use crate::{
    cpi::Script,
    director::{
        audit::Deed,
        deployments::{Attention, Instance, InstanceState},
        tasks::{Stage, TaskFailure, TaskRun},
    },
};

/// How failures are treated while instances are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum Force {
    No,
    Yes,
}

/// Deletes instances with their VMs, this many at once. Their disks are kept as orphans. An instance that cannot be
/// deleted stays; the others are still deleted.
pub(super) async fn delete_instances(
    run: &TaskRun,
    stage: Stage,
    instances: &[Instance],
    force: Force,
    at_once: usize,
) -> Result<(), TaskFailure> {
    let mut deletions = Vec::new();
    for (location, instance) in instances.iter().enumerate() {
        let stage = &stage;
        let deletion = async move {
            let step = stage.begin(instance.label(), location + 1).await?;
            let deed = || {
                let name = instance.name();
                Deed::new("delete", "instance").named(&name).on(&name)
            };
            let begun = run.record(deed());
            let deleted = delete_instance(run, instance, force).await;
            run.record(deed().after(begun).ended(&deleted));
            step.end(deleted)
        };
        deletions.push(deletion.boxed());
    }
    all_of(deletions, at_once).await
}

async fn delete_instance(
    run: &TaskRun,
    instance: &Instance,
    force: Force,
) -> Result<(), TaskFailure> {
    let swallowed = |outcome: Result<(), TaskFailure>| match (outcome, force) {
        (Err(failure), Force::Yes) => {
            tracing::warn!(%failure, instance = instance.label(), "deleted by force");
            Ok(())
        }
        (outcome, _) => outcome,
    };
    let director = &run.director.inner;
    if let Some(vm) = &instance.vm {
        let agent = AgentClient::new(run, vm, instance.name());
        swallowed(stop(&agent, instance.state).await)?;
        swallowed(vms::delete_recorded(run, vm, &instance.name()).await)?;
    }
    vms::orphan_disk(run, instance);
    director
        .deployments
        .remove_instance(&run.deployment, instance.id);
    Ok(())
}

async fn stop(agent: &AgentClient<'_>, state: InstanceState) -> Result<(), TaskFailure> {
    if state == InstanceState::Started {
        agent.run_script(Script::PreStop).await?;
        agent.run_script(Script::Drain).await?;
    }
    agent.stop().await?;
    agent.run_script(Script::PostStop).await
}

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
