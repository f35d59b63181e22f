//! Answers names of BOSH DNS from what the Director knows. There is no DNS server; the control API asks here.

use std::{collections::BTreeMap, net::Ipv4Addr};

use odb_adapter_sdk::yaml;
use serde::Deserialize;

use super::{Director, deployments::Deployment, ids::DeploymentName, links::DnsNumbers};
use crate::cpi::{BoshName, Cpi, DnsRecord, NotABoshName};

#[derive(Default, Deserialize)]
struct ManifestNetworks {
    #[serde(default)]
    instance_groups: Vec<GroupNetworks>,
}

#[derive(Deserialize)]
struct GroupNetworks {
    name: String,
    #[serde(default)]
    networks: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Director {
    /// The current addresses of a name of BOSH DNS, each once, in ascending order. Instances have no numbers here;
    /// zones, networks and groups have those from the addresses of links.
    pub fn resolve(&self, name: &str) -> Result<Vec<Ipv4Addr>, NotABoshName> {
        let name: BoshName = name.parse()?;
        let numbers = self.inner.links.dns_numbers();
        let mut records = Vec::new();
        for (deployment, row) in self.inner.deployments.all() {
            let may_be_meant = match name.group_number() {
                Some(number) => numbers.is_in(&deployment, number),
                None => name.may_mean(deployment.as_ref()),
            };
            if may_be_meant {
                records.extend(records_of(&self.inner.cpi, &deployment, &row, &numbers));
            }
        }
        Ok(name.addresses(&records))
    }
}

/// The instances of a deployment that have a VM, on each of their networks.
fn records_of(
    cpi: &Cpi,
    deployment: &DeploymentName,
    row: &Deployment,
    numbers: &DnsNumbers,
) -> Vec<DnsRecord> {
    let networks = networks(row);
    let mut records = Vec::new();
    for instance in &row.instances {
        let Some(vm) = &instance.vm else { continue };
        let healthy = cpi.is_healthy(&vm.cid);
        for network in networks.get(instance.group.as_ref()).into_iter().flatten() {
            records.push(DnsRecord {
                instance: instance.id.to_string(),
                group: instance.group.to_string(),
                network: network.clone(),
                deployment: deployment.to_string(),
                index: instance.index.into(),
                az_number: instance.az.as_deref().and_then(|az| numbers.az(az)),
                instance_number: None,
                network_number: numbers.network(network),
                group_numbers: numbers.group(deployment, &instance.group),
                address: vm.address(),
                healthy,
            });
        }
    }
    records
}

/// The networks of each group, as the manifest of the last deploy has them.
fn networks(row: &Deployment) -> BTreeMap<String, Vec<String>> {
    let manifest = row.manifest.as_deref().unwrap_or_default();
    // A manifest that was deployed has been read before.
    let manifest: ManifestNetworks = yaml::from_str(manifest).unwrap_or_default();
    let groups = manifest.instance_groups.into_iter();
    groups
        .map(|group| {
            let networks = group.networks.into_iter().map(|network| network.name);
            (group.name, networks.collect())
        })
        .collect()
}
