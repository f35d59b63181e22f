//! An instance group as a manifest has it.
//!
//! A job of an instance group or an addon, as a manifest has it.

use std::net::Ipv4Addr;

use serde_json::{Map, Value};

use super::{
    addresses::static_addresses,
    error::ManifestError,
    spec::Spec,
    states::{Requested, StateChange},
    update_spec::{UpdateOverrides, UpdateSpec},
};
use crate::{
    cpi::JobName,
    director::{deployments::Lifecycle, ids::GroupName, tasks::TaskFailure},
};

pub(super) struct GroupSpec {
    pub(super) name: GroupName,
    pub(super) lifecycle: Lifecycle,
    pub(super) instances: u32,
    /// None when the manifest does not say.
    pub(super) azs: Option<Vec<String>>,
    pub(super) machine: Machine,
    pub(super) vm_extensions: Vec<String>,
    pub(super) stemcell: String,
    pub(super) env: Map<String, Value>,
    pub(super) disk: DiskSpec,
    pub(super) networks: Vec<NetworkSpec>,
    pub(super) jobs: Vec<JobSpec>,
    pub(super) update: UpdateSpec,
    pub(super) migrated_from: Vec<GroupName>,
    /// What the call requests of its instances.
    pub(super) requested: Requested,
}

pub(super) enum Machine {
    OfType(String),
    WithResources(Value),
}

/// The persistent disk of each instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DiskSpec {
    None,
    /// In MiB.
    OfSize(u64),
    OfType(String),
}

#[derive(Clone)]
pub(super) struct NetworkSpec {
    pub(super) name: String,
    pub(super) defaults: Vec<String>,
    /// An address for each instance, if the manifest gives them.
    pub(super) static_addresses: Option<Vec<Ipv4Addr>>,
}

impl GroupSpec {
    /// Reads a group, in the order of a real Director's errors.
    pub(super) fn read(
        spec: &Spec<'_>,
        global: &Map<String, Value>,
        update_of_all: UpdateSpec,
        overrides: &UpdateOverrides,
        state: Option<&StateChange>,
    ) -> Result<Self, TaskFailure> {
        let name: GroupName = spec.text("name")?.into();
        let lifecycle = lifecycle(spec, &name)?;
        if spec.value("jobs").is_none() {
            return Err(ManifestError::NoJobs(name).into());
        }
        let mut properties = global.clone();
        merge(&mut properties, spec.optional_map("properties")?);
        let jobs = jobs(spec, &name, &properties)?;
        let disk = disk(spec, &name)?;
        let machine = machine(spec, &name)?;
        let stemcell = spec.text("stemcell")?;
        let update_spec = spec.optional_map("update")?;
        let update = UpdateSpec::of_group(&Spec(&update_spec), update_of_all, overrides)?;
        let networks = networks(spec, &name)?;
        let azs = match spec.value("azs") {
            None => None,
            Some(_) => Some(spec.texts("azs")?),
        };
        let migrated_from = spec
            .optional_list("migrated_from")?
            .iter()
            .map(|from| Ok(from.text("name")?.into()))
            .collect::<Result<_, TaskFailure>>()?;
        let instances = spec.required_number("instances")?;
        let requested = state.map_or(Ok(Requested::Nothing), |change| change.of_group(&name))?;
        Ok(Self {
            name,
            lifecycle,
            instances: u32::try_from(instances).unwrap_or(0),
            azs,
            machine,
            vm_extensions: spec.texts("vm_extensions")?,
            stemcell,
            env: spec.optional_map("env")?,
            disk,
            networks,
            jobs,
            update,
            migrated_from,
            requested,
        })
    }
}

fn lifecycle(spec: &Spec<'_>, group: &GroupName) -> Result<Lifecycle, TaskFailure> {
    match spec.optional_text("lifecycle")?.as_deref() {
        None | Some("service") => Ok(Lifecycle::Service),
        Some("errand") => Ok(Lifecycle::Errand),
        Some(other) => Err(TaskFailure::InvalidLifecycle {
            group: group.clone(),
            lifecycle: other.to_owned(),
        }),
    }
}

fn jobs(
    spec: &Spec<'_>,
    group: &GroupName,
    properties: &Map<String, Value>,
) -> Result<Vec<JobSpec>, TaskFailure> {
    let mut jobs: Vec<JobSpec> = Vec::new();
    for spec in spec.optional_list("jobs")? {
        let job = JobSpec::read(&spec, properties)?;
        if jobs.iter().any(|known| known.name == job.name) {
            let (group, job) = (group.clone(), job.name);
            return Err(ManifestError::DuplicateJob { group, job }.into());
        }
        jobs.push(job);
    }
    Ok(jobs)
}

fn disk(spec: &Spec<'_>, group: &GroupName) -> Result<DiskSpec, TaskFailure> {
    let size = spec.number("persistent_disk")?;
    let disk_type = spec.optional_text("persistent_disk_type")?;
    let several = spec.value("persistent_disks").is_some();
    if [size.is_some(), disk_type.is_some(), several]
        .into_iter()
        .filter(|is_said| *is_said)
        .count()
        > 1
    {
        return Err(ManifestError::SeveralDisks(group.clone()).into());
    }
    match (disk_type, size) {
        (Some(disk_type), _) => Ok(DiskSpec::OfType(disk_type)),
        (None, None | Some(0)) => Ok(DiskSpec::None),
        (None, Some(size)) => match u64::try_from(size) {
            Ok(size) => Ok(DiskSpec::OfSize(size)),
            Err(_) => Err(ManifestError::InvalidDiskSize {
                group: group.clone(),
                size,
            }
            .into()),
        },
    }
}

fn machine(spec: &Spec<'_>, group: &GroupName) -> Result<Machine, TaskFailure> {
    match (
        spec.optional_text("vm_type")?,
        spec.value("vm_resources").cloned(),
    ) {
        (Some(vm_type), None) => Ok(Machine::OfType(vm_type)),
        (None, Some(resources)) => Ok(Machine::WithResources(resources)),
        (None, None) => Err(ManifestError::NoVmType(group.clone()).into()),
        (Some(_), Some(_)) => Err(ManifestError::SeveralVmTypes(group.clone()).into()),
    }
}

fn networks(spec: &Spec<'_>, group: &GroupName) -> Result<Vec<NetworkSpec>, TaskFailure> {
    let specs = spec.list("networks")?;
    if specs.is_empty() {
        return Err(ManifestError::NoNetworks(group.clone()).into());
    }
    specs
        .iter()
        .map(|spec| {
            Ok(NetworkSpec {
                name: spec.text("name")?,
                defaults: spec.texts("default")?,
                static_addresses: spec
                    .value("static_ips")
                    .map(|said| static_addresses(said, group))
                    .transpose()?,
            })
        })
        .collect()
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(present)), Value::Object(added)) => merge(present, added),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[derive(Clone)]
pub(super) struct JobSpec {
    pub(super) name: JobName,
    pub(super) release: Option<String>,
    /// The job's own, or else what it inherits.
    pub(super) properties: Map<String, Value>,
    pub(super) provides: Map<String, Value>,
    pub(super) consumes: Map<String, Value>,
    pub(super) custom_providers: Vec<CustomProvider>,
}

#[derive(Clone)]
pub(super) struct CustomProvider {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) properties: Vec<String>,
}

impl JobSpec {
    /// Reads a job. One without `properties` has those that it inherits.
    pub(super) fn read(
        spec: &Spec<'_>,
        inherited: &Map<String, Value>,
    ) -> Result<Self, TaskFailure> {
        let properties = if spec.value("properties").is_some() {
            spec.optional_map("properties")?
        } else {
            inherited.clone()
        };
        Ok(Self {
            name: spec.text("name")?.into(),
            release: spec.optional_text("release")?,
            properties,
            provides: spec.optional_map("provides")?,
            consumes: spec.optional_map("consumes")?,
            custom_providers: spec
                .optional_list("custom_provider_definitions")?
                .iter()
                .map(|custom| {
                    Ok(CustomProvider {
                        name: custom.text("name")?,
                        kind: custom.text("type")?,
                        properties: custom.texts("properties")?,
                    })
                })
                .collect::<Result<_, TaskFailure>>()?,
        })
    }
}
