//! Deletes instances with their VMs, each as a step of a stage in the event log.

use futures_util::FutureExt;
use serde::{Deserialize, Serialize};

use super::{agents::AgentClient, updating::all_of, vms};
use crate::{
    cpi::Script,
    director::{
        audit::Deed,
        deployments::{Instance, InstanceState},
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
