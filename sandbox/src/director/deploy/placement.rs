//! Which instances a group keeps, which it loses, and where new ones go.

use super::{
    error::ManifestError,
    plan::{Plan, PlannedGroup},
    states::Requested,
};
use crate::director::{
    deployments::{Attention, Deployment, Instance, InstanceState},
    ids::InstanceId,
    tasks::TaskRun,
};

pub(super) struct Settled {
    pub(super) kept: Vec<Instance>,
    /// Those that go because the group becomes smaller or leaves a zone.
    pub(super) surplus: Vec<Instance>,
}

/// Hands the instances of former groups over to those that take their places.
pub(super) fn migrate(run: &TaskRun, plan: &Plan) {
    if plan
        .groups
        .iter()
        .all(|group| group.migrated_from.is_empty())
    {
        return;
    }
    let deployments = &run.director.inner.deployments;
    deployments.update(&run.deployment, |row| {
        for group in &plan.groups {
            for from in &group.migrated_from {
                let moved: Vec<InstanceId> = row
                    .instances
                    .iter()
                    .filter(|instance| instance.group == *from && *from != group.name)
                    .map(|instance| instance.id)
                    .collect();
                for id in moved {
                    let index = free_indexes(&row.group(&group.name)).next().unwrap_or(0);
                    if let Some(instance) = row.instances.iter_mut().find(|one| one.id == id) {
                        instance.group.clone_from(&group.name);
                        instance.index = index;
                        // Templates can read the name of their group.
                        instance.applied = None;
                    }
                }
            }
        }
    });
}

/// Instances of groups that the manifest does not have.
pub(super) fn obsolete(plan: &Plan, row: &Deployment) -> Result<Vec<Instance>, ManifestError> {
    let obsolete: Vec<Instance> = row
        .instances
        .iter()
        .filter(|instance| plan.group(&instance.group).is_none())
        .cloned()
        .collect();
    match obsolete.iter().find(|instance| is_ignored(instance)) {
        Some(ignored) => Err(ManifestError::DeletesIgnoredGroup(ignored.group.clone())),
        None => Ok(obsolete),
    }
}

/// Keeps the instances with the lowest indexes, ignored ones first, and adds new ones where there are too few.
pub(super) fn settle(
    run: &TaskRun,
    group: &PlannedGroup,
    row: &Deployment,
) -> Result<Settled, ManifestError> {
    let existing = row.group(&group.name);
    check_ignored(group, &existing)?;
    let (mut kept, mut surplus): (Vec<Instance>, Vec<Instance>) = existing
        .iter()
        .cloned()
        .partition(|instance| is_ignored(instance) || fits(group, instance));
    kept.sort_by_key(|instance| (!is_ignored(instance), instance.index));
    let wanted = usize::try_from(group.instances).unwrap_or(usize::MAX);
    surplus.extend(kept.split_off(wanted.min(kept.len())));
    kept.sort_by_key(|instance| instance.index);

    let mut indexes = free_indexes(&existing);
    let mut new = Vec::new();
    while kept.len() < wanted {
        let Some(index) = indexes.next() else { break };
        let instance = new_instance(group, index, emptiest_zone(group, &kept));
        new.push(instance.clone());
        kept.push(instance);
    }
    for instance in &mut kept {
        instance.lifecycle = group.lifecycle;
    }
    let deployments = &run.director.inner.deployments;
    deployments.update(&run.deployment, |row| {
        row.instances.extend(new);
        for instance in &mut row.instances {
            if instance.group == group.name {
                instance.lifecycle = group.lifecycle;
            }
        }
    });
    Ok(Settled { kept, surplus })
}

fn check_ignored(group: &PlannedGroup, existing: &[Instance]) -> Result<(), ManifestError> {
    let ignored: Vec<&Instance> = existing.iter().filter(|one| is_ignored(one)).collect();
    if let Requested::OfOne(index, _) = group.requested
        && let Some(instance) = ignored.iter().find(|instance| instance.index == index)
    {
        return Err(ManifestError::StateOfIgnored {
            group: group.name.clone(),
            id: instance.id,
        });
    }
    if u32::try_from(ignored.len()).is_ok_and(|ignored| ignored <= group.instances) {
        return Ok(());
    }
    Err(ManifestError::DeletesIgnoredInstances {
        group: group.name.clone(),
        ignored: ignored.len(),
        wanted: group.instances,
    })
}

fn fits(group: &PlannedGroup, instance: &Instance) -> bool {
    match &instance.az {
        None => group.zones.is_empty(),
        Some(zone) => group.zones.contains(zone),
    }
}

fn is_ignored(instance: &Instance) -> bool {
    instance.attention == Attention::Ignored
}

fn free_indexes(existing: &[Instance]) -> impl Iterator<Item = u32> + use<> {
    let taken: Vec<u32> = existing.iter().map(|instance| instance.index).collect();
    (0..u32::MAX).filter(move |index| !taken.contains(index))
}

/// The zone with the fewest instances, the first of several.
fn emptiest_zone(group: &PlannedGroup, kept: &[Instance]) -> Option<String> {
    let population = |zone: &String| {
        kept.iter()
            .filter(|instance| instance.az.as_ref() == Some(zone))
            .count()
    };
    group
        .zones
        .iter()
        .min_by_key(|zone| population(zone))
        .cloned()
}

fn new_instance(group: &PlannedGroup, index: u32, az: Option<String>) -> Instance {
    Instance {
        id: InstanceId::random(),
        group: group.name.clone(),
        index,
        az,
        lifecycle: group.lifecycle,
        state: InstanceState::Started,
        attention: Attention::Managed,
        vm: None,
        vips: Vec::new(),
        disk: None,
        spec: None,
        machine: None,
        applied: None,
        address: None,
    }
}
