//! A deployment manifest as the Director reads it: what it needs is typed, what it does not know is left.

use serde_json::{Map, Value};

use super::{
    error::ManifestError,
    group_spec::{GroupSpec, JobSpec},
    spec::Spec,
    states::StateChange,
    update_spec::{UpdateOverrides, UpdateSpec},
};
use crate::{
    credhub::Mode,
    director::{deployments::NameVersion, tasks::TaskFailure},
};

pub(super) struct Manifest {
    pub(super) releases: Vec<NameVersion>,
    pub(super) stemcells: Vec<StemcellRef>,
    pub(super) groups: Vec<GroupSpec>,
    pub(super) addons: Vec<AddonSpec>,
    pub(super) variables: Vec<VariableSpec>,
}

pub(super) struct StemcellRef {
    pub(super) alias: String,
    pub(super) wanted: WantedStemcell,
    pub(super) version: String,
}

pub(super) enum WantedStemcell {
    Name(String),
    Os(String),
}

/// Jobs that are added to every instance group.
pub(super) struct AddonSpec {
    pub(super) jobs: Vec<JobSpec>,
}

pub(super) struct VariableSpec {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) options: Map<String, Value>,
    pub(super) mode: Mode,
    /// Values from links, such as `alternative_name`, with the provider's name.
    pub(super) consumes: Vec<(String, String)>,
}

impl Manifest {
    /// Parses a manifest with the options of the call. The first error ends it, as with a real Director.
    pub(super) fn read(
        document: &Value,
        overrides: &UpdateOverrides,
        state: Option<&StateChange>,
    ) -> Result<Self, TaskFailure> {
        let spec = Spec::new(document);
        refuse_cloud_sections(&spec)?;
        overrides.check()?;
        let stemcells = stemcells(&spec)?;
        let properties = spec.optional_map("properties")?;
        let releases = releases(&spec)?;
        let update = UpdateSpec::of_deployment(&spec.map("update")?, overrides)?;
        let groups: Vec<GroupSpec> = spec
            .optional_list("instance_groups")?
            .iter()
            .map(|spec| GroupSpec::read(spec, &properties, update, overrides, state))
            .collect::<Result<_, _>>()?;
        refuse_equal_names(&groups)?;
        let features = spec.optional_map("features")?;
        let mode_of_all = match features.get("converge_variables") {
            Some(Value::Bool(true)) => Mode::Converge,
            _ => Mode::NoOverwrite,
        };
        let variables = spec
            .optional_list("variables")?
            .iter()
            .map(|spec| variable(spec, mode_of_all))
            .collect::<Result<_, _>>()?;
        let addons = spec
            .optional_list("addons")?
            .iter()
            .map(addon)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            releases,
            stemcells,
            groups,
            addons,
            variables,
        })
    }
}

/// Sections that were part of manifests before there were cloud configs.
fn refuse_cloud_sections(spec: &Spec<'_>) -> Result<(), TaskFailure> {
    for section in ["vm_types", "azs", "disk_types", "compilation"] {
        if spec.0.contains_key(section) {
            return Err(ManifestError::SectionOfCloudConfig(section).into());
        }
    }
    Ok(())
}

fn stemcells(spec: &Spec<'_>) -> Result<Vec<StemcellRef>, TaskFailure> {
    let mut stemcells: Vec<StemcellRef> = Vec::new();
    for spec in spec.optional_list("stemcells")? {
        let stemcell = stemcell(&spec)?;
        if stemcells.iter().any(|known| known.alias == stemcell.alias) {
            return Err(ManifestError::DuplicateStemcellAlias(stemcell.alias).into());
        }
        stemcells.push(stemcell);
    }
    Ok(stemcells)
}

fn stemcell(spec: &Spec<'_>) -> Result<StemcellRef, TaskFailure> {
    let alias = spec.text("alias")?;
    let wanted = match (spec.optional_text("name")?, spec.optional_text("os")?) {
        (Some(name), None) => WantedStemcell::Name(name),
        (None, Some(os)) => WantedStemcell::Os(os),
        (Some(_), Some(_)) => {
            let said = Value::Object(spec.0.clone());
            return Err(ManifestError::StemcellBothNameAndOs(said).into());
        }
        (None, None) => {
            let said = Value::Object(spec.0.clone());
            return Err(ManifestError::StemcellNeitherNameNorOs(said).into());
        }
    };
    Ok(StemcellRef {
        alias,
        wanted,
        version: spec.text("version")?,
    })
}

fn releases(spec: &Spec<'_>) -> Result<Vec<NameVersion>, TaskFailure> {
    let mut releases: Vec<NameVersion> = Vec::new();
    for spec in spec.list("releases")? {
        let release = NameVersion {
            name: spec.text("name")?,
            version: spec.text("version")?,
        };
        if releases.iter().any(|known| known.name == release.name) {
            return Err(ManifestError::DuplicateRelease(release.name).into());
        }
        releases.push(release);
    }
    Ok(releases)
}

fn refuse_equal_names(groups: &[GroupSpec]) -> Result<(), TaskFailure> {
    for (location, group) in groups.iter().enumerate() {
        if groups[..location]
            .iter()
            .any(|earlier| canonical(&earlier.name) == canonical(&group.name))
        {
            return Err(ManifestError::DuplicateGroup(group.name.clone()).into());
        }
    }
    Ok(())
}

fn canonical(name: &impl AsRef<str>) -> String {
    name.as_ref().to_lowercase().replace('_', "-")
}

/// An addon is taken as it is: filters (`include`, `exclude`) are not looked at.
fn addon(spec: &Spec<'_>) -> Result<AddonSpec, TaskFailure> {
    spec.required("name")?;
    let properties = spec.optional_map("properties")?;
    let jobs = spec.list("jobs")?;
    let jobs = jobs.iter().map(|job| JobSpec::read(job, &properties));
    Ok(AddonSpec {
        jobs: jobs.collect::<Result<_, _>>()?,
    })
}

fn variable(spec: &Spec<'_>, mode_of_all: Mode) -> Result<VariableSpec, TaskFailure> {
    let consumes = spec.optional_map("consumes")?;
    Ok(VariableSpec {
        name: spec.text("name")?,
        kind: spec.text("type")?,
        options: spec.optional_map("options")?,
        mode: update_mode(spec, mode_of_all)?,
        consumes: consumes
            .iter()
            .filter_map(|(what, link)| Some((what.clone(), link.get("from")?.as_str()?.to_owned())))
            .collect(),
    })
}

/// How a variable's existing value is treated.
fn update_mode(spec: &Spec<'_>, mode_of_all: Mode) -> Result<Mode, TaskFailure> {
    let mode = spec.optional_text("update_mode")?;
    let known = mode.map(|mode| serde_json::from_value(Value::String(mode)));
    // A real Director ignores an unknown mode, too.
    Ok(known.and_then(Result::ok).unwrap_or(mode_of_all))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(document: &Value) -> Result<Manifest, TaskFailure> {
        Manifest::read(document, &UpdateOverrides::default(), None)
    }

    #[test]
    fn a_manifest_of_a_name_alone_lacks_its_releases() {
        let failure = read(&json!({"name": "service-instance_bad1"}))
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
        let manifest = read(&json!({
            "releases": [{"name": "r", "version": 7}],
            "update": {"canaries": 1, "max_in_flight": "50%", "canary_watch_time": 1, "update_watch_time": 1},
            "properties": {"a": {"x": 1, "y": 1}},
            "instance_groups": [{
                "name": "g", "instances": 1, "vm_type": "v", "stemcell": "s", "networks": [{"name": "n"}],
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
        assert_eq!(group.update.max_in_flight(4).unwrap(), 2);
    }

    #[test]
    fn what_belongs_into_a_cloud_config_is_refused() {
        let failure = read(&json!({"name": "d", "azs": []})).err().unwrap();
        assert_eq!(failure.code(), 190_014);
    }
}
