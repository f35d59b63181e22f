//! Checks the networks of an instance group against the cloud config.

use std::net::Ipv4Addr;

use super::{
    cloud::{CloudConfig, Network, NetworkKind},
    error::ManifestError,
    group_spec::{GroupSpec, NetworkSpec},
};
use crate::director::{
    ids::GroupName,
    tasks::{Reference, TaskFailure},
};

const DEFAULTS: [&str; 2] = ["dns", "gateway"];

/// A network that a group is on, known to the cloud config.
#[derive(Clone, Debug)]
pub(super) struct GroupNetwork {
    pub(super) name: String,
    pub(super) kind: NetworkKind,
    /// The address of each instance, in the order of their places in the group.
    pub(super) static_addresses: Option<Vec<Ipv4Addr>>,
}

/// The networks of a group, all checks passed.
pub(super) fn networks(
    group: &GroupSpec,
    cloud: &CloudConfig,
) -> Result<Vec<GroupNetwork>, TaskFailure> {
    let known: Vec<(&NetworkSpec, &Network)> = group
        .networks
        .iter()
        .map(|spec| match cloud.networks.get(&spec.name) {
            Some(network) => Ok((spec, network)),
            None => Err(TaskFailure::UnknownReference {
                group: group.name.clone(),
                what: Reference::Network,
                name: spec.name.clone(),
            }),
        })
        .collect::<Result<_, _>>()?;
    check_defaults(&group.name, &group.networks)?;
    let zones = group.azs.as_deref().unwrap_or_default();
    for (spec, network) in &known {
        if !network.reaches(zones) {
            return Err(ManifestError::NetworkOfOtherZones {
                group: group.name.clone(),
                network: spec.name.clone(),
            }
            .into());
        }
    }
    for (spec, network) in &known {
        check_static_addresses(group, spec, network)?;
    }
    let networks = known.into_iter().map(|(spec, network)| GroupNetwork {
        name: spec.name.clone(),
        kind: network.kind,
        static_addresses: spec.static_addresses.clone(),
    });
    Ok(networks.collect())
}

/// Of several networks exactly one is the default for each property.
fn check_defaults(group: &GroupName, networks: &[NetworkSpec]) -> Result<(), ManifestError> {
    let mut said = networks.iter().flat_map(|network| &network.defaults);
    if let Some(property) = said.find(|property| !DEFAULTS.contains(&property.as_str())) {
        return Err(ManifestError::InvalidNetworkDefault {
            group: group.clone(),
            property: property.clone(),
        });
    }
    if networks.len() < 2 {
        return Ok(());
    }
    let defaults_for = |property: &str| -> Vec<String> {
        let of = networks
            .iter()
            .filter(|network| network.defaults.iter().any(|default| default == property));
        of.map(|network| format!("'{}'", network.name)).collect()
    };
    let several: Vec<String> = DEFAULTS
        .iter()
        .filter_map(|property| {
            let names = defaults_for(property);
            (names.len() > 1)
                .then(|| format!("'{property}' has default networks: {}.", names.join(", ")))
        })
        .collect();
    if !several.is_empty() {
        return Err(ManifestError::SeveralNetworkDefaults {
            group: group.clone(),
            defaults: several,
        });
    }
    let missing: Vec<&'static str> = DEFAULTS
        .into_iter()
        .filter(|property| defaults_for(property).is_empty())
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(ManifestError::NoNetworkDefault {
            group: group.clone(),
            properties: missing,
        })
    }
}

fn check_static_addresses(
    group: &GroupSpec,
    spec: &NetworkSpec,
    network: &Network,
) -> Result<(), ManifestError> {
    let Some(addresses) = &spec.static_addresses else {
        return Ok(());
    };
    if u32::try_from(addresses.len()) != Ok(group.instances) {
        return Err(ManifestError::StaticAddressCount {
            group: group.name.clone(),
            network: spec.name.clone(),
            instances: group.instances,
            addresses: addresses.len(),
        });
    }
    if network.kind != NetworkKind::Manual || network.subnets.is_empty() {
        return Ok(());
    }
    let zones = group.azs.as_deref().unwrap_or_default();
    for address in addresses {
        let subnet = network.subnets.iter().find(|subnet| {
            let mut ranges = subnet.reserved_for_manifests.iter();
            ranges.any(|range| range.contains(*address))
        });
        let Some(subnet) = subnet else {
            return Err(ManifestError::StaticAddressOutside {
                group: group.name.clone(),
                network: spec.name.clone(),
                address: *address,
            });
        };
        if !zones.is_empty() && !zones.iter().any(|zone| subnet.zones.contains(zone)) {
            return Err(ManifestError::StaticAddressOfOtherZone {
                group: group.name.clone(),
                address: *address,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(name: &str, defaults: &[&str]) -> NetworkSpec {
        NetworkSpec {
            name: name.to_owned(),
            defaults: defaults.iter().map(ToString::to_string).collect(),
            static_addresses: None,
        }
    }

    fn message(networks: &[NetworkSpec]) -> String {
        check_defaults(&GroupName::from("g".to_owned()), networks)
            .err()
            .map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn of_two_networks_one_is_the_default() {
        assert_eq!(message(&[network("a", &[])]), "");
        assert_eq!(
            message(&[network("a", &["dns", "gateway"]), network("b", &[])]),
            ""
        );
        assert_eq!(
            message(&[network("a", &["dns"]), network("b", &[])]),
            "Instance group 'g' must specify which network is default for gateway, since it has more than one network configured"
        );
        assert_eq!(
            message(&[network("a", &["dns", "gateway"]), network("b", &["dns"])]),
            "Instance group 'g' specified more than one network to contain default. 'dns' has default networks: 'a', 'b'."
        );
    }
}
