//! The ids of providers, consumers and links. On the wire they are text.
//!
//! The numbers in short DNS names.

use std::{collections::BTreeMap, fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{Links, Numbered};
use crate::director::ids::{DeploymentName, GroupName};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub(in crate::director) struct $name(u64);

        impl $name {
            /// The id after this one. The default is the id before the first.
            pub(super) fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            /// Reads the id in a path, a query or a body.
            fn from_str(text: &str) -> Result<Self, ParseIntError> {
                text.parse().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    /// Numbers a provider. It stays the same over deploys.
    ProviderId;
    /// Numbers a consumer. It stays the same over deploys.
    ConsumerId;
    /// Numbers a link. It stays the same as long as the provider's content does.
    LinkId;
}

#[derive(Default)]
pub(in crate::director) struct DnsNumbers {
    azs: BTreeMap<String, u64>,
    networks: BTreeMap<String, u64>,
    /// A group has a number of its own, and that of each link that one of its jobs provides.
    groups: BTreeMap<DeploymentName, Vec<(String, u64)>>,
}

impl Links {
    /// The numbers by which short DNS names mean things.
    pub(in crate::director) fn dns_numbers(&self) -> DnsNumbers {
        let table = self.lock();
        let mut known = DnsNumbers::default();
        for (what, number) in table.numbers.iter() {
            let number = u64::from(*number);
            match what {
                Numbered::AvailabilityZone(az) => {
                    known.azs.insert(az.clone(), number);
                }
                Numbered::Network(network) => {
                    known.networks.insert(network.clone(), number);
                }
                Numbered::InstanceGroup(deployment, group) => {
                    known.add_group(deployment, group, number);
                }
                Numbered::Link(deployment, link) => {
                    let providers = table.providers.values();
                    for provider in providers.filter(|provider| {
                        provider.deployment == *deployment
                            && format!("{}-{}", provider.name, provider.kind) == *link
                    }) {
                        known.add_group(deployment, provider.group.as_ref(), number);
                    }
                }
            }
        }
        known
    }
}

impl DnsNumbers {
    pub(in crate::director) fn az(&self, az: &str) -> Option<u64> {
        self.azs.get(az).copied()
    }

    pub(in crate::director) fn network(&self, network: &str) -> Option<u64> {
        self.networks.get(network).copied()
    }

    pub(in crate::director) fn group(
        &self,
        deployment: &DeploymentName,
        group: &GroupName,
    ) -> Vec<u64> {
        let groups = self.groups.get(deployment).into_iter().flatten();
        groups
            .filter(|(name, _)| *name == *group.as_ref())
            .map(|(_, number)| *number)
            .collect()
    }

    /// Whether a group of this deployment has the number.
    pub(in crate::director) fn is_in(&self, deployment: &DeploymentName, number: u64) -> bool {
        let mut groups = self.groups.get(deployment).into_iter().flatten();
        groups.any(|(_, other)| *other == number)
    }

    fn add_group(&mut self, deployment: &DeploymentName, group: &str, number: u64) {
        let groups = self.groups.entry(deployment.clone()).or_default();
        groups.push((group.to_owned(), number));
    }
}
