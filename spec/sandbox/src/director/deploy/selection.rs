//! Which instances an errand runs on.

use serde::Deserialize;
use serde_json::Value;

use super::plan::{Plan, PlannedGroup};
use crate::{
    cpi::JobName,
    director::{
        deployments::{Deployment, Instance, Lifecycle},
        ids::GroupName,
        tasks::TaskFailure,
    },
};

/// Selects instances of a group: one by uuid, index or `first`, or all of them.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::director) struct InstanceSelector {
    group: Option<GroupName>,
    id: Option<Value>,
}

/// What an errand's name stands for.
pub(super) struct Errand<'a> {
    /// The groups with a job to run, each with that job.
    pub(super) places: Vec<(&'a PlannedGroup, JobName)>,
}

/// The names of all errands: groups first, then jobs, without duplicates.
pub(super) fn names(plan: &Plan) -> Vec<String> {
    let groups = plan
        .groups
        .iter()
        .filter(|group| group.lifecycle == Lifecycle::Errand)
        .map(|group| group.name.to_string());
    let jobs = plan.groups.iter().flat_map(|group| &group.jobs);
    let jobs = jobs
        .filter(|job| job.job.is_errand())
        .map(|job| job.name.to_string());
    let mut names = Vec::new();
    for name in groups.chain(jobs) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Finds what an errand's name stands for: a job that can be run, or else an errand group.
pub(super) fn errand<'a>(name: &str, plan: &'a Plan) -> Result<Errand<'a>, TaskFailure> {
    let of_job = places(plan, |_, job| job.as_ref() == name);
    let places = if of_job.is_empty() {
        places(plan, |group, _| {
            group.lifecycle == Lifecycle::Errand && group.name.as_ref() == name
        })
    } else {
        of_job
    };
    if places.is_empty() {
        Err(TaskFailure::NoSuchErrand(name.to_owned()))
    } else {
        Ok(Errand { places })
    }
}

fn places(
    plan: &Plan,
    fits: impl Fn(&PlannedGroup, &JobName) -> bool,
) -> Vec<(&PlannedGroup, JobName)> {
    plan.groups
        .iter()
        .filter_map(|group| {
            let job = group
                .jobs
                .iter()
                .find(|job| job.job.is_errand() && fits(group, &job.name))?;
            Some((group, job.name.clone()))
        })
        .collect()
}

/// The instances of the errand's groups that pass a selector; all of them if there is no selector.
pub(super) fn instances<'a>(
    errand: &Errand<'a>,
    row: &Deployment,
    selectors: &[InstanceSelector],
    as_sent: &Value,
) -> Result<Vec<(&'a PlannedGroup, JobName, Instance)>, TaskFailure> {
    let mut selected = Vec::new();
    for (group, job) in &errand.places {
        let instances = row.group(&group.name);
        for (place, instance) in instances.into_iter().enumerate() {
            let is_first = place == 0;
            if selectors.is_empty()
                || selectors
                    .iter()
                    .any(|selector| selector.selects(&instance, is_first))
            {
                selected.push((*group, job.clone(), instance));
            }
        }
    }
    if selected.is_empty() && !selectors.is_empty() {
        return Err(TaskFailure::NoInstanceSelected(as_sent.clone()));
    }
    Ok(selected)
}

impl InstanceSelector {
    fn selects(&self, instance: &Instance, is_first: bool) -> bool {
        let group = self
            .group
            .as_ref()
            .is_none_or(|group| *group == instance.group);
        let id = match &self.id {
            None | Some(Value::Null) => true,
            Some(Value::Number(index)) => index.as_u64() == Some(u64::from(instance.index)),
            Some(Value::String(id)) => {
                (id == "first" && is_first)
                    || *id == instance.index.to_string()
                    || *id == instance.id.to_string()
            }
            Some(_) => false,
        };
        group && id
    }
}
