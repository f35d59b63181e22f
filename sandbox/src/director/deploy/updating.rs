//! Updates instances, each as a step of a stage in the event log: canaries first, the rest when these run.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use serde_json::json;

use super::{
    agents::AgentClient,
    plan::PlannedGroup,
    rendering::RenderedInstance,
    spec::SkipDrain,
    target::{Restart, TargetInstance, VmPlan},
    vms::{self, Agent},
};
use crate::{
    cpi::Script,
    director::{
        audit::Deed,
        deployments::{InstanceState, Lifecycle},
        tasks::{Stage, Step, TaskFailure, TaskRun},
    },
};

/// So many VMs are created or deleted at a time.
const AT_ONCE: usize = 32;

pub(super) type Ready<'a> = (&'a TargetInstance, &'a RenderedInstance);

/// Whether an instance is among those that are updated first, to see whether it goes well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Canary {
    Yes,
    No,
}

/// Creates the VMs that are only reserved so far.
pub(super) async fn create_missing_vms(
    run: &TaskRun,
    targets: &[&TargetInstance],
) -> Result<(), TaskFailure> {
    let missing = || targets.iter().filter(|target| target.lacks_vm());
    let stage = run.events.stage("Creating missing vms", missing().count());
    let mut creations = Vec::new();
    for (location, target) in missing().enumerate() {
        let stage = &stage;
        let creation = async move {
            run.checkpoint()?;
            let step = stage.begin(&target.label, location + 1).await?;
            step.end(vms::create(run, target).await)
        };
        creations.push(creation.boxed());
    }
    all_of(creations, AT_ONCE).await
}

/// Updates those instances of a group that are not yet what they are to be, one zone after the other.
pub(super) async fn update_group(
    run: &TaskRun,
    group: &PlannedGroup,
    instances: &[Ready<'_>],
    skip_drain: &SkipDrain,
) -> Result<(), TaskFailure> {
    let changed: Vec<Ready<'_>> = instances
        .iter()
        .filter(|(target, rendered)| is_due(group, target, rendered))
        .copied()
        .collect();
    let stage = run.events.tagged_stage(
        "Updating instance",
        Some(group.name.as_ref()),
        changed.len(),
    );
    let mut is_first_zone = true;
    let mut done = 0;
    for zone in zones(&changed) {
        let in_zone: Vec<Ready<'_>> = changed
            .iter()
            .filter(|(target, _)| target.az == zone)
            .copied()
            .collect();
        let canaries = if is_first_zone {
            group.update.canaries(in_zone.len())?
        } else {
            0
        };
        is_first_zone = false;
        let at_once = group.update.max_in_flight(in_zone.len())?;
        let (first, rest) = in_zone.split_at(canaries);
        let batch = Batch {
            run,
            stage: &stage,
            skip_drain: skip_drain.applies_to(&group.name),
            at_once,
        };
        batch.update(first, done, Canary::Yes).await?;
        batch.update(rest, done + canaries, Canary::No).await?;
        done += in_zone.len();
    }
    Ok(())
}

/// Does all of it, so many at a time. Every one is let end; the first failure counts.
pub(super) async fn all_of(
    activities: Vec<BoxFuture<'_, Result<(), TaskFailure>>>,
    at_once: usize,
) -> Result<(), TaskFailure> {
    let outcomes: Vec<_> = stream::iter(activities)
        .buffer_unordered(at_once)
        .collect()
        .await;
    outcomes.into_iter().collect()
}

/// Whether an instance has to be touched. Those of an errand group that was left its VM always are.
fn is_due(group: &PlannedGroup, target: &TargetInstance, rendered: &RenderedInstance) -> bool {
    if target.is_ignored() {
        return false;
    }
    let detached = target.state == InstanceState::Detached;
    group.lifecycle == Lifecycle::Errand
        || target.is_changed()
        || (!detached && target.applied.as_ref() != Some(&rendered.jobs_digest))
}

/// The zones of instances, in the order of their first instances.
fn zones(instances: &[Ready<'_>]) -> Vec<Option<String>> {
    let mut zones = Vec::new();
    for (target, _) in instances {
        if !zones.contains(&target.az) {
            zones.push(target.az.clone());
        }
    }
    zones
}

fn action(target: &TargetInstance) -> &'static str {
    match (target.state, &target.vm_plan) {
        (InstanceState::Stopped | InstanceState::Detached, _) => "stop",
        (InstanceState::Started, VmPlan::Create) => "create",
        (InstanceState::Started, VmPlan::Replace { .. }) => "recreate",
        (InstanceState::Started, VmPlan::Keep) if target.previous_state != target.state => "start",
        (InstanceState::Started, VmPlan::Keep) if target.restart == Restart::Yes => "restart",
        (InstanceState::Started, VmPlan::Keep) => "update",
    }
}

struct Batch<'a> {
    run: &'a TaskRun,
    stage: &'a Stage,
    skip_drain: bool,
    at_once: usize,
}

impl Batch<'_> {
    async fn update(
        &self,
        instances: &[Ready<'_>],
        done: usize,
        canary: Canary,
    ) -> Result<(), TaskFailure> {
        let failed = &AtomicBool::new(false);
        let mut updates = Vec::new();
        for (location, (target, rendered)) in instances.iter().enumerate() {
            let update = async move {
                // Those that are under way are let finish, no other is begun.
                if failed.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let outcome = self.update_one(done + location + 1, canary, target, rendered);
                let outcome = outcome.await;
                failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                outcome
            };
            updates.push(update.boxed());
        }
        all_of(updates, self.at_once).await
    }

    async fn update_one(
        &self,
        index: usize,
        canary: Canary,
        target: &TargetInstance,
        rendered: &RenderedInstance,
    ) -> Result<(), TaskFailure> {
        self.run.checkpoint()?;
        let label = match canary {
            Canary::Yes => format!("{} (canary)", target.label),
            Canary::No => target.label.clone(),
        };
        let step = self.stage.begin(label, index).await?;
        let update = Update {
            run: self.run,
            step: &step,
            skip_drain: self.skip_drain,
        };
        let action = action(target);
        let name = target.name();
        let zone = target.az.as_ref();
        let begun = self.run.record(
            Deed::new(action, "instance")
                .named(&name)
                .on(&name)
                .with(zone.map_or_else(|| json!({}), |az| json!({"az": az}))),
        );
        let outcome = update.apply(target, rendered).await;
        self.run.record(
            Deed::new(action, "instance")
                .named(&name)
                .on(&name)
                .after(begun)
                .ended(&outcome),
        );
        step.end(outcome)
    }
}

/// The update of one instance, with a real Director's steps on the way.
struct Update<'a> {
    run: &'a TaskRun,
    step: &'a Step,
    skip_drain: bool,
}

impl Update<'_> {
    async fn apply(
        &self,
        target: &TargetInstance,
        rendered: &RenderedInstance,
    ) -> Result<(), TaskFailure> {
        let deployments = &self.run.director.inner.deployments;
        deployments.update_instance(&self.run.deployment, target.id, |instance| {
            instance.applied = None;
        });
        if target.previous_state == InstanceState::Started {
            self.stop(target).await?;
        }
        match target.state {
            InstanceState::Stopped => {}
            InstanceState::Detached => self.detach(target).await?,
            InstanceState::Started => {
                if let VmPlan::Replace { previous, .. } = &target.vm_plan {
                    vms::delete(self.run, target, previous).await?;
                    vms::create(self.run, target).await?;
                }
                vms::settle_disk(self.run, target).await?;
                self.start(target, rendered).await?;
            }
        }
        deployments.update_instance(&self.run.deployment, target.id, |instance| {
            instance.state = target.state;
            if target.state == InstanceState::Started {
                instance.spec = Some(target.spec.clone());
                instance.machine = Some(target.machine.clone());
                instance.applied = Some(rendered.jobs_digest.clone());
            }
        });
        Ok(())
    }

    /// Stops the jobs on the existing VM, unless its agent is unresponsive.
    async fn stop(&self, target: &TargetInstance) -> Result<(), TaskFailure> {
        let vm = match &target.vm_plan {
            VmPlan::Replace {
                agent: Agent::Silent,
                ..
            } => return Ok(()),
            VmPlan::Replace { previous, .. } => previous,
            VmPlan::Keep | VmPlan::Create => &target.vm,
        };
        let agent = AgentClient::new(self.run, vm, target.name());
        if self.skip_drain {
            self.reach(10, "skipped pre-stop & drain").await?;
        } else {
            self.reach(5, "executing pre-stop").await?;
            agent.run_script(Script::PreStop).await?;
            self.reach(10, "executing drain").await?;
            agent.run_script(Script::Drain).await?;
        }
        self.reach(30, "stopping jobs").await?;
        agent.stop().await?;
        self.reach(40, "executing post-stop").await?;
        agent.run_script(Script::PostStop).await
    }

    async fn detach(&self, target: &TargetInstance) -> Result<(), TaskFailure> {
        match &target.vm_plan {
            VmPlan::Create => Ok(()),
            VmPlan::Keep => vms::delete(self.run, target, &target.vm).await,
            VmPlan::Replace { previous, .. } => vms::delete(self.run, target, previous).await,
        }
    }

    async fn start(
        &self,
        target: &TargetInstance,
        rendered: &RenderedInstance,
    ) -> Result<(), TaskFailure> {
        let agent = AgentClient::new(self.run, &target.vm, target.name());
        self.reach(50, "installing packages").await?;
        self.reach(60, "configuring jobs").await?;
        agent.apply(&rendered.jobs).await?;
        self.reach(70, "executing pre-start").await?;
        agent.run_script(Script::PreStart).await?;
        self.reach(90, "starting jobs").await?;
        agent.start(&target.label).await?;
        self.reach(100, "executing post-start").await?;
        agent.run_script(Script::PostStart).await
    }

    /// A step of the update, with the time that it takes.
    async fn reach(&self, percent: u8, status: &str) -> Result<(), TaskFailure> {
        self.run.checkpoint()?;
        self.step.reach(percent, status).await?;
        let pause = self.run.director.inner.settings.durations.step;
        self.run.pause(pause).await
    }
}
