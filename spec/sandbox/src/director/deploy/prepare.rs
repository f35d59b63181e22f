//! Settles which instances a deployment will have, generates its variables and resolves its links.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::{
    links::{LinkedInstance, LinkedInstances, Links, addresses_behind},
    manifest::{Manifest, VariableSpec},
    plan::{CloudNames, Plan, PlannedGroup, Surroundings},
};
use crate::{
    cpi::{DiskCid, Vm},
    director::{
        Director,
        deployments::{Deployment, Digest, Instance, Lifecycle},
        ids::{DeploymentName, InstanceId},
        tasks::{TaskFailure, TaskRun},
        variables::{IfPresent, VariableRequest, absolute_name},
    },
};

/// An instance that will have a VM.
#[derive(Clone)]
pub(super) struct TargetInstance {
    pub(super) id: InstanceId,
    pub(super) index: u32,
    pub(super) label: String,
    pub(super) vm: Vm,
    /// Whether the VM has been created, or only reserved.
    pub(super) vm_exists: bool,
    pub(super) disk: Option<DiskCid>,
    pub(super) applied: Option<Digest>,
}

/// A deployment, ready to be rendered.
pub(super) struct Prepared {
    /// In the order of the plan's groups.
    pub(super) groups: Vec<PreparedGroup>,
    /// Instances of groups that the manifest no longer has.
    pub(super) obsolete: Vec<Instance>,
    pub(super) links: Links,
    /// The declared variables: absolute name ⇒ id of the value.
    pub(super) variables: BTreeMap<String, Uuid>,
}

/// The instances of one group.
pub(super) struct PreparedGroup {
    /// Those that will have VMs: all of a service group, none of an errand group.
    pub(super) targets: Vec<TargetInstance>,
    /// Those that go because the group becomes smaller.
    pub(super) surplus: Vec<Instance>,
}

/// Reads a manifest and checks it against what this Director has.
pub(super) fn planned(
    director: &Director,
    deployment: &DeploymentName,
    document: &Value,
) -> Result<Plan, TaskFailure> {
    let manifest = Manifest::read(document)?;
    let teams = director
        .inner
        .deployments
        .find(deployment.as_ref())
        .map(|row| row.teams)
        .unwrap_or_default();
    let surroundings = Surroundings {
        settings: &director.inner.settings,
        catalog: director.inner.cpi.catalog(),
        cloud: CloudNames::of(&director.inner.configs.in_force("cloud", &teams)),
    };
    Plan::new(manifest, &surroundings)
}

/// Settles instances, variables and links of a deploy.
pub(super) async fn prepare(run: &TaskRun, plan: &Plan) -> Result<Prepared, TaskFailure> {
    let deployments = &run.director.inner.deployments;
    let row = deployments
        .find(run.deployment.as_ref())
        .unwrap_or_default();
    let mut groups = Vec::new();
    for group in &plan.groups {
        groups.push(settle(run, group, &row)?);
    }
    let obsolete = row
        .instances
        .iter()
        .filter(|instance| plan.group(&instance.group).is_none())
        .cloned()
        .collect();
    let linked = linked(plan, &groups);
    let links = Links::resolve(&run.deployment, plan, &linked)?;
    let variables = generate(run, plan, &linked).await?;
    Ok(Prepared {
        groups,
        obsolete,
        links,
        variables,
    })
}

/// The target for an instance that exists. Reserves a VM when it has none.
pub(super) fn target(
    run: &TaskRun,
    instance: &Instance,
    group: &PlannedGroup,
) -> Result<TargetInstance, TaskFailure> {
    let vm = match &instance.vm {
        Some(vm) => vm.clone(),
        None => run
            .director
            .inner
            .cpi
            .reserve_vm()
            .map_err(TaskFailure::create_vm)?,
    };
    let disk = group.has_disk.then(|| {
        let new = || format!("disk-{}", Uuid::new_v4()).into();
        instance.disk.clone().unwrap_or_else(new)
    });
    Ok(TargetInstance {
        id: instance.id,
        index: instance.index,
        label: instance.label(),
        vm,
        vm_exists: instance.vm.is_some(),
        disk,
        applied: instance.applied.clone(),
    })
}

/// The instances of a deployment as they are, for links.
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

/// Keeps the instances with the lowest indexes, and adds new ones where there are too few.
fn settle(
    run: &TaskRun,
    group: &PlannedGroup,
    row: &Deployment,
) -> Result<PreparedGroup, TaskFailure> {
    let wanted = usize::try_from(group.instances).unwrap_or(usize::MAX);
    let mut kept = row.group(&group.name);
    let surplus = kept.split_off(wanted.min(kept.len()));
    let free: Vec<u32> = (0..)
        .filter(|index| kept.iter().all(|instance| instance.index != *index))
        .take(wanted - kept.len())
        .collect();
    let new = free.into_iter().map(|index| new_instance(group, index));
    let new: Vec<Instance> = new.collect();
    let deployments = &run.director.inner.deployments;
    deployments.update(&run.deployment, |row| {
        row.instances.extend(new.iter().cloned());
    });
    kept.extend(new);
    let targets = match group.lifecycle {
        Lifecycle::Errand => Vec::new(),
        Lifecycle::Service => kept
            .iter()
            .map(|instance| target(run, instance, group))
            .collect::<Result<_, _>>()?,
    };
    Ok(PreparedGroup { targets, surplus })
}

fn new_instance(group: &PlannedGroup, index: u32) -> Instance {
    let az = usize::try_from(index)
        .ok()
        .and_then(|index| group.azs.get(index.checked_rem(group.azs.len())?));
    Instance {
        id: InstanceId::random(),
        group: group.name.clone(),
        index,
        az: az.cloned(),
        lifecycle: group.lifecycle,
        vm: None,
        disk: None,
        applied: None,
    }
}

fn linked(plan: &Plan, groups: &[PreparedGroup]) -> LinkedInstances {
    let groups = plan.groups.iter().zip(groups);
    groups
        .map(|(group, prepared)| {
            let instances = prepared.targets.iter().map(|target| LinkedInstance {
                id: target.id,
                index: target.index,
                az: new_instance(group, target.index).az,
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

/// Makes sure that every declared variable has a value, in the order of the manifest: authorities come first there.
async fn generate(
    run: &TaskRun,
    plan: &Plan,
    instances: &LinkedInstances,
) -> Result<BTreeMap<String, Uuid>, TaskFailure> {
    let director = &run.director.inner;
    let absolute =
        |name: &str| absolute_name(name, &director.settings.name, run.deployment.as_ref());
    let mut declared = BTreeMap::new();
    for variable in &plan.variables {
        let mut options = variable.options.clone();
        if let Some(Value::String(ca)) = options.get_mut("ca") {
            *ca = absolute(ca);
        }
        add_addresses(variable, &mut options, plan, instances);
        let request = VariableRequest {
            name: absolute(&variable.name),
            kind: variable.kind.clone(),
            options,
            if_present: if variable.overwrite {
                IfPresent::Overwrite
            } else {
                IfPresent::Keep
            },
        };
        let id = director.variables.ensure(&request).await.map_err(|fault| {
            TaskFailure::VariableGeneration {
                name: request.name.clone(),
                kind: request.kind.clone(),
                reason: fault.to_string(),
            }
        })?;
        declared.insert(request.name, id);
    }
    Ok(declared)
}

/// What a variable takes from links becomes part of its options. There is no DNS here, so addresses stand for names.
fn add_addresses(
    variable: &VariableSpec,
    options: &mut serde_json::Map<String, Value>,
    plan: &Plan,
    instances: &LinkedInstances,
) {
    for (what, provider) in &variable.consumes {
        let addresses = addresses_behind(provider, plan, instances).unwrap_or_default();
        match what.as_str() {
            "alternative_name" => {
                let names = options
                    .entry("alternative_names")
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(names) = names {
                    names.extend(addresses.into_iter().map(Value::String));
                }
            }
            "common_name" if !options.contains_key("common_name") => {
                if let Some(address) = addresses.into_iter().next() {
                    options.insert("common_name".to_owned(), Value::String(address));
                }
            }
            _ => {}
        }
    }
}
