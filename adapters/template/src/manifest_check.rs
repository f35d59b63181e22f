//! Checks for errors in a manifest that the broker or the Director would report later, or not at all
//! (`spec/contracts/adapter-protocol.md`, "What an author must do").

use std::collections::{BTreeMap, BTreeSet};

use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::manifest::Manifest;
use odb_adapter_sdk::protocol::GenerateManifest;
use odb_adapter_sdk::secrets::Reference;
use serde_json::Value;

use crate::near::NearNames;
use crate::path::{ManifestPath, first_found};
use crate::secrets::Decided;

pub(crate) struct Made<'m> {
    pub(crate) call: &'m GenerateManifest,
    pub(crate) manifest: &'m Manifest,
    pub(crate) document: &'m Value,
    /// As it is answered.
    pub(crate) text: &'m str,
    pub(crate) locations: &'m BTreeMap<String, Vec<ManifestPath>>,
    pub(crate) decided: &'m Decided,
}

/// No message contains a value of a property.
pub(crate) fn check(made: &Made<'_>) -> Result<(), AdapterError> {
    name_and_versions(made)?;
    if made.manifest.update.is_none() {
        return wrong("the manifest has no `update` block, which the Director refuses");
    }
    references(made)?;
    placeholders(made)?;
    kept_secrets(made)?;
    errands(made)
}

/// Checks other texts than the manifest, each with its name, which must not contain placeholders.
pub(crate) fn without_placeholders(
    mut texts: impl Iterator<Item = (String, String)>,
) -> Result<(), AdapterError> {
    let found = texts.find_map(|(location, text)| {
        let name = placeholder_names(&text).next()?;
        Some(format!(
            "{location} has the placeholder `((odb_secret:{name}))`, which the broker replaces only in the manifest"
        ))
    });
    found.map_or(Ok(()), wrong)
}

fn name_and_versions(made: &Made<'_>) -> Result<(), AdapterError> {
    let expected = &made.call.service_deployment.deployment_name;
    if made.manifest.name != *expected {
        return wrong(format!(
            "the manifest must be named like the deployment, `{expected}`"
        ));
    }
    let releases = made.manifest.releases.iter();
    let releases = releases.map(|release| ("release", &release.name, &release.version));
    let stemcells = made.manifest.stemcells.iter();
    let stemcells = stemcells.map(|stemcell| ("stemcell", &stemcell.alias, &stemcell.version));
    let mut inexact = releases
        .chain(stemcells)
        .filter(|(_, _, version)| version.is_empty() || version.ends_with("latest"));
    match inexact.next() {
        None => Ok(()),
        Some((what, name, version)) => wrong(format!(
            "{what} `{name}` has version `{version}`: versions must be exact"
        )),
    }
}

/// Jobs name releases, and groups stemcells, of the manifest.
fn references(made: &Made<'_>) -> Result<(), AdapterError> {
    let releases: BTreeSet<&String> = made.manifest.releases.iter().map(|one| &one.name).collect();
    let stemcells: BTreeSet<&String> = made
        .manifest
        .stemcells
        .iter()
        .map(|one| &one.alias)
        .collect();
    for group in &made.manifest.instance_groups {
        let used = group.jobs.iter().map(|job| ("release", &job.release));
        for (what, name) in used.chain([("stemcell", &group.stemcell)]) {
            let listed = if what == "release" {
                &releases
            } else {
                &stemcells
            };
            if !listed.contains(name) {
                let group = &group.name;
                let near = NearNames::to(name, listed.iter().copied());
                return wrong(format!(
                    "instance group `{group}` uses {what} `{name}`, which the manifest does not list; {near}"
                ));
            }
        }
    }
    Ok(())
}

/// Each placeholder has a value now, or is one that a broker without secure manifests has left.
fn placeholders(made: &Made<'_>) -> Result<(), AdapterError> {
    let previous = made.call.previous_manifest.as_ref();
    let left: BTreeSet<&str> = previous
        .map(|manifest| placeholder_names(manifest.as_str()).collect())
        .unwrap_or_default();
    let mut without = placeholder_names(made.text)
        .filter(|name| !made.decided.entries.contains_key(*name) && !left.contains(name));
    match without.next() {
        None => Ok(()),
        Some(name) => wrong(format!(
            "placeholder `((odb_secret:{name}))` has no value: declare the secret in `adapter.yml`"
        )),
    }
}

fn placeholder_names(text: &str) -> impl Iterator<Item = &str> {
    Reference::all_in(text).filter_map(|reference| reference.placeholder())
}

/// A secret that is not found again would be made anew at each call.
fn kept_secrets(made: &Made<'_>) -> Result<(), AdapterError> {
    for (name, reference) in &made.decided.references {
        let locations = made.locations.get(name).map(Vec::as_slice);
        let locations = locations.unwrap_or_default();
        let Some(reference) = reference else {
            continue;
        };
        if first_found(locations, Some(made.document)) != Some(reference) {
            let location = locations.first().map(ToString::to_string);
            let location = location.unwrap_or_default();
            return wrong(format!(
                "secret `{name}` must be at `{location}`, where `adapter.yml` declares it"
            ));
        }
    }
    Ok(())
}

/// An errand of its own is a job of a group; a colocated one is a job of the groups that it names.
fn errands(made: &Made<'_>) -> Result<(), AdapterError> {
    let errands = &made.call.plan.lifecycle_errands;
    for errand in errands.post_deploy.iter().chain(&errands.pre_delete) {
        let groups = &made.manifest.instance_groups;
        let has = |group: &str| {
            let mut groups = groups.iter().filter(|one| one.name == group);
            groups.any(|group| group.job(&errand.name).is_some())
        };
        let missing = if errand.instances.is_empty() {
            let mut groups = groups.iter();
            let is_there = groups.any(|group| group.job(&errand.name).is_some());
            (!is_there).then(|| "an instance group must have a job of that name".to_owned())
        } else {
            let mut instances = errand.instances.iter();
            instances
                .find(|instance| !has(instance.split('/').next().unwrap_or_default()))
                .map(|instance| format!("the plan wants it colocated on `{instance}`"))
        };
        if let Some(expected) = missing {
            let errand = &errand.name;
            return wrong(format!(
                "lifecycle errand `{errand}` is not in the manifest: {expected}"
            ));
        }
    }
    Ok(())
}

fn wrong(message: impl Into<String>) -> Result<(), AdapterError> {
    Err(AdapterError::for_operator(message.into()))
}
