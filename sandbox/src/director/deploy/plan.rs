//! A manifest, checked against what has been uploaded to the Director and against its cloud configs.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    cloud::CloudConfig,
    error::ManifestError,
    group_spec::{CustomProvider, DiskSpec, GroupSpec, JobSpec, Machine},
    interpolation::declared,
    manifest::{AddonSpec, Manifest, StemcellRef, VariableSpec},
    networks::{GroupNetwork, networks},
    states::Requested,
    update_spec::UpdateSpec,
    uploads::{release_version, stemcell_version},
};
use crate::{
    cpi::{Job, JobCatalog, JobName},
    director::{
        UploadedRelease, Uploads,
        deployments::{InstanceSpec, Lifecycle, NameVersion},
        ids::GroupName,
        tasks::{Reference, TaskFailure},
    },
};

/// What a manifest is checked against.
pub(super) struct Dependencies<'a> {
    pub(super) uploads: &'a Uploads,
    pub(super) catalog: &'a JobCatalog,
    pub(super) cloud: Arc<CloudConfig>,
}

pub(super) struct Plan {
    pub(super) releases: Vec<NameVersion>,
    pub(super) groups: Vec<PlannedGroup>,
    pub(super) variables: Vec<VariableSpec>,
    stemcells: Vec<StemcellRef>,
    cloud: Arc<CloudConfig>,
}

pub(super) struct PlannedGroup {
    pub(super) name: GroupName,
    pub(super) lifecycle: Lifecycle,
    pub(super) instances: u32,
    /// The zones over which the instances are spread; none when the manifest does not say.
    pub(super) zones: Vec<String>,
    pub(super) networks: Vec<GroupNetwork>,
    pub(super) disk: Option<PlannedDisk>,
    pub(super) jobs: Vec<PlannedJob>,
    pub(super) update: UpdateSpec,
    pub(super) migrated_from: Vec<GroupName>,
    pub(super) requested: Requested,
    machine: Machine,
    vm_extensions: Vec<String>,
    stemcell: String,
    env: Map<String, Value>,
}

/// The persistent disk of each instance of a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedDisk {
    /// In MiB.
    pub(super) size: u64,
    pub(super) cloud_properties: Value,
}

/// A job of an instance group as it is to be.
pub(super) struct PlannedJob {
    pub(super) name: JobName,
    pub(super) job: Arc<Job>,
    pub(super) release: NameVersion,
    /// The declared properties only, with defaults; references to variables still in them.
    pub(super) properties: Value,
    pub(super) provides: Map<String, Value>,
    pub(super) consumes: Map<String, Value>,
    pub(super) custom_providers: Vec<CustomProvider>,
}

/// The uploaded stemcells that a manifest means: alias ⇒ stemcell.
pub(super) type Stemcells = BTreeMap<String, NameVersion>;

impl Plan {
    /// Checks a manifest. Stemcells come later, in [`Plan::stemcells`], as with a real Director.
    pub(super) fn new(
        manifest: Manifest,
        dependencies: &Dependencies<'_>,
    ) -> Result<Self, TaskFailure> {
        let releases: Vec<&UploadedRelease> = manifest
            .releases
            .iter()
            .map(|wanted| release_version(wanted, &dependencies.uploads.releases))
            .collect::<Result<_, _>>()?;
        let mut groups: Vec<PlannedGroup> = manifest
            .groups
            .into_iter()
            .map(|spec| group(spec, &releases, &manifest.stemcells, dependencies))
            .collect::<Result<_, _>>()?;
        for addon in &manifest.addons {
            add(addon, &mut groups, &releases, dependencies.catalog)?;
        }
        check_migrations(&groups)?;
        let releases = releases.into_iter().map(name_version);
        Ok(Self {
            releases: releases.collect(),
            groups,
            variables: manifest.variables,
            stemcells: manifest.stemcells,
            cloud: Arc::clone(&dependencies.cloud),
        })
    }

    pub(super) fn stemcells(&self, uploads: &Uploads) -> Result<Stemcells, TaskFailure> {
        self.stemcells
            .iter()
            .map(|wanted| {
                let stemcell = stemcell_version(wanted, &uploads.stemcells)?;
                Ok((wanted.alias.clone(), stemcell))
            })
            .collect()
    }

    pub(super) fn group(&self, name: &GroupName) -> Option<&PlannedGroup> {
        self.groups.iter().find(|group| group.name == *name)
    }

    pub(super) fn machine(
        &self,
        group: &PlannedGroup,
        zone: Option<&str>,
        stemcells: &Stemcells,
    ) -> InstanceSpec {
        let vm_type = group.vm_type();
        let of_type = self
            .cloud
            .properties_of_vm(zone, vm_type, &group.vm_extensions);
        let cloud_properties = match &group.machine {
            Machine::OfType(_) => of_type,
            Machine::WithResources(resources) => resources.clone(),
        };
        InstanceSpec {
            vm_type: vm_type.map(str::to_owned),
            cloud_properties,
            stemcell: stemcells.get(&group.stemcell).cloned(),
        }
    }
}

impl PlannedGroup {
    /// The VM type, unless the manifest gives resources in its place.
    pub(super) fn vm_type(&self) -> Option<&str> {
        match &self.machine {
            Machine::OfType(vm_type) => Some(vm_type),
            Machine::WithResources(_) => None,
        }
    }

    /// What, besides cloud properties and stemcell, takes a new VM when it changes.
    pub(super) fn vm_settings(&self) -> String {
        let networks: Vec<&String> = self.networks.iter().map(|network| &network.name).collect();
        json!({"env": self.env, "networks": networks}).to_string()
    }

    /// The releases of its jobs, whose packages are on its VMs.
    pub(super) fn packages(&self) -> String {
        let packages: Vec<[&str; 3]> = self
            .jobs
            .iter()
            .map(|job| {
                [
                    job.name.as_ref(),
                    job.release.name.as_str(),
                    job.release.version.as_str(),
                ]
            })
            .collect();
        json!(packages).to_string()
    }
}

fn group(
    spec: GroupSpec,
    releases: &[&UploadedRelease],
    stemcells: &[StemcellRef],
    dependencies: &Dependencies<'_>,
) -> Result<PlannedGroup, TaskFailure> {
    let jobs = spec
        .jobs
        .iter()
        .map(|job| {
            let release = release_of(job, &spec.name, releases)?;
            planned_job(job.clone(), release, dependencies.catalog)
        })
        .collect::<Result<_, _>>()?;
    let cloud = &dependencies.cloud;
    let disk = disk(&spec, cloud)?;
    check_machine(&spec, stemcells, cloud)?;
    let networks = networks(&spec, cloud)?;
    let zones = zones(&spec, cloud)?;
    Ok(PlannedGroup {
        name: spec.name,
        lifecycle: spec.lifecycle,
        instances: spec.instances,
        zones,
        networks,
        disk,
        jobs,
        update: spec.update,
        migrated_from: spec.migrated_from,
        requested: spec.requested,
        machine: spec.machine,
        vm_extensions: spec.vm_extensions,
        stemcell: spec.stemcell,
        env: spec.env,
    })
}

fn disk(spec: &GroupSpec, cloud: &CloudConfig) -> Result<Option<PlannedDisk>, TaskFailure> {
    match &spec.disk {
        DiskSpec::None => Ok(None),
        DiskSpec::OfSize(size) => Ok(Some(PlannedDisk {
            size: *size,
            cloud_properties: json!({}),
        })),
        DiskSpec::OfType(name) => match cloud.disk_types.get(name) {
            Some(disk_type) => Ok(Some(PlannedDisk {
                size: disk_type.size,
                cloud_properties: disk_type.cloud_properties.clone(),
            })),
            None => unknown(spec, Reference::DiskType, name),
        },
    }
}

fn check_machine(
    spec: &GroupSpec,
    stemcells: &[StemcellRef],
    cloud: &CloudConfig,
) -> Result<(), TaskFailure> {
    if let Machine::OfType(vm_type) = &spec.machine
        && !cloud.vm_types.contains_key(vm_type)
    {
        return unknown(spec, Reference::VmType, vm_type);
    }
    let mut extensions = spec.vm_extensions.iter();
    if let Some(name) = extensions.find(|name| !cloud.vm_extensions.contains_key(*name)) {
        return Err(TaskFailure::UnknownVmExtension(name.clone()));
    }
    if stemcells
        .iter()
        .all(|stemcell| stemcell.alias != spec.stemcell)
    {
        return unknown(spec, Reference::Stemcell, &spec.stemcell);
    }
    Ok(())
}

fn zones(spec: &GroupSpec, cloud: &CloudConfig) -> Result<Vec<String>, TaskFailure> {
    let Some(zones) = &spec.azs else {
        return Ok(Vec::new());
    };
    if zones.is_empty() {
        return Err(ManifestError::NoZones(spec.name.clone()).into());
    }
    match zones.iter().find(|zone| !cloud.zones.contains_key(*zone)) {
        Some(zone) => unknown(spec, Reference::AvailabilityZone, zone),
        None => Ok(zones.clone()),
    }
}

fn unknown<T>(spec: &GroupSpec, what: Reference, name: &str) -> Result<T, TaskFailure> {
    Err(TaskFailure::UnknownReference {
        group: spec.name.clone(),
        what,
        name: name.to_owned(),
    })
}

/// The release that a job comes from: the one it names, or the only one.
fn release_of<'a>(
    job: &JobSpec,
    group: &GroupName,
    releases: &[&'a UploadedRelease],
) -> Result<&'a UploadedRelease, TaskFailure> {
    match (&job.release, releases) {
        (None, [only]) => Ok(only),
        (None, _) => Err(ManifestError::ReleaseNotSpecified {
            group: group.clone(),
            job: job.name.clone(),
        }
        .into()),
        (Some(name), all) => {
            let found = all.iter().copied().find(|release| release.name == *name);
            found.ok_or_else(|| TaskFailure::UnknownRelease {
                job: job.name.clone(),
                group: group.clone(),
                release: name.clone(),
            })
        }
    }
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
        release: name_version(release),
        provides: spec.provides,
        consumes: spec.consumes,
        custom_providers: spec.custom_providers,
    })
}

/// Adds the jobs of an addon to every group that does not have them.
fn add(
    addon: &AddonSpec,
    groups: &mut [PlannedGroup],
    releases: &[&UploadedRelease],
    catalog: &JobCatalog,
) -> Result<(), TaskFailure> {
    for group in groups {
        for job in &addon.jobs {
            if group.jobs.iter().any(|present| present.name == job.name) {
                let (group, job) = (group.name.clone(), job.name.clone());
                return Err(ManifestError::DuplicateJob { group, job }.into());
            }
            let release = release_of(job, &group.name, releases)?;
            group.jobs.push(planned_job(job.clone(), release, catalog)?);
        }
    }
    Ok(())
}

/// The instances of a former group go to one group, which takes its place.
fn check_migrations(groups: &[PlannedGroup]) -> Result<(), ManifestError> {
    for group in groups {
        for from in &group.migrated_from {
            let names = || (from.clone(), group.name.clone());
            let is_specified = groups
                .iter()
                .any(|other| other.name == *from && other.name != group.name);
            if is_specified {
                let (from, to) = names();
                return Err(ManifestError::MigratesAndSpecifies { from, to });
            }
            let goes_elsewhere = groups
                .iter()
                .any(|other| other.name != group.name && other.migrated_from.contains(from));
            if goes_elsewhere {
                let (from, to) = names();
                return Err(ManifestError::MigratesTwice { from, to });
            }
        }
    }
    Ok(())
}

fn name_version(release: &UploadedRelease) -> NameVersion {
    NameVersion {
        name: release.name.clone(),
        version: release.version.clone(),
    }
}
