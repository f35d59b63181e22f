//! A manifest, checked against what has been uploaded to the Director and against its cloud configs.

use std::{collections::BTreeSet, sync::Arc};

use odb_adapter_sdk::yaml;
use serde_json::{Map, Value, json};

use super::{
    interpolation::declared,
    manifest::{
        CustomProvider, Disk, GroupSpec, JobSpec, Manifest, StemcellRef, UpdateSpec, VariableSpec,
        WantedStemcell,
    },
};
use crate::{
    cpi::{Job, JobCatalog, JobName},
    director::{
        DirectorSettings, UploadedRelease,
        configs::Config,
        deployments::{Lifecycle, NameVersion},
        ids::GroupName,
        tasks::{Reference, TaskFailure},
    },
};

/// What a manifest is checked against.
pub(super) struct Surroundings<'a> {
    pub(super) settings: &'a DirectorSettings,
    pub(super) catalog: &'a JobCatalog,
    pub(super) cloud: CloudNames,
}

/// The names that the cloud configs in force define.
#[derive(Default)]
pub(super) struct CloudNames {
    azs: BTreeSet<String>,
    vm_types: BTreeSet<String>,
    vm_extensions: BTreeSet<String>,
    disk_types: BTreeSet<String>,
    networks: BTreeSet<String>,
}

/// A deployment as it is to be.
pub(super) struct Plan {
    pub(super) releases: Vec<NameVersion>,
    pub(super) groups: Vec<PlannedGroup>,
    pub(super) variables: Vec<VariableSpec>,
    stemcells: Vec<StemcellRef>,
}

/// An instance group as it is to be.
pub(super) struct PlannedGroup {
    pub(super) name: GroupName,
    pub(super) lifecycle: Lifecycle,
    pub(super) instances: u32,
    pub(super) azs: Vec<String>,
    pub(super) has_disk: bool,
    pub(super) jobs: Vec<PlannedJob>,
    pub(super) update: UpdateSpec,
    /// What, besides its rendered jobs, makes its VMs differ from those of before.
    pub(super) vm_settings: String,
}

/// A job of an instance group as it is to be.
pub(super) struct PlannedJob {
    pub(super) name: JobName,
    pub(super) job: Arc<Job>,
    /// The declared properties only, with defaults; references to variables still in them.
    pub(super) properties: Value,
    pub(super) provides: Map<String, Value>,
    pub(super) consumes: Map<String, Value>,
    pub(super) custom_providers: Vec<CustomProvider>,
}

impl Plan {
    /// Checks a manifest. Stemcells come later, in [`Plan::stemcells_in_use`], as with a real Director.
    pub(super) fn new(
        manifest: Manifest,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, TaskFailure> {
        let releases: Vec<&UploadedRelease> = manifest
            .releases
            .iter()
            .map(|wanted| uploaded_release(wanted, surroundings.settings))
            .collect::<Result<_, _>>()?;
        let groups = manifest
            .groups
            .into_iter()
            .map(|spec| group(spec, &releases, &manifest.stemcells, surroundings))
            .collect::<Result<_, _>>()?;
        let releases = releases.into_iter().map(|release| NameVersion {
            name: release.name.clone(),
            version: release.version.clone(),
        });
        Ok(Self {
            releases: releases.collect(),
            groups,
            variables: manifest.variables,
            stemcells: manifest.stemcells,
        })
    }

    /// The uploaded stemcells that the manifest means.
    pub(super) fn stemcells_in_use(
        &self,
        settings: &DirectorSettings,
    ) -> Result<Vec<NameVersion>, TaskFailure> {
        self.stemcells
            .iter()
            .map(|wanted| {
                let fits = settings.stemcells.iter().rev().find(|uploaded| {
                    let kind = match &wanted.wanted {
                        WantedStemcell::Name(name) => *name == uploaded.name,
                        WantedStemcell::Os(os) => *os == uploaded.os,
                    };
                    kind && fits_version(&wanted.version, &uploaded.version)
                });
                let stemcell = fits.ok_or_else(|| TaskFailure::NoSuchStemcell(missing(wanted)))?;
                Ok(NameVersion {
                    name: stemcell.name.clone(),
                    version: stemcell.version.clone(),
                })
            })
            .collect()
    }

    /// The group of this name.
    pub(super) fn group(&self, name: &GroupName) -> Option<&PlannedGroup> {
        self.groups.iter().find(|group| group.name == *name)
    }
}

impl CloudNames {
    /// The names in all these configs. A config that is no YAML defines none.
    pub(super) fn of(configs: &[Config]) -> Self {
        let mut names = Self::default();
        for config in configs {
            let Ok(content) = yaml::from_str::<Value>(&config.content) else {
                continue;
            };
            let lists = [
                ("azs", &mut names.azs),
                ("vm_types", &mut names.vm_types),
                ("vm_extensions", &mut names.vm_extensions),
                ("disk_types", &mut names.disk_types),
                ("networks", &mut names.networks),
            ];
            for (key, known) in lists {
                let items = content
                    .get(key)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                known.extend(items.filter_map(|item| Some(item.get("name")?.as_str()?.to_owned())));
            }
        }
        names
    }
}

fn uploaded_release<'a>(
    wanted: &NameVersion,
    settings: &'a DirectorSettings,
) -> Result<&'a UploadedRelease, TaskFailure> {
    let of_name = || {
        settings
            .releases
            .iter()
            .filter(|release| release.name == wanted.name)
    };
    if of_name().next().is_none() {
        return Err(TaskFailure::NoSuchRelease(wanted.name.clone()));
    }
    of_name()
        .rfind(|release| fits_version(&wanted.version, &release.version))
        .ok_or_else(|| TaskFailure::NoSuchReleaseVersion {
            name: wanted.name.clone(),
            version: wanted.version.clone(),
        })
}

/// Whether an uploaded version is the wanted one. `latest` means the one uploaded last, `1.latest` the last of a line.
fn fits_version(wanted: &str, uploaded: &str) -> bool {
    match wanted.strip_suffix("latest") {
        Some(line) => uploaded.starts_with(line),
        None => wanted == uploaded,
    }
}

fn missing(stemcell: &StemcellRef) -> String {
    let version = &stemcell.version;
    match &stemcell.wanted {
        WantedStemcell::Name(name) => format!("Stemcell '{name}/{version}' doesn't exist"),
        WantedStemcell::Os(os) => {
            format!("Stemcell version '{version}' for OS '{os}' doesn't exist")
        }
    }
}

fn group(
    spec: GroupSpec,
    releases: &[&UploadedRelease],
    stemcells: &[StemcellRef],
    surroundings: &Surroundings<'_>,
) -> Result<PlannedGroup, TaskFailure> {
    let used: Vec<&UploadedRelease> = spec
        .jobs
        .iter()
        .map(|job| release_of(job, &spec.name, releases))
        .collect::<Result<_, _>>()?;
    check_references(&spec, stemcells, &surroundings.cloud)?;
    let stemcell = stemcells
        .iter()
        .find(|stemcell| stemcell.alias == spec.stemcell);
    let vm_settings = json!({
        "vm_type": spec.vm_type,
        "vm_extensions": spec.vm_extensions,
        "stemcell": stemcell.map(|stemcell| &stemcell.version),
        "networks": spec.networks,
        "azs": spec.azs,
        "releases": used.iter().map(|release| [&release.name, &release.version]).collect::<Vec<_>>(),
    });
    let jobs = spec
        .jobs
        .into_iter()
        .zip(used)
        .map(|(job, release)| planned_job(job, release, surroundings.catalog))
        .collect::<Result<_, _>>()?;
    Ok(PlannedGroup {
        name: spec.name,
        lifecycle: spec.lifecycle,
        instances: spec.instances,
        azs: spec.azs,
        has_disk: !matches!(spec.disk, Disk::None),
        jobs,
        update: spec.update,
        vm_settings: vm_settings.to_string(),
    })
}

fn check_references(
    spec: &GroupSpec,
    stemcells: &[StemcellRef],
    cloud: &CloudNames,
) -> Result<(), TaskFailure> {
    let unknown = |what, name: &String| {
        Err(TaskFailure::UnknownReference {
            group: spec.name.clone(),
            what,
            name: name.clone(),
        })
    };
    if let Disk::OfType(disk_type) = &spec.disk
        && !cloud.disk_types.contains(disk_type)
    {
        return unknown(Reference::DiskType, disk_type);
    }
    if let Some(vm_type) = &spec.vm_type
        && !cloud.vm_types.contains(vm_type)
    {
        return unknown(Reference::VmType, vm_type);
    }
    if let Some(name) = first_unknown(&spec.vm_extensions, &cloud.vm_extensions) {
        return Err(TaskFailure::UnknownVmExtension(name.clone()));
    }
    if !stemcells
        .iter()
        .any(|stemcell| stemcell.alias == spec.stemcell)
    {
        return unknown(Reference::Stemcell, &spec.stemcell);
    }
    if let Some(name) = first_unknown(&spec.networks, &cloud.networks) {
        return unknown(Reference::Network, name);
    }
    if let Some(name) = first_unknown(&spec.azs, &cloud.azs) {
        return unknown(Reference::AvailabilityZone, name);
    }
    Ok(())
}

fn first_unknown<'a>(names: &'a [String], known: &BTreeSet<String>) -> Option<&'a String> {
    names.iter().find(|name| !known.contains(*name))
}

/// The release that a job comes from: the one it names, or the only one.
fn release_of<'a>(
    job: &JobSpec,
    group: &GroupName,
    releases: &[&'a UploadedRelease],
) -> Result<&'a UploadedRelease, TaskFailure> {
    let found = match (&job.release, releases) {
        (None, [only]) => Some(*only),
        (None, _) => None,
        (Some(name), all) => all.iter().copied().find(|release| release.name == *name),
    };
    found.ok_or_else(|| TaskFailure::UnknownRelease {
        job: job.name.clone(),
        group: group.clone(),
        release: job.release.clone().unwrap_or_default(),
    })
}

fn planned_job(
    spec: JobSpec,
    release: &UploadedRelease,
    catalog: &JobCatalog,
) -> Result<PlannedJob, TaskFailure> {
    let job = catalog
        .job(spec.name.as_ref())
        .filter(|_| release.jobs.contains(&spec.name))
        .ok_or_else(|| TaskFailure::NoSuchJob(spec.name.clone()))?;
    Ok(PlannedJob {
        name: spec.name,
        properties: declared(job, &spec.properties),
        job: Arc::clone(job),
        provides: spec.provides,
        consumes: spec.consumes,
        custom_providers: spec.custom_providers,
    })
}
