//! Settles which instances a deployment will have and what becomes of each, generates its variables and resolves its
//! links.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{
    interpolation::generate,
    links::{LinkedInstance, LinkedInstances, Links},
    placement,
    plan::{Plan, PlannedGroup, Stemcells},
    spec::{DeployOptions, UpdateAction},
    target::{TargetInstance, target},
};
use crate::director::{
    deployments::{Deployment, Instance, Lifecycle},
    links::SettledLinks,
    tasks::{TaskFailure, TaskRun},
};

/// A deployment, ready to be rendered.
pub(super) struct Prepared {
    /// In the order of the plan's groups.
    pub(super) groups: Vec<PreparedGroup>,
    /// Instances of groups that the manifest no longer has.
    pub(super) obsolete: Vec<Instance>,
    pub(super) links: Links,
    pub(super) settled: Option<SettledLinks>,
    /// The declared variables: absolute name ⇒ id of the value.
    pub(super) variables: BTreeMap<String, Uuid>,
}

pub(super) struct PreparedGroup {
    /// Those that will have VMs: all of a service group, none of an errand group unless it was left a VM.
    pub(super) targets: Vec<TargetInstance>,
    /// Those that go because the group becomes smaller or leaves a zone.
    pub(super) surplus: Vec<Instance>,
}

/// Settles instances, variables and links of a deploy.
pub(super) async fn prepare(
    run: &TaskRun,
    plan: &Plan,
    stemcells: &Stemcells,
    options: &DeployOptions,
) -> Result<Prepared, TaskFailure> {
    let deployments = &run.director.inner.deployments;
    placement::migrate(run, plan);
    let row = deployments
        .find(run.deployment.as_ref())
        .unwrap_or_default();
    let obsolete = placement::obsolete(plan, &row)?;
    let mut groups = Vec::new();
    for group in &plan.groups {
        let settled = placement::settle(run, group, &row)?;
        let targets = if has_vms(group, &settled.kept) {
            let mut targets = Vec::new();
            for (location, instance) in settled.kept.iter().enumerate() {
                let spec = plan.machine(group, instance.az.as_deref(), stemcells);
                targets.push(target(run, instance, location, group, spec, options).await?);
            }
            targets
        } else {
            Vec::new()
        };
        groups.push(PreparedGroup {
            targets,
            surplus: settled.surplus,
        });
    }
    let linked = linked(plan, &groups);
    let mut links = Links::resolve(run, plan, &linked)?;
    let found = std::mem::take(&mut links.found);
    let settled = match options.action {
        UpdateAction::Deploy => Some(run.director.inner.links.settle(&run.deployment, found)),
        UpdateAction::ChangeStates => None,
    };
    let variables = generate(run, plan, &linked).await?;
    Ok(Prepared {
        groups,
        obsolete,
        links,
        settled,
        variables,
    })
}

pub(super) fn linked_as_deployed(plan: &Plan, row: &Deployment) -> LinkedInstances {
    let groups = plan.groups.iter();
    groups
        .map(|group| {
            let instances = row.group(&group.name);
            (
                group.name.clone(),
                instances.iter().map(linked_instance).collect(),
            )
        })
        .collect()
}

fn has_vms(group: &PlannedGroup, instances: &[Instance]) -> bool {
    group.lifecycle == Lifecycle::Service || instances.iter().any(|instance| instance.vm.is_some())
}

fn linked(plan: &Plan, groups: &[PreparedGroup]) -> LinkedInstances {
    let groups = plan.groups.iter().zip(groups);
    groups
        .map(|(group, prepared)| {
            let instances = prepared.targets.iter().map(|target| LinkedInstance {
                id: target.id,
                index: target.index,
                az: target.az.clone(),
                address: Some(target.vm.address().to_string()),
            });
            (group.name.clone(), instances.collect())
        })
        .collect()
}

fn linked_instance(instance: &Instance) -> LinkedInstance {
    LinkedInstance {
        id: instance.id,
        index: instance.index,
        az: instance.az.clone(),
        address: instance.vm.as_ref().map(|vm| vm.address().to_string()),
    }
}
