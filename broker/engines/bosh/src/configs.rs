//! The BOSH configs of an instance: those that its adapter asks for, named after the deployment
//! (`docs/contributing/architecture.md`, "Configs").

use std::collections::{BTreeMap, BTreeSet};

use odb_adapter_sdk::yaml;
use odb_clients::{
    ServiceError,
    director::{Config, ConfigId, ConfigType, DeploymentName, Director, Expected, PutConfigError},
    http::Call,
};
use odb_config::BoshConfigs;
use serde_json::Value;

use crate::{
    error::Error,
    instance::{Instance, config_name},
};

/// The type whose contents manifests refer to by name.
const CLOUD: &str = "cloud";

/// The parts of a cloud config that manifests refer to by name. The others apply without a name.
const NAMED: &[&str] = &["azs", "disk_types", "networks", "vm_extensions", "vm_types"];

/// The versions that configs had before an operation wrote its own, by type; `None` where there was none.
pub(crate) type ReplacedConfigs = BTreeMap<String, Option<ConfigId>>;

/// The versions of configs that go when an operation has succeeded, by type.
pub(crate) type ObsoleteConfigs = BTreeMap<String, ConfigId>;

#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentConfigs(Vec<Config>);

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigChanges {
    /// Written before the work is submitted, by type.
    pub(crate) written: BTreeMap<String, String>,
    /// Deleted when it has succeeded.
    pub(crate) obsolete: Vec<String>,
}

impl CurrentConfigs {
    /// Reads them; `None` where configs are switched off.
    pub(crate) async fn read(instance: Instance<'_>) -> Result<Option<Self>, Error> {
        if instance.engine.upstreams.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        let name = config_name(&instance.name());
        let named = instance
            .director()
            .configs_named(instance.call, &name)
            .await;
        let named = named.map_err(Error::director("read the instance's configs"))?;
        Ok(Some(Self(named)))
    }

    pub(crate) fn contents(&self) -> BTreeMap<String, String> {
        self.0
            .iter()
            .map(|config| (config.kind.to_string(), config.content.clone()))
            .collect()
    }

    /// The versions that writing these configs will replace.
    pub(crate) fn replaced_by(&self, written: &BTreeMap<String, String>) -> ReplacedConfigs {
        let changed = written.iter().filter_map(|(kind, content)| {
            let previous = self.0.iter().find(|config| config.kind.as_str() == kind);
            match previous {
                Some(previous) if previous.content == *content => None,
                previous => Some((kind.clone(), previous.map(|previous| previous.id.clone()))),
            }
        });
        changed.collect()
    }

    pub(crate) fn versions_of(&self, obsolete: &[String]) -> ObsoleteConfigs {
        self.0
            .iter()
            .filter(|config| obsolete.iter().any(|kind| kind == config.kind.as_str()))
            .map(|config| (config.kind.to_string(), config.id.clone()))
            .collect()
    }
}

impl ConfigChanges {
    /// Decides from the configs that the adapter returned with a manifest, and the previous ones.
    ///
    /// A config that is returned empty is deleted. A config that is not returned is deleted if the adapter returned any
    /// configs and the manifest does not need it: adapters of the Go broker rely on a config staying once it was
    /// returned.
    pub(crate) fn new(
        returned: Option<BTreeMap<String, String>>,
        before: &BTreeMap<String, String>,
        manifest: &str,
    ) -> Self {
        let Some(returned) = returned else {
            return Self::default();
        };
        let obsolete = before.iter().filter(|(kind, content)| {
            returned.get(*kind).map_or_else(
                || kind.as_str() == CLOUD && !is_needed(content, manifest),
                |content| is_empty(content),
            )
        });
        Self {
            obsolete: obsolete.map(|(kind, _)| kind.clone()).collect(),
            written: returned
                .into_iter()
                .filter(|(_, content)| !is_empty(content))
                .collect(),
        }
    }
}

pub(crate) async fn write(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
    configs: &BTreeMap<String, String>,
) -> Result<(), Error> {
    let name = config_name(deployment);
    for (kind, content) in configs {
        let kind = ConfigType::try_from(kind.clone()).map_err(Error::ConfigType)?;
        director
            .put_config(call, &kind, &name, content, &Expected::Anything)
            .await
            .map_err(|source| Error::WriteConfig { source })?;
    }
    Ok(())
}

/// Deletes a config, unless another client has written a newer version of it. Safe to repeat.
pub(crate) async fn delete_obsolete(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
    kind: &ConfigType,
    version: &ConfigId,
) -> Result<(), ServiceError> {
    let name = config_name(deployment);
    let latest = director.config_latest(call, kind, &name).await?;
    if latest.is_some_and(|latest| latest.id == *version) {
        director.delete_config(call, kind, &name).await?;
    }
    Ok(())
}

/// Restores the configs from before an operation that was not submitted. The Director has the former versions. Safe to
/// repeat.
pub(crate) async fn restore(
    director: &Director,
    call: &Call,
    deployment: &DeploymentName,
    replaced: &ReplacedConfigs,
) -> Result<(), ServiceError> {
    let name = config_name(deployment);
    for (kind, previous) in replaced {
        // Text of another form was never written.
        let Ok(kind) = ConfigType::try_from(kind.clone()) else {
            continue;
        };
        let Some(previous) = previous else {
            director.delete_config(call, &kind, &name).await?;
            continue;
        };
        // Another client has deleted it since.
        let Some(previous) = director.config_version(call, previous).await? else {
            continue;
        };
        let written = director
            .put_config(call, &kind, &name, &previous.content, &Expected::Anything)
            .await;
        match written {
            Ok(_) | Err(PutConfigError::Stale { .. }) => {}
            Err(PutConfigError::Director { source }) => return Err(source),
        }
    }
    Ok(())
}

fn is_empty(content: &str) -> bool {
    content.trim().is_empty()
}

/// Whether a cloud config defines something that the manifest names. A config that cannot be parsed, or that takes
/// effect without a name, is treated as needed.
fn is_needed(config: &str, manifest: &str) -> bool {
    let (Ok(Value::Object(config)), Ok(manifest)) =
        (yaml::from_str(config), yaml::from_str::<Value>(manifest))
    else {
        return true;
    };
    let mut names = BTreeSet::new();
    for (section, items) in &config {
        let items = match items {
            Value::Null => continue,
            Value::Array(items) if NAMED.contains(&section.as_str()) => items,
            _ => return true,
        };
        for item in items {
            match item.get("name").and_then(Value::as_str) {
                Some(name) => names.insert(name),
                None => return true,
            };
        }
    }
    names_one_of(&manifest, &names)
}

fn names_one_of(value: &Value, names: &BTreeSet<&str>) -> bool {
    match value {
        Value::String(text) => names.contains(text.as_str()),
        Value::Array(items) => items.iter().any(|item| names_one_of(item, names)),
        Value::Object(members) => members.values().any(|member| names_one_of(member, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: &str = "vm_extensions:\n- name: fast\n  cloud_properties: {}\n";

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = entries
            .iter()
            .map(|(kind, content)| ((*kind).to_owned(), (*content).to_owned()));
        owned.collect()
    }

    fn obsolete(
        before: &[(&str, &str)],
        returned: Option<&[(&str, &str)]>,
        manifest: &str,
    ) -> Vec<String> {
        ConfigChanges::new(returned.map(map), &map(before), manifest).obsolete
    }

    #[test]
    fn a_cloud_config_that_is_not_returned_goes_when_the_manifest_names_nothing_of_it() {
        let before: &[(&str, &str)] = &[("cloud", FAST)];
        let with = "instance_groups: [{name: a, vm_extensions: [fast]}]";
        let without = "instance_groups: [{name: a, vm_extensions: [public]}]";
        let none: &[(&str, &str)] = &[];
        assert_eq!(obsolete(before, Some(none), without), ["cloud"]);
        assert!(obsolete(before, Some(none), with).is_empty());
        assert!(obsolete(before, Some(before), without).is_empty());
    }

    #[test]
    fn an_adapter_that_reports_nothing_of_configs_keeps_them() {
        assert!(obsolete(&[("cloud", FAST)], None, "name: d").is_empty());
    }

    #[test]
    fn what_may_have_effects_without_being_named_stays_until_it_is_returned_empty() {
        let addons = "addons: [{name: fast, jobs: []}]";
        for before in [
            ("runtime", addons),
            ("cpi", "cpis: [{name: fast}]"),
            ("cloud", "compilation: {workers: 1}"),
            ("cloud", "vm_types: [{name: fast}]\nx: 1"),
            ("cloud", "vm_types: {fast: {}}"),
            ("cloud", "vm_types: [fast]"),
            ("cloud", "- no map"),
            ("cloud", "{no YAML"),
        ] {
            let none: &[(&str, &str)] = &[];
            assert!(obsolete(&[before], Some(none), "name: d").is_empty());
            let empty: &[(&str, &str)] = &[(before.0, " \n")];
            assert_eq!(obsolete(&[before], Some(empty), "name: d"), [before.0]);
        }
    }

    #[test]
    fn what_is_returned_is_written_but_for_what_is_empty() {
        let returned = map(&[("cloud", FAST), ("runtime", "")]);
        let changes = ConfigChanges::new(Some(returned), &BTreeMap::new(), "name: d");
        assert_eq!(changes.written, map(&[("cloud", FAST)]));
        assert!(changes.obsolete.is_empty(), "there was none");
    }
}
