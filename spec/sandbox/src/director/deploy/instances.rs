//! Creates VMs for instances, updates them, and deletes them, each as a step of a stage in the event log.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};

use super::{manifest::UpdateSpec, prepare::TargetInstance, rendering::RenderedInstance};
use crate::{
    cpi::{RenderedJob, StartError},
    director::{
        deployments::Instance,
        ids::GroupName,
        tasks::{Stage, Step, TaskFailure, TaskRun},
    },
};

/// So many VMs are created or deleted at a time.
const AT_ONCE: usize = 32;

/// Whether an instance is among those that are updated first, to see whether it goes well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Canary {
    Yes,
    No,
}

/// What becomes of failures while instances are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum Force {
    /// They fail the task.
    No,
    /// They are swallowed.
    Yes,
}

/// Creates the VMs that are only reserved so far.
pub(super) async fn create_missing_vms(
    run: &TaskRun,
    targets: &[&TargetInstance],
) -> Result<(), TaskFailure> {
    let missing = || targets.iter().filter(|target| !target.vm_exists);
    let stage = run.events.stage("Creating missing vms", missing().count());
    let mut creations = Vec::new();
    for (place, target) in missing().enumerate() {
        let stage = &stage;
        let creation = async move {
            run.checkpoint()?;
            let step = stage.start(&target.label, place + 1);
            step.end(create_vm(run, target).await)
        };
        creations.push(creation.boxed());
    }
    all_of(creations, AT_ONCE).await
}

/// Updates those instances of a group that are not yet what they are to be: canaries first, the rest when these run.
pub(super) async fn update_instances(
    run: &TaskRun,
    group: &GroupName,
    update: UpdateSpec,
    instances: &[(&TargetInstance, &RenderedInstance)],
) -> Result<(), TaskFailure> {
    let changed: Vec<_> = instances
        .iter()
        .filter(|(target, rendered)| target.applied.as_ref() != Some(&rendered.digest))
        .collect();
    let stage = run
        .events
        .tagged_stage("Updating instance", Some(group.as_ref()), changed.len());
    let canaries = update.canaries.of(changed.len()).min(changed.len());
    let at_once = update.max_in_flight.of(instances.len()).max(1);
    for (place, (target, rendered)) in changed[..canaries].iter().enumerate() {
        update_instance(run, &stage, place + 1, Canary::Yes, target, rendered).await?;
    }
    let failed = &AtomicBool::new(false);
    let mut updates = Vec::new();
    for (place, (target, rendered)) in changed.iter().enumerate().skip(canaries) {
        let stage = &stage;
        let update = async move {
            // Those that are under way are let finish, no other is begun.
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let outcome =
                update_instance(run, stage, place + 1, Canary::No, target, rendered).await;
            failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            outcome
        };
        updates.push(update.boxed());
    }
    all_of(updates, at_once).await
}

/// Deletes instances with their VMs. Their disks stay, as those of a real Director are orphaned.
pub(super) async fn delete_instances(
    run: &TaskRun,
    stage: Stage,
    instances: &[Instance],
    force: Force,
) -> Result<(), TaskFailure> {
    let mut deletions = Vec::new();
    for (place, instance) in instances.iter().enumerate() {
        let stage = &stage;
        let deletion = async move {
            let step = stage.start(instance.label(), place + 1);
            step.end(delete_instance(run, instance, force).await)
        };
        deletions.push(deletion.boxed());
    }
    all_of(deletions, AT_ONCE).await
}

/// Deletes the VM of an instance, which stays.
pub(super) async fn delete_vm(run: &TaskRun, target: &TargetInstance) -> Result<(), TaskFailure> {
    let director = &run.director.inner;
    director
        .cpi
        .delete_vm(&target.vm.cid)
        .await
        .map_err(TaskFailure::delete_vm)?;
    director
        .deployments
        .update_instance(&run.deployment, target.id, |instance| {
            instance.vm = None;
            instance.applied = None;
        });
    Ok(())
}

/// Does all of it, so many at a time. Every one is let end; the first failure counts.
async fn all_of(
    doings: Vec<BoxFuture<'_, Result<(), TaskFailure>>>,
    at_once: usize,
) -> Result<(), TaskFailure> {
    let outcomes: Vec<_> = stream::iter(doings)
        .buffer_unordered(at_once)
        .collect()
        .await;
    outcomes.into_iter().collect()
}

async fn create_vm(run: &TaskRun, target: &TargetInstance) -> Result<(), TaskFailure> {
    let director = &run.director.inner;
    director
        .cpi
        .create_vm(&target.vm)
        .await
        .map_err(TaskFailure::create_vm)?;
    director
        .deployments
        .update_instance(&run.deployment, target.id, |instance| {
            instance.vm = Some(target.vm.clone());
            instance.disk.clone_from(&target.disk);
        });
    Ok(())
}

async fn update_instance(
    run: &TaskRun,
    stage: &Stage,
    index: usize,
    canary: Canary,
    target: &TargetInstance,
    rendered: &RenderedInstance,
) -> Result<(), TaskFailure> {
    run.checkpoint()?;
    let label = match canary {
        Canary::Yes => format!("{} (canary)", target.label),
        Canary::No => target.label.clone(),
    };
    let step = stage.start(label, index);
    let outcome = apply(run, &step, target, &rendered.jobs).await;
    if outcome.is_ok() {
        let deployments = &run.director.inner.deployments;
        deployments.update_instance(&run.deployment, target.id, |instance| {
            instance.applied = Some(rendered.digest.clone());
        });
    }
    step.end(outcome)
}

/// Stops a VM's jobs, replaces their files and starts them again, with a real Director's steps on the way.
async fn apply(
    run: &TaskRun,
    step: &Step,
    target: &TargetInstance,
    jobs: &[RenderedJob],
) -> Result<(), TaskFailure> {
    let director = &run.director.inner;
    director
        .deployments
        .update_instance(&run.deployment, target.id, |instance| {
            instance.applied = None;
            instance.disk.clone_from(&target.disk);
        });
    reach(run, step, 5, "executing pre-stop").await?;
    reach(run, step, 10, "executing drain").await?;
    reach(run, step, 30, "stopping jobs").await?;
    director.cpi.stop(&target.vm.cid).await;
    reach(run, step, 40, "executing post-stop").await?;
    reach(run, step, 50, "installing packages").await?;
    reach(run, step, 60, "configuring jobs").await?;
    let placed = director
        .cpi
        .place(&target.vm, target.disk.as_ref(), jobs)
        .await;
    placed.map_err(TaskFailure::create_vm)?;
    reach(run, step, 70, "executing pre-start").await?;
    reach(run, step, 90, "starting jobs").await?;
    let started = director.cpi.start(&target.vm, jobs).await;
    started.map_err(|error| not_started(target, error))?;
    reach(run, step, 100, "executing post-start").await
}

/// A step of an update, with the time that it takes.
async fn reach(run: &TaskRun, step: &Step, percent: u8, status: &str) -> Result<(), TaskFailure> {
    run.checkpoint()?;
    step.progress(percent, status);
    run.pause(run.director.inner.settings.durations.step).await
}

fn not_started(target: &TargetInstance, error: StartError) -> TaskFailure {
    match error {
        StartError::NotRunning { jobs } => TaskFailure::NotRunning {
            instance: target.label.clone(),
            jobs: jobs
                .iter()
                .map(AsRef::as_ref)
                .collect::<Vec<_>>()
                .join(", "),
        },
        other => TaskFailure::Start(other),
    }
}

async fn delete_instance(
    run: &TaskRun,
    instance: &Instance,
    force: Force,
) -> Result<(), TaskFailure> {
    let director = &run.director.inner;
    if let Some(vm) = &instance.vm {
        match (director.cpi.delete_vm(&vm.cid).await, force) {
            (Err(error), Force::No) => return Err(TaskFailure::delete_vm(error)),
            (Err(error), Force::Yes) => tracing::warn!(%error, "a VM could not be deleted"),
            (Ok(()), _) => {}
        }
    }
    director
        .deployments
        .remove_instance(&run.deployment, instance.id);
    Ok(())
}
