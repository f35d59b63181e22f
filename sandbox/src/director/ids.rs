//! The Director's ids and names.
//!
//! Answers names of BOSH DNS from what the Director knows. There is no DNS server; the control API asks here.

use std::{collections::BTreeMap, fmt, net::Ipv4Addr};

use odb_adapter_sdk::yaml;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Director, deployments::Deployment, links::DnsNumbers};
use crate::cpi::{BoshName, Cpi, DnsRecord, NotABoshName, text_types};

text_types! {
    pub(super) struct DeploymentName;
    /// Names a team, whose members share their deployments and configs.
    pub(super) struct TeamName;
    /// A client's context id of its request, `""` without one (header `X-Bosh-Context-Id`).
    pub(super) struct ContextId;
    pub(super) struct GroupName;
}

/// Numbers a task. Ids rise by one per task of the Director.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct TaskId(u64);

/// Numbers one version of a config. On the wire it is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ConfigId(u64);

/// Numbers a record of the audit. On the wire it is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct EventId(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct InstanceId(Uuid);

impl TaskId {
    /// The id before that of the first task.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Parses the id in a path. Text that is no number is no task id.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }
}

impl EventId {
    /// The id before that of the first record.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Reads an id as Ruby does: what is no number counts as 0.
    pub(super) fn parse(text: &str) -> Self {
        Self(text.parse().unwrap_or(0))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ConfigId {
    /// The id before that of the first config.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

impl InstanceId {
    /// An id that no instance has.
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ConfigId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

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
