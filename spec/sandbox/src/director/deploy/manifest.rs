//! A deployment manifest as the Director reads it: what it needs is typed, what it does not know is left.

use serde_json::{Map, Value};

use super::spec::Spec;
use crate::{
    cpi::JobName,
    director::{
        deployments::{Lifecycle, NameVersion},
        ids::GroupName,
        tasks::TaskFailure,
    },
};

/// A manifest.
pub(super) struct Manifest {
    pub(super) releases: Vec<NameVersion>,
    pub(super) stemcells: Vec<StemcellRef>,
    pub(super) groups: Vec<GroupSpec>,
    pub(super) variables: Vec<VariableSpec>,
}

/// A stemcell under the name that instance groups use.
pub(super) struct StemcellRef {
    pub(super) alias: String,
    pub(super) wanted: WantedStemcell,
    pub(super) version: String,
}

/// What a stemcell is chosen by.
pub(super) enum WantedStemcell {
    Name(String),
    Os(String),
}

/// An instance group.
pub(super) struct GroupSpec {
    pub(super) name: GroupName,
    pub(super) lifecycle: Lifecycle,
    pub(super) instances: u32,
    pub(super) azs: Vec<String>,
    pub(super) vm_type: Option<String>,
    pub(super) vm_extensions: Vec<String>,
    pub(super) stemcell: String,
    pub(super) disk: Disk,
    pub(super) networks: Vec<String>,
    pub(super) jobs: Vec<JobSpec>,
    pub(super) update: UpdateSpec,
}

/// The persistent disk of each instance.
pub(super) enum Disk {
    None,
    OfSize,
    OfType(String),
}

/// A job of an instance group.
pub(super) struct JobSpec {
    pub(super) name: JobName,
    pub(super) release: Option<String>,
    /// The job's own, or else the group's merged over the deployment's.
    pub(super) properties: Map<String, Value>,
    pub(super) provides: Map<String, Value>,
    pub(super) consumes: Map<String, Value>,
    pub(super) custom_providers: Vec<CustomProvider>,
}

/// A link that the manifest makes a job provide.
#[derive(Clone)]
pub(super) struct CustomProvider {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) properties: Vec<String>,
}

/// How many instances are updated at a time.
#[derive(Clone, Copy)]
pub(super) struct UpdateSpec {
    pub(super) canaries: Amount,
    pub(super) max_in_flight: Amount,
}

/// A number of instances, or a share of them.
#[derive(Clone, Copy)]
pub(super) enum Amount {
    Count(usize),
    Percent(usize),
}

/// A variable that is to be generated.
pub(super) struct VariableSpec {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) options: Map<String, Value>,
    pub(super) overwrite: bool,
    /// What is taken from links, such as `alternative_name`, ⇒ the provider's name.
    pub(super) consumes: Vec<(String, String)>,
}

impl Manifest {
    /// Reads a manifest. The first fault ends it, as with a real Director.
    pub(super) fn read(document: &Value) -> Result<Self, TaskFailure> {
        let spec = Spec::new(document);
        let releases = spec
            .list("releases")?
            .iter()
            .map(name_version)
            .collect::<Result<_, _>>()?;
        let update = update(&spec.map("update")?, None)?;
        let stemcells = spec
            .optional_list("stemcells")?
            .iter()
            .map(stemcell)
            .collect::<Result<_, _>>()?;
        let properties = spec.optional_map("properties")?;
        let groups = spec
            .optional_list("instance_groups")?
            .iter()
            .map(|spec| group(spec, &properties, update))
            .collect::<Result<_, _>>()?;
        let variables = spec
            .optional_list("variables")?
            .iter()
            .map(variable)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            releases,
            stemcells,
            groups,
            variables,
        })
    }
}

impl Amount {
    /// The number of instances, of a group of `size`.
    pub(super) fn of(self, size: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => size * percent / 100,
        }
    }
}

fn name_version(spec: &Spec<'_>) -> Result<NameVersion, TaskFailure> {
    Ok(NameVersion {
        name: spec.text("name")?,
        version: spec.text("version")?,
    })
}

fn stemcell(spec: &Spec<'_>) -> Result<StemcellRef, TaskFailure> {
    let wanted = match spec.optional_text("name")? {
        Some(name) => WantedStemcell::Name(name),
        None => WantedStemcell::Os(spec.text("os")?),
    };
    Ok(StemcellRef {
        alias: spec.text("alias")?,
        wanted,
        version: spec.text("version")?,
    })
}

fn group(
    spec: &Spec<'_>,
    global: &Map<String, Value>,
    update_of_all: UpdateSpec,
) -> Result<GroupSpec, TaskFailure> {
    let name: GroupName = spec.text("name")?.into();
    let lifecycle = match spec.optional_text("lifecycle")?.as_deref() {
        None | Some("service") => Lifecycle::Service,
        Some("errand") => Lifecycle::Errand,
        Some(other) => {
            return Err(TaskFailure::InvalidLifecycle {
                group: name,
                lifecycle: other.to_owned(),
            });
        }
    };
    let mut properties = global.clone();
    merge(&mut properties, spec.optional_map("properties")?);
    let networks = spec.list("networks")?;
    let disk = match spec.optional_text("persistent_disk_type")? {
        Some(disk_type) => Disk::OfType(disk_type),
        None if spec.number("persistent_disk")?.unwrap_or(0) > 0 => Disk::OfSize,
        None => Disk::None,
    };
    let instances = spec.required_number("instances")?;
    let update_spec = spec.optional_map("update")?;
    Ok(GroupSpec {
        name,
        lifecycle,
        instances: u32::try_from(instances).unwrap_or(u32::MAX),
        azs: spec.texts("azs")?,
        vm_type: spec.optional_text("vm_type")?,
        vm_extensions: spec.texts("vm_extensions")?,
        stemcell: spec.text("stemcell")?,
        disk,
        networks: networks
            .iter()
            .map(|network| network.text("name"))
            .collect::<Result<_, _>>()?,
        jobs: spec
            .optional_list("jobs")?
            .iter()
            .map(|job_spec| job(job_spec, &properties))
            .collect::<Result<_, _>>()?,
        update: update(&Spec(&update_spec), Some(update_of_all))?,
    })
}

fn job(spec: &Spec<'_>, inherited: &Map<String, Value>) -> Result<JobSpec, TaskFailure> {
    let properties = if spec.value("properties").is_some() {
        spec.optional_map("properties")?
    } else {
        inherited.clone()
    };
    Ok(JobSpec {
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

fn update(spec: &Spec<'_>, inherited: Option<UpdateSpec>) -> Result<UpdateSpec, TaskFailure> {
    if inherited.is_none() {
        for key in ["canary_watch_time", "update_watch_time"] {
            spec.required(key)?;
        }
    }
    Ok(UpdateSpec {
        canaries: spec.amount("canaries", inherited.map(|all| all.canaries))?,
        max_in_flight: spec.amount("max_in_flight", inherited.map(|all| all.max_in_flight))?,
    })
}

fn variable(spec: &Spec<'_>) -> Result<VariableSpec, TaskFailure> {
    let consumes = spec.optional_map("consumes")?;
    Ok(VariableSpec {
        name: spec.text("name")?,
        kind: spec.text("type")?,
        options: spec.optional_map("options")?,
        overwrite: spec.optional_text("update_mode")?.as_deref() == Some("overwrite"),
        consumes: consumes
            .iter()
            .filter_map(|(what, link)| Some((what.clone(), link.get("from")?.as_str()?.to_owned())))
            .collect(),
    })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_of_a_name_alone_lacks_its_releases() {
        let failure = Manifest::read(&json!({"name": "service-instance_bad1"}))
            .err()
            .unwrap();
        assert_eq!(failure.code(), 40001);
        assert_eq!(
            failure.to_string(),
            r#"Required property 'releases' was not specified in object ({"name"=>"service-instance_bad1"})"#
        );
    }

    #[test]
    fn properties_of_the_group_reach_jobs_that_have_none_of_their_own() {
        let manifest = Manifest::read(&json!({
            "releases": [{"name": "r", "version": 7}],
            "update": {"canaries": 1, "max_in_flight": "50%", "canary_watch_time": 1, "update_watch_time": 1},
            "properties": {"a": {"x": 1, "y": 1}},
            "instance_groups": [{
                "name": "g", "instances": 1, "stemcell": "s", "networks": [{"name": "n"}],
                "properties": {"a": {"y": 2}},
                "jobs": [{"name": "one"}, {"name": "two", "properties": {"b": 3}}],
            }],
        }))
        .ok()
        .unwrap();
        let group = &manifest.groups[0];
        assert_eq!(manifest.releases[0].version, "7");
        assert_eq!(
            Value::Object(group.jobs[0].properties.clone()),
            json!({"a": {"x": 1, "y": 2}})
        );
        assert_eq!(
            Value::Object(group.jobs[1].properties.clone()),
            json!({"b": 3})
        );
        assert_eq!(group.update.max_in_flight.of(4), 2);
    }
}
