//! Checks for errors in a manifest that the broker or the Director would report later, or not at all
//! (`spec/contracts/adapter-protocol.md`, "What an author must do").

use std::collections::{BTreeMap, BTreeSet};

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

/// Errors in a manifest. No message contains a value of a property.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("the manifest must be named like the deployment, `{expected}`")]
    Name { expected: String },
    #[error("{what} `{name}` has version `{version}`: versions must be exact")]
    NotExact {
        what: &'static str,
        name: String,
        version: String,
    },
    #[error("the manifest has no `update` block, which the Director refuses")]
    NoUpdate,
    #[error(
        "instance group `{group}` uses {what} `{name}`, which the manifest does not list; {near}"
    )]
    Unlisted {
        group: String,
        what: &'static str,
        name: String,
        near: NearNames,
    },
    #[error(
        "placeholder `((odb_secret:{name}))` has no value: declare the secret in `adapter.yml`"
    )]
    PlaceholderWithoutValue { name: String },
    #[error(
        "{location} has the placeholder `((odb_secret:{name}))`, which the broker replaces only in the manifest"
    )]
    PlaceholderElsewhere { location: String, name: String },
    #[error("secret `{name}` must be at `{location}`, where `adapter.yml` declares it")]
    SecretNotKept { name: String, location: String },
    #[error("lifecycle errand `{errand}` is not in the manifest: {expected}")]
    NoErrand { errand: String, expected: String },
}

pub(crate) fn check(made: &Made<'_>) -> Result<(), ManifestError> {
    name_and_versions(made)?;
    if made.manifest.update.is_none() {
        return Err(ManifestError::NoUpdate);
    }
    references(made)?;
    placeholders(made)?;
    kept_secrets(made)?;
    errands(made)
}

/// Checks other texts than the manifest, each with its name, which must not contain placeholders.
pub(crate) fn without_placeholders(
    mut texts: impl Iterator<Item = (String, String)>,
) -> Result<(), ManifestError> {
    let found = texts.find_map(|(location, text)| {
        let name = placeholder_names(&text).next()?.to_owned();
        Some(ManifestError::PlaceholderElsewhere { location, name })
    });
    found.map_or(Ok(()), Err)
}

fn name_and_versions(made: &Made<'_>) -> Result<(), ManifestError> {
    let expected = &made.call.service_deployment.deployment_name;
    if made.manifest.name != *expected {
        return Err(ManifestError::Name {
            expected: expected.clone(),
        });
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
        Some((what, name, version)) => Err(ManifestError::NotExact {
            what,
            name: name.clone(),
            version: version.clone(),
        }),
    }
}

/// Jobs name releases, and groups stemcells, of the manifest.
fn references(made: &Made<'_>) -> Result<(), ManifestError> {
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
                return Err(ManifestError::Unlisted {
                    group: group.name.clone(),
                    what,
                    name: name.clone(),
                    near: NearNames::to(name, listed.iter().copied()),
                });
            }
        }
    }
    Ok(())
}

/// Each placeholder has a value now, or is one that a broker without secure manifests has left.
fn placeholders(made: &Made<'_>) -> Result<(), ManifestError> {
    let previous = made.call.previous_manifest.as_ref();
    let left: BTreeSet<&str> = previous
        .map(|manifest| placeholder_names(manifest.as_str()).collect())
        .unwrap_or_default();
    let mut without = placeholder_names(made.text)
        .filter(|name| !made.decided.entries.contains_key(*name) && !left.contains(name));
    match without.next() {
        None => Ok(()),
        Some(name) => Err(ManifestError::PlaceholderWithoutValue {
            name: name.to_owned(),
        }),
    }
}

fn placeholder_names(text: &str) -> impl Iterator<Item = &str> {
    Reference::all_in(text).filter_map(|reference| reference.placeholder())
}

/// A secret that is not found again would be made anew at each call.
fn kept_secrets(made: &Made<'_>) -> Result<(), ManifestError> {
    for (name, reference) in &made.decided.references {
        let locations = made.locations.get(name).map(Vec::as_slice);
        let locations = locations.unwrap_or_default();
        let Some(reference) = reference else {
            continue;
        };
        if first_found(locations, Some(made.document)) != Some(reference) {
            return Err(ManifestError::SecretNotKept {
                name: name.clone(),
                location: locations
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            });
        }
    }
    Ok(())
}

/// An errand of its own is a job of a group; a colocated one is a job of the groups that it names.
fn errands(made: &Made<'_>) -> Result<(), ManifestError> {
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
            return Err(ManifestError::NoErrand {
                errand: errand.name.clone(),
                expected,
            });
        }
    }
    Ok(())
}
