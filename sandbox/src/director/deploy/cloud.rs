//! The merged definitions of the current cloud configs.

use std::collections::BTreeMap;

use odb_adapter_sdk::yaml;
use serde_json::{Map, Value};

use super::{
    addresses::{AddressRange, ranges},
    error::{CloudThing, ManifestError},
    spec::Spec,
};
use crate::director::{configs::Config, tasks::TaskFailure};

/// All cloud configs as one. Their definitions are kept by name.
#[derive(Debug, Default)]
pub(super) struct CloudConfig {
    /// Availability zones, with their cloud properties.
    pub(super) zones: BTreeMap<String, Value>,
    pub(super) vm_types: BTreeMap<String, Value>,
    pub(super) vm_extensions: BTreeMap<String, Value>,
    pub(super) disk_types: BTreeMap<String, DiskType>,
    pub(super) networks: BTreeMap<String, Network>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct DiskType {
    /// In MiB.
    pub(super) size: u64,
    pub(super) cloud_properties: Value,
}

#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) kind: NetworkKind,
    pub(super) subnets: Vec<Subnet>,
}

/// How a network's addresses are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NetworkKind {
    Manual,
    Dynamic,
    /// The manifest, beside those of another network.
    Vip,
}

#[derive(Clone, Debug)]
pub(super) struct Subnet {
    /// The zones that it reaches; none when it does not say.
    pub(super) zones: Vec<String>,
    /// Addresses that only a manifest can ask for.
    pub(super) reserved_for_manifests: Vec<AddressRange>,
}

impl CloudConfig {
    /// Merges configs. One that is no YAML defines nothing.
    pub(super) fn merged(configs: &[Config]) -> Result<Self, TaskFailure> {
        let mut merged = Self::default();
        for config in configs {
            let Ok(content) = yaml::from_str::<Value>(&config.content) else {
                continue;
            };
            merged.add(&Spec::new(&content))?;
        }
        if merged.networks.is_empty() {
            return Err(ManifestError::NoNetworksInCloudConfig.into());
        }
        Ok(merged)
    }

    fn add(&mut self, config: &Spec<'_>) -> Result<(), TaskFailure> {
        for zone in config.optional_list("azs")? {
            add(&mut self.zones, CloudThing::AvailabilityZone, &zone, |az| {
                cloud_properties(az)
            })?;
        }
        for network in config.optional_list("networks")? {
            add(
                &mut self.networks,
                CloudThing::Network,
                &network,
                Network::read,
            )?;
        }
        for vm_type in config.optional_list("vm_types")? {
            add(
                &mut self.vm_types,
                CloudThing::VmType,
                &vm_type,
                cloud_properties,
            )?;
        }
        for extension in config.optional_list("vm_extensions")? {
            let known = &mut self.vm_extensions;
            add(known, CloudThing::VmExtension, &extension, cloud_properties)?;
        }
        for disk_type in config.optional_list("disk_types")? {
            let known = &mut self.disk_types;
            add(known, CloudThing::DiskType, &disk_type, DiskType::read)?;
        }
        Ok(())
    }

    pub(super) fn properties_of_vm(
        &self,
        zone: Option<&str>,
        vm_type: Option<&str>,
        extensions: &[String],
    ) -> Value {
        let mut properties = Map::new();
        let of_zone = zone.and_then(|zone| self.zones.get(zone));
        let of_type = vm_type.and_then(|vm_type| self.vm_types.get(vm_type));
        let of_extensions = extensions
            .iter()
            .filter_map(|name| self.vm_extensions.get(name));
        for source in of_zone.into_iter().chain(of_type).chain(of_extensions) {
            properties.extend(source.as_object().cloned().unwrap_or_default());
        }
        Value::Object(properties)
    }
}

impl DiskType {
    fn read(spec: &Spec<'_>) -> Result<Self, TaskFailure> {
        let size = spec.required_number("disk_size")?;
        Ok(Self {
            size: u64::try_from(size).unwrap_or(0),
            cloud_properties: cloud_properties(spec)?,
        })
    }
}

impl Network {
    fn read(spec: &Spec<'_>) -> Result<Self, TaskFailure> {
        let kind = match spec.optional_text("type")?.as_deref() {
            None | Some("manual") => NetworkKind::Manual,
            Some("dynamic") => NetworkKind::Dynamic,
            Some("vip") => NetworkKind::Vip,
            Some(other) => {
                return Err(ManifestError::InvalidNetworkType(other.to_owned()).into());
            }
        };
        let subnets = spec.optional_list("subnets")?;
        Ok(Self {
            kind,
            subnets: subnets.iter().map(Subnet::read).collect::<Result<_, _>>()?,
        })
    }

    /// Whether instances in these zones can be on the network. One without subnets is everywhere: the
    /// addresses of this Director's VMs do not come from there.
    pub(super) fn reaches(&self, zones: &[String]) -> bool {
        if self.kind == NetworkKind::Vip || self.subnets.is_empty() {
            return true;
        }
        let mut reached = self.subnets.iter().flat_map(|subnet| &subnet.zones);
        if zones.is_empty() {
            return reached.next().is_none();
        }
        let reached: Vec<&String> = reached.collect();
        zones.iter().all(|zone| reached.contains(&zone))
    }
}

impl Subnet {
    fn read(spec: &Spec<'_>) -> Result<Self, TaskFailure> {
        let mut zones = spec.texts("azs")?;
        zones.extend(spec.optional_text("az")?);
        let reserved = spec.value("static").map_or(Ok(Vec::new()), ranges)?;
        Ok(Self {
            zones,
            reserved_for_manifests: reserved,
        })
    }
}

fn add<T>(
    known: &mut BTreeMap<String, T>,
    what: CloudThing,
    spec: &Spec<'_>,
    read: impl FnOnce(&Spec<'_>) -> Result<T, TaskFailure>,
) -> Result<(), TaskFailure> {
    let name = spec.text("name")?;
    if known.contains_key(&name) {
        return Err(ManifestError::DuplicateInCloudConfig { what, name }.into());
    }
    known.insert(name, read(spec)?);
    Ok(())
}

fn cloud_properties(spec: &Spec<'_>) -> Result<Value, TaskFailure> {
    spec.optional_map("cloud_properties").map(Value::Object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn network(spec: &Value) -> Network {
        Network::read(&Spec::new(spec)).unwrap()
    }

    #[test]
    fn a_network_reaches_the_zones_of_its_subnets() {
        let both = network(&json!({"subnets": [{"az": "z1"}, {"azs": ["z2"]}]}));
        let zones = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(both.reaches(&zones(&["z1", "z2"])));
        assert!(!both.reaches(&zones(&["z1", "z3"])));
        assert!(!both.reaches(&[]));
        let vip = network(&json!({"type": "vip"}));
        assert!(vip.reaches(&zones(&["z3"])));
        let failure = Network::read(&Spec::new(&json!({"type": "other"})));
        assert_eq!(failure.err().unwrap().code(), 190_010);
    }

    #[test]
    fn properties_of_an_extension_win_over_those_of_the_type() {
        let spec = json!({
            "azs": [{"name": "z1", "cloud_properties": {"zone": "a", "x": 0}}],
            "vm_types": [{"name": "small", "cloud_properties": {"cpu": 1, "x": 1}}],
            "vm_extensions": [{"name": "public", "cloud_properties": {"x": 2}}],
        });
        let mut cloud = CloudConfig::default();
        cloud.add(&Spec::new(&spec)).unwrap();
        assert_eq!(
            cloud.properties_of_vm(Some("z1"), Some("small"), &["public".to_owned()]),
            json!({"zone": "a", "x": 2, "cpu": 1})
        );
        let again = cloud.add(&Spec::new(&json!({"vm_types": [{"name": "small"}]})));
        assert_eq!(again.err().unwrap().code(), 190_004);
    }
}
