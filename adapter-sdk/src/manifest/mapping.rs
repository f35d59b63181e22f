use super::{InstanceGroup, Job, MigratedFrom, Network};
use crate::protocol::{PlanInstanceGroup, ServiceRelease};

/// Which jobs run in which instance group: pairs of a group's name and the names of its jobs.
pub type JobsByGroup<'a> = &'a [(&'a str, &'a [&'a str])];

/// A job that cannot be attributed to one release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum JobReleaseError {
    #[error("job `{job}` not provided")]
    NotProvided { job: String },
    #[error("job `{job}` provided {} times, by {}", releases.len(), releases.join(", "))]
    Ambiguous { job: String, releases: Vec<String> },
}

/// Why the instance groups of a manifest could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum MapInstanceGroupsError {
    #[error("no instance groups provided")]
    NoInstanceGroups,
    #[error(transparent)]
    Job(#[from] JobReleaseError),
}

/// The one release that has a job.
pub fn find_release_for_job<'r>(
    job: &str,
    releases: &'r [ServiceRelease],
) -> Result<&'r ServiceRelease, JobReleaseError> {
    let providers: Vec<_> = releases
        .iter()
        .filter(|release| release.jobs.iter().any(|provided| provided == job))
        .collect();
    match providers.as_slice() {
        [] => Err(JobReleaseError::NotProvided {
            job: job.to_owned(),
        }),
        [release] => Ok(release),
        several => Err(JobReleaseError::Ambiguous {
            job: job.to_owned(),
            releases: several.iter().map(|release| release.name.clone()).collect(),
        }),
    }
}

/// The instance groups of a manifest, from those of a plan: in the plan's order, each with the jobs named for it. A
/// group without jobs is left out (`spec/contracts/adapter-protocol.md`, "Helper functions of the SDK").
///
/// This is the function of the Go SDK, which also ignores a group that the plan lacks. The adapter adds the rest:
/// properties, links, `env`, `update`. A [`ManifestBuilder`](super::ManifestBuilder) does all of it.
pub fn map_instance_groups(
    groups: &[PlanInstanceGroup],
    releases: &[ServiceRelease],
    stemcell_alias: &str,
    jobs: JobsByGroup<'_>,
) -> Result<Vec<InstanceGroup>, MapInstanceGroupsError> {
    if groups.is_empty() {
        return Err(MapInstanceGroupsError::NoInstanceGroups);
    }
    let mut mapped = Vec::new();
    for group in groups {
        let Some((_, names)) = jobs.iter().find(|(name, _)| *name == group.name) else {
            continue;
        };
        let mut instance_group = InstanceGroup::from(group);
        stemcell_alias.clone_into(&mut instance_group.stemcell);
        for name in *names {
            let release = find_release_for_job(name, releases)?;
            instance_group.jobs.push(Job::new(*name, &release.name));
        }
        mapped.push(instance_group);
    }
    Ok(mapped)
}

impl From<&PlanInstanceGroup> for InstanceGroup {
    /// Everything that the plan says of the group; jobs and stemcell are still to be set.
    fn from(group: &PlanInstanceGroup) -> Self {
        let stated = |list: &Vec<String>| Some(list.clone()).filter(|list| !list.is_empty());
        let migrated_from: Vec<_> = group
            .migrated_from
            .iter()
            .map(|earlier| MigratedFrom {
                name: earlier.name.clone(),
                ..MigratedFrom::default()
            })
            .collect();
        Self {
            vm_type: Some(group.vm_type.clone()),
            vm_extensions: stated(&group.vm_extensions),
            persistent_disk_type: group.persistent_disk_type.clone(),
            azs: stated(&group.azs),
            lifecycle: group.lifecycle.clone(),
            networks: group.networks.iter().map(Network::new).collect(),
            migrated_from: Some(migrated_from).filter(|list| !list.is_empty()),
            ..Self::new(&group.name, group.instances)
        }
    }
}
