//! Checks that the broker does not make, and a Director makes only during the deployment or later.

use super::{ManifestBuilderError, Presence, WantedGroup};
use crate::manifest::{InstanceGroup, JobProperty, Manifest, Update};
use crate::protocol::{LifecycleErrand, LifecycleErrands, MaxInFlight, Plan};

pub(super) fn groups_are_asked_for_once(
    groups: &[WantedGroup],
) -> Result<(), ManifestBuilderError> {
    for (nth, group) in groups.iter().enumerate() {
        if groups[..nth]
            .iter()
            .any(|earlier| earlier.name == group.name)
        {
            return Err(ManifestBuilderError::RepeatedInstanceGroup {
                group: group.name.clone(),
            });
        }
    }
    Ok(())
}

pub(super) fn needed_groups_are_there(
    groups: &[WantedGroup],
    plan: &Plan,
) -> Result<(), ManifestBuilderError> {
    let missing: Vec<_> = groups
        .iter()
        .filter(|group| {
            group.presence == Presence::Needed && plan.instance_group(&group.name).is_none()
        })
        .map(|group| group.name.clone())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let existing = &plan.instance_groups;
    Err(ManifestBuilderError::MissingInstanceGroups {
        missing,
        existing: existing.iter().map(|group| group.name.clone()).collect(),
    })
}

pub(super) fn property_of_no_job(property: JobProperty<'_>) -> ManifestBuilderError {
    ManifestBuilderError::PropertyOfNoJob {
        property: property.to_string(),
    }
}

pub(super) fn manifest_is_deployable(manifest: &Manifest) -> Result<(), ManifestBuilderError> {
    for release in &manifest.releases {
        version_is_exact(|| format!("release `{}`", release.name), &release.version)?;
    }
    for stemcell in &manifest.stemcells {
        version_is_exact(
            || format!("stemcell `{}`", stemcell.alias),
            &stemcell.version,
        )?;
    }
    for group in &manifest.instance_groups {
        group_is_deployable(manifest, group)?;
    }
    manifest
        .update
        .as_ref()
        .map_or(Ok(()), update_is_deployable)
}

/// The broker rejects every version that ends in this word (`spec/contracts/adapter-protocol.md`, "What the broker
/// checks in a generated manifest").
fn version_is_exact(
    what: impl FnOnce() -> String,
    version: &str,
) -> Result<(), ManifestBuilderError> {
    if version.is_empty() || version.ends_with("latest") {
        return Err(ManifestBuilderError::InexactVersion {
            what: what(),
            version: version.to_owned(),
        });
    }
    Ok(())
}

fn group_is_deployable(
    manifest: &Manifest,
    group: &InstanceGroup,
) -> Result<(), ManifestBuilderError> {
    let name = || group.name.clone();
    if group.networks.is_empty() {
        return Err(ManifestBuilderError::NoNetwork { group: name() });
    }
    if let Some(lifecycle) = &group.lifecycle
        && !["service", "errand"].contains(&lifecycle.as_str())
    {
        return Err(ManifestBuilderError::UnknownLifecycle {
            group: name(),
            lifecycle: lifecycle.clone(),
        });
    }
    let known = &manifest.stemcells;
    if !known
        .iter()
        .any(|stemcell| stemcell.alias == group.stemcell)
    {
        return Err(ManifestBuilderError::UnknownStemcellAlias {
            group: name(),
            alias: group.stemcell.clone(),
        });
    }
    Ok(())
}

fn update_is_deployable(update: &Update) -> Result<(), ManifestBuilderError> {
    let needed = [
        ("canaries", update.canaries.is_some()),
        ("canary_watch_time", update.canary_watch_time.is_some()),
        ("update_watch_time", update.update_watch_time.is_some()),
        ("max_in_flight", update.max_in_flight.is_some()),
    ];
    if let Some((key, _)) = needed.iter().find(|(_, is_there)| !is_there) {
        return Err(ManifestBuilderError::IncompleteUpdate { key });
    }
    match &update.max_in_flight {
        Some(MaxInFlight::Percentage(percentage)) if !percentage.is_plain() => {
            Err(ManifestBuilderError::InvalidMaxInFlight {
                found: percentage.as_str().to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// A colocated errand must be a job of each group that it runs on. Any other errand must be a job in some group, or an
/// errand group of that name (`spec/contracts/adapter-protocol.md`, "What an author must do", 6).
pub(super) fn errands_are_there(
    manifest: &Manifest,
    errands: &LifecycleErrands,
    elsewhere: &[String],
) -> Result<(), ManifestBuilderError> {
    let here = errands
        .all()
        .filter(|errand| !elsewhere.contains(&errand.name));
    for errand in here {
        let missing = |group: Option<&str>| ManifestBuilderError::MissingErrand {
            errand: errand.name.clone(),
            group: group.map(str::to_owned),
        };
        for group in errand.instance_groups() {
            let hosts = manifest.instance_group(group);
            if hosts.is_none_or(|hosts| hosts.job(&errand.name).is_none()) {
                return Err(missing(Some(group)));
            }
        }
        if errand.instances.is_empty() && !is_somewhere(manifest, errand) {
            return Err(missing(None));
        }
    }
    Ok(())
}

fn is_somewhere(manifest: &Manifest, errand: &LifecycleErrand) -> bool {
    let name = &errand.name;
    let in_a_group = manifest.instance_groups.iter().any(|group| {
        let is_errand_group = group.lifecycle.as_deref() == Some("errand");
        group.job(name).is_some() || (is_errand_group && group.name == *name)
    });
    let mut addons = manifest.addons.iter().flatten();
    in_a_group || addons.any(|addon| addon.jobs.iter().any(|job| job.name == *name))
}
