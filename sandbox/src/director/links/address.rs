//! The DNS name behind a link. It is a query that BOSH DNS answers on VMs:
//! `q-a1s0.GROUP.NETWORK.DEPLOYMENT.bosh`, or with numbers `q-a1n2s0.q-g3.bosh`.

use super::{DnsNames, LinkId, Links, Numbered, Provider, Table};

const ROOT_DOMAIN: &str = "bosh";

/// Which instances behind a link are meant.
#[derive(Debug, Default)]
pub(in crate::director) struct AddressQuery {
    /// Those in these availability zones; all if there are none.
    pub(in crate::director) azs: Vec<String>,
    pub(in crate::director) health: Health,
}

/// Which instances are meant by how they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::director) enum Health {
    /// The healthy ones, or all if none is.
    #[default]
    Smart,
    Unhealthy,
    Healthy,
    All,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Could not find a link with id {0}")]
pub(in crate::director) struct AddressError(String);

impl Links {
    pub(in crate::director) fn address(
        &self,
        id: &str,
        query: &AddressQuery,
    ) -> Result<String, AddressError> {
        let mut table = self.lock();
        let link = id
            .parse()
            .ok()
            .and_then(|id: LinkId| table.links.get(&id).cloned());
        let provider = link
            .as_ref()
            .and_then(|link| table.providers.get(&link.provider).cloned());
        let (Some(link), Some(provider)) = (link, provider) else {
            return Err(AddressError(id.to_owned()));
        };
        let network = link
            .network
            .or_else(|| provider.networks.first().cloned())
            .unwrap_or_default();
        let name = table.name(&provider, &network, query);
        table.save();
        Ok(name)
    }

    /// Makes these availability zones known, in the order in which they are numbered.
    pub(in crate::director) fn number_azs(&self, azs: impl IntoIterator<Item = String>) {
        let mut table = self.lock();
        for az in azs {
            table.number(Numbered::AvailabilityZone(az));
        }
        table.save();
    }

    /// Whether an availability zone is known.
    pub(in crate::director) fn knows_az(&self, az: &str) -> bool {
        let az = Numbered::AvailabilityZone(az.to_owned());
        self.lock().numbers.contains_key(&az)
    }
}

impl Table {
    fn name(&mut self, provider: &Provider, network: &str, query: &AddressQuery) -> String {
        let mut criteria: Vec<String> = query
            .azs
            .iter()
            .map(|az| format!("a{}", self.number(Numbered::AvailabilityZone(az.clone()))))
            .collect();
        criteria.push(format!("s{}", query.health.code()));
        let group = match provider.dns {
            DnsNames::Long => {
                criteria.sort();
                return format!(
                    "q-{}.{}.{}.{}.{ROOT_DOMAIN}",
                    criteria.concat(),
                    canonical(provider.group.as_ref()),
                    canonical(network),
                    canonical(provider.deployment.as_ref()),
                );
            }
            DnsNames::Short => {
                Numbered::InstanceGroup(provider.deployment.clone(), provider.group.to_string())
            }
            DnsNames::PerLink => Numbered::Link(
                provider.deployment.clone(),
                format!("{}-{}", provider.name, provider.kind),
            ),
        };
        let network = self.number(Numbered::Network(network.to_owned()));
        criteria.push(format!("n{network}"));
        criteria.sort();
        let group = self.number(group);
        format!("q-{}.q-g{group}.{ROOT_DOMAIN}", criteria.concat())
    }

    /// The number of something, which it gets when it has none. Each kind of things counts from 1.
    pub(super) fn number(&mut self, what: Numbered) -> u32 {
        if let Some(number) = self.numbers.get(&what) {
            return *number;
        }
        let same_kind = self.numbers.iter().filter(|(other, _)| {
            matches!(
                (other, &what),
                (Numbered::AvailabilityZone(_), Numbered::AvailabilityZone(_))
                    | (Numbered::Network(_), Numbered::Network(_))
                    | (
                        Numbered::InstanceGroup(..) | Numbered::Link(..),
                        Numbered::InstanceGroup(..) | Numbered::Link(..)
                    )
            )
        });
        let number = same_kind.map(|(_, number)| *number).max().unwrap_or(0) + 1;
        self.numbers.insert(what, number);
        number
    }
}

impl Health {
    fn code(self) -> u8 {
        match self {
            Self::Smart => 0,
            Self::Unhealthy => 1,
            Self::Healthy => 3,
            Self::All => 4,
        }
    }

    /// Reads the parameter `status`.
    pub(in crate::director) fn of_name(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Smart),
            "unhealthy" => Some(Self::Unhealthy),
            "healthy" => Some(Self::Healthy),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// A name as part of a DNS name.
fn canonical(name: &str) -> String {
    name.to_lowercase()
        .replace('_', "-")
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .collect()
}
