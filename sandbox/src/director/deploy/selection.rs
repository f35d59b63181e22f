//! Which instances an errand runs on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    error::ManifestError,
    plan::{Plan, PlannedGroup},
};
use crate::{
    cpi::JobName,
    director::{
        deployments::{Deployment, Instance, InstanceState, Lifecycle},
        ids::{DeploymentName, GroupName, InstanceId},
        tasks::TaskFailure,
    },
};

/// Selects instances of a group: one by uuid, index or `first`, or all of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::director) struct InstanceSelector {
    group: Option<GroupName>,
    id: Option<Value>,
}

pub(super) enum Errand<'a> {
    Job {
        job: JobName,
        groups: Vec<&'a PlannedGroup>,
        is_group_too: bool,
    },
    /// An errand group: the job that it runs.
    Group {
        job: JobName,
        group: &'a PlannedGroup,
    },
}

/// The instances that the selectors of a call match, all of them if there is no selector.
pub(super) struct Matched {
    ids: BTreeSet<InstanceId>,
    /// Selectors that match nothing, as they stood in the call.
    pub(super) unmatched: Vec<Value>,
}

/// A group with the instances on which an errand runs.
pub(super) struct Selected<'a> {
    pub(super) group: &'a PlannedGroup,
    pub(super) job: JobName,
    pub(super) instances: Vec<Instance>,
    /// Whether more than one instance of the group is matched.
    pub(super) is_parallel: bool,
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

/// Resolves an errand's name: a job with an errand, or an errand group.
pub(super) fn errand<'a>(name: &str, plan: &'a Plan) -> Result<Errand<'a>, TaskFailure> {
    let has_job = |group: &&PlannedGroup| {
        let mut jobs = group.jobs.iter();
        jobs.any(|job| job.name.as_ref() == name && job.job.is_errand())
    };
    let groups: Vec<&PlannedGroup> = plan.groups.iter().filter(has_job).collect();
    let group = plan.group(&name.to_owned().into());
    if !groups.is_empty() {
        return Ok(Errand::Job {
            job: name.to_owned().into(),
            groups,
            is_group_too: group.is_some(),
        });
    }
    let no_such = || TaskFailure::NoSuchErrand(name.to_owned());
    let group = group.ok_or_else(no_such)?;
    if group.lifecycle != Lifecycle::Errand {
        return Err(ManifestError::NotAnErrand(group.name.clone()).into());
    }
    let job = group.jobs.iter().find(|job| job.job.is_errand());
    let job = job.ok_or_else(no_such)?.name.clone();
    Ok(Errand::Group { job, group })
}

impl Matched {
    /// Matches the selectors of a call against the instances of a deployment.
    pub(super) fn new(row: &Deployment, selectors: &[InstanceSelector]) -> Self {
        let is_matched = |instance: &&Instance| {
            selectors.is_empty() || selectors.iter().any(|one| one.selects(instance, row))
        };
        let matched = row.instances.iter().filter(is_matched);
        let is_unmatched = |selector: &&InstanceSelector| {
            let mut instances = row.instances.iter();
            !row.instances.is_empty() && !instances.any(|one| selector.selects(one, row))
        };
        let unmatched = selectors.iter().filter(is_unmatched);
        Self {
            ids: matched.map(|instance| instance.id).collect(),
            unmatched: unmatched.map(InstanceSelector::as_sent).collect(),
        }
    }

    /// No errand runs while one of these instances is stopped, whether it would run there or not (cloudfoundry/bosh,
    /// pull request 2339).
    pub(super) fn must_not_be_stopped(&self, row: &Deployment) -> Result<(), ManifestError> {
        let is_stopped = |instance: &&Instance| {
            self.ids.contains(&instance.id) && instance.state == InstanceState::Stopped
        };
        let stopped = row.instances.iter().filter(is_stopped);
        let names: Vec<String> = stopped
            .map(|instance| format!("{}/{}", instance.group, instance.id))
            .collect();
        if names.is_empty() {
            Ok(())
        } else {
            Err(ManifestError::StoppedInstances(names))
        }
    }
}

/// The matched instances of the errand's groups. Of an errand group it is the first one alone.
pub(super) fn selected<'a>(
    errand: Errand<'a>,
    deployment: &DeploymentName,
    row: &Deployment,
    selectors: &[InstanceSelector],
    matched: &Matched,
) -> Result<Vec<Selected<'a>>, TaskFailure> {
    let (job, groups) = match errand {
        Errand::Job { job, groups, .. } => (job, groups),
        Errand::Group { group, .. } if row.group(&group.name).is_empty() => {
            return Err(ManifestError::NoErrandInstance {
                deployment: deployment.clone(),
                errand: group.name.to_string(),
            }
            .into());
        }
        Errand::Group { .. } if !selectors.is_empty() => {
            return Err(ManifestError::FilterOnErrandGroup.into());
        }
        Errand::Group { job, group } => (job, vec![group]),
    };
    let is_matched = |instance: &&Instance| matched.ids.contains(&instance.id);
    let selected = groups.into_iter().map(|group| {
        let instances = row.group(&group.name);
        let candidates = match group.lifecycle {
            Lifecycle::Errand => &instances[..instances.len().min(1)],
            Lifecycle::Service => &instances[..],
        };
        Selected {
            group,
            job: job.clone(),
            is_parallel: instances.iter().filter(is_matched).count() > 1,
            instances: candidates.iter().filter(is_matched).cloned().collect(),
        }
    });
    Ok(selected.collect())
}

impl InstanceSelector {
    fn selects(&self, instance: &Instance, row: &Deployment) -> bool {
        let group = self.group.as_ref() == Some(&instance.group);
        let id = match &self.id {
            None | Some(Value::Null) => true,
            Some(Value::Number(index)) => index.as_u64() == Some(u64::from(instance.index)),
            Some(Value::String(id)) => {
                id.is_empty()
                    || (id == "first" && is_first(instance, row))
                    || *id == instance.index.to_string()
                    || *id == instance.id.to_string()
            }
            Some(_) => false,
        };
        group && id
    }

    /// As it stood in the call.
    fn as_sent(&self) -> Value {
        let mut members = serde_json::Map::new();
        if let Some(group) = &self.group {
            members.insert("group".to_owned(), Value::String(group.to_string()));
        }
        if let Some(id) = &self.id {
            members.insert("id".to_owned(), id.clone());
        }
        Value::Object(members)
    }
}

/// The first of a group is the one whose id sorts first.
fn is_first(instance: &Instance, row: &Deployment) -> bool {
    let mut others = row.instances.iter();
    others.all(|other| {
        other.group != instance.group || other.id.to_string() >= instance.id.to_string()
    })
}
