//! Names as BOSH DNS answers them, for clients of a sandbox that has no DNS server:
//! `INSTANCE.GROUP.NETWORK.DEPLOYMENT.bosh`, and queries `q-….GROUP.NETWORK.DEPLOYMENT.bosh` or `q-….q-gN.bosh` whose
//! criteria are `a` (availability zone), `i` (index), `m` (instance by number), `n` (network by number), `s` (health)
//! and `y` (health checked in time, which it always is here). Criteria of one kind are alternatives, those of several
//! kinds must all be met. Group, network and deployment may begin or end with `*`. The grammar and the meaning of `s`
//! are those of cloudfoundry/bosh-dns-release.

use std::{collections::BTreeMap, net::Ipv4Addr, str::FromStr};

const DOMAIN: &str = "bosh";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoshName {
    instance: Option<String>,
    location: Location,
    /// Alternatives, by kind.
    criteria: BTreeMap<Criterion, Vec<u64>>,
    health: HealthFilter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Location {
    Numbered(u64),
    Named {
        group: String,
        network: String,
        deployment: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Criterion {
    Az,
    Index,
    Instance,
    Network,
}

/// Which instances are meant, by their health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HealthFilter {
    /// The healthy ones, or all when none is.
    Smart,
    Unhealthy,
    Healthy,
    All,
}

/// An instance on one of its networks, as a Director reports it to BOSH DNS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsRecord {
    pub instance: String,
    pub group: String,
    pub network: String,
    pub deployment: String,
    pub index: u64,
    pub az_number: Option<u64>,
    pub instance_number: Option<u64>,
    pub network_number: Option<u64>,
    /// The numbers that the Director gave the group, and the links that it provides.
    pub group_numbers: Vec<u64>,
    pub address: Ipv4Addr,
    /// Whether the instance does its work.
    pub healthy: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name of BOSH DNS, such as `q-s0.GROUP.NETWORK.DEPLOYMENT.bosh`")]
pub struct NotABoshName(String);

impl BoshName {
    /// The addresses of the name, each once, in ascending order.
    pub fn addresses<'a>(&self, records: impl IntoIterator<Item = &'a DnsRecord>) -> Vec<Ipv4Addr> {
        let meant = records.into_iter().filter(|record| self.means(record));
        let (healthy, unhealthy): (Vec<_>, Vec<_>) = meant.partition(|record| record.healthy);
        let chosen = match self.health {
            HealthFilter::Smart if healthy.is_empty() => unhealthy,
            HealthFilter::Smart | HealthFilter::Healthy => healthy,
            HealthFilter::Unhealthy => unhealthy,
            HealthFilter::All => [healthy, unhealthy].concat(),
        };
        let mut addresses: Vec<_> = chosen.into_iter().map(|record| record.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Whether instances of this deployment can be meant.
    pub fn may_mean(&self, deployment: &str) -> bool {
        match &self.location {
            Location::Numbered(_) => true,
            Location::Named {
                deployment: label, ..
            } => matches(label, deployment),
        }
    }

    /// The number of the group that is meant, in a name that has it instead of group, network and deployment.
    pub fn group_number(&self) -> Option<u64> {
        match &self.location {
            Location::Numbered(number) => Some(*number),
            Location::Named { .. } => None,
        }
    }

    fn means(&self, record: &DnsRecord) -> bool {
        let is_instance = self
            .instance
            .as_ref()
            .is_none_or(|instance| *instance == record.instance);
        is_instance
            && self.location.holds(record)
            && self.criteria.iter().all(|(criterion, values)| {
                criterion.of(record).is_some_and(|it| values.contains(&it))
            })
    }
}

impl FromStr for BoshName {
    type Err = NotABoshName;

    fn from_str(text: &str) -> Result<Self, NotABoshName> {
        parsed(text).ok_or_else(|| NotABoshName(text.to_owned()))
    }
}

/// A name of the manifest in the form for DNS names: lower case, with hyphens for underscores, without other characters
/// that a DNS label cannot have.
pub fn dns_label(name: &str) -> String {
    name.chars()
        .map(|letter| match letter {
            '_' => '-',
            other => other.to_ascii_lowercase(),
        })
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .collect()
}

fn parsed(text: &str) -> Option<BoshName> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let name = name.strip_suffix(DOMAIN)?.strip_suffix('.')?;
    let (first, location) = name.split_once('.')?;
    let mut name = BoshName {
        instance: None,
        location: Location::parse(location)?,
        criteria: BTreeMap::new(),
        health: HealthFilter::Smart,
    };
    match first.strip_prefix("q-") {
        None => name.instance = Some(first.to_owned()).filter(|instance| !instance.is_empty()),
        Some(query) => {
            for (key, value) in pairs(query)? {
                name.add(key, value)?;
            }
        }
    }
    Some(name)
}

impl BoshName {
    fn add(&mut self, key: char, value: u64) -> Option<()> {
        let criterion = match key {
            'a' => Criterion::Az,
            'i' => Criterion::Index,
            'm' => Criterion::Instance,
            'n' => Criterion::Network,
            's' => {
                self.health = HealthFilter::numbered(value)?;
                return Some(());
            }
            'y' => return Some(()),
            _ => return None,
        };
        self.criteria.entry(criterion).or_default().push(value);
        Some(())
    }
}

/// Letters, each with the number that follows it.
fn pairs(query: &str) -> Option<Vec<(char, u64)>> {
    let mut pairs = Vec::new();
    let mut rest = query;
    while let Some(key) = rest.chars().next() {
        let after = &rest[key.len_utf8()..];
        let digits = after.len()
            - after
                .trim_start_matches(|letter: char| letter.is_ascii_digit())
                .len();
        pairs.push((key, after[..digits].parse().ok()?));
        rest = &after[digits..];
    }
    (!pairs.is_empty()).then_some(pairs)
}

impl Location {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let location = match (parts.next()?, parts.next(), parts.next()) {
            (group, None, None) => Self::Numbered(group.strip_prefix("q-g")?.parse().ok()?),
            (group, Some(network), Some(deployment)) => Self::Named {
                group: group.to_owned(),
                network: network.to_owned(),
                deployment: deployment.to_owned(),
            },
            _ => return None,
        };
        parts.next().is_none().then_some(location)
    }

    fn holds(&self, record: &DnsRecord) -> bool {
        match self {
            Self::Numbered(number) => record.group_numbers.contains(number),
            Self::Named {
                group,
                network,
                deployment,
            } => {
                matches(group, &record.group)
                    && matches(network, &record.network)
                    && matches(deployment, &record.deployment)
            }
        }
    }
}

/// Whether a label, perhaps with `*` at one of its ends, means a name of the manifest.
fn matches(label: &str, name: &str) -> bool {
    let name = dns_label(name);
    if let Some(end) = label.strip_prefix('*') {
        name.ends_with(end)
    } else if let Some(begin) = label.strip_suffix('*') {
        name.starts_with(begin)
    } else {
        name == label
    }
}

impl Criterion {
    fn of(self, record: &DnsRecord) -> Option<u64> {
        match self {
            Self::Az => record.az_number,
            Self::Index => Some(record.index),
            Self::Instance => record.instance_number,
            Self::Network => record.network_number,
        }
    }
}

impl HealthFilter {
    fn numbered(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Smart),
            1 => Some(Self::Unhealthy),
            3 => Some(Self::Healthy),
            4 => Some(Self::All),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<DnsRecord> {
        let record = |index: u8, az_number: u64, healthy| DnsRecord {
            instance: format!("id-{index}"),
            group: "redis_server".to_owned(),
            network: "default".to_owned(),
            deployment: "service-instance_D4".to_owned(),
            index: index.into(),
            az_number: Some(az_number),
            instance_number: Some(u64::from(index) + 10),
            network_number: Some(1),
            group_numbers: vec![7],
            address: Ipv4Addr::new(127, 80, 3, index),
            healthy,
        };
        vec![record(0, 1, true), record(1, 2, false), record(2, 1, true)]
    }

    fn hosts(name: &str) -> Vec<u8> {
        let name: BoshName = name.parse().unwrap();
        let addresses = name.addresses(&records()).into_iter();
        addresses.map(|address| address.octets()[3]).collect()
    }

    #[test]
    fn a_query_selects_the_instances_that_match_its_criteria() {
        let of = |query: &str| {
            hosts(&format!(
                "{query}.redis-server.default.service-instance-d4.bosh"
            ))
        };

        assert_eq!(of("q-s0"), [0, 2], "healthy ones");
        assert_eq!(of("q-s1"), [1], "unhealthy ones");
        assert_eq!(of("q-s3"), [0, 2], "healthy ones only");
        assert_eq!(of("q-s4"), [0, 1, 2], "all");
        assert_eq!(of("q-a2s0"), [1], "all are unhealthy, so all are meant");
        assert_eq!(of("q-a2s3"), [0; 0]);
        assert_eq!(of("q-i0i1s4"), [0, 1], "one or the other");
        assert_eq!(of("q-m12n1s0y1"), [2]);
        assert_eq!(of("id-1"), [1], "one instance, healthy or not");
        assert_eq!(of("id-9"), [0; 0]);
    }

    #[test]
    fn groups_are_found_by_number_and_names_by_their_ends() {
        assert_eq!(hosts("q-s4.q-g7.bosh"), [0, 1, 2]);
        assert_eq!(hosts("q-s4.q-g8.bosh"), [0; 0]);
        assert_eq!(hosts("q-s4.redis-*.*.*-d4.bosh."), [0, 1, 2]);
        assert_eq!(hosts("q-s4.kafka.default.service-instance-d4.bosh"), [0; 0]);
    }

    #[test]
    fn what_is_no_name_of_bosh_dns_is_refused() {
        for text in [
            "",
            "bosh",
            "example.org",
            "q-s0.bosh",
            "q-s2.a.b.c.bosh",
            "q-x1.a.b.c.bosh",
            "q-.a.b.c.bosh",
            "q-s.a.b.c.bosh",
            "q-s0.a.b.bosh",
            "q-s0.a.b.c.d.bosh",
            "q-s0.group.bosh",
        ] {
            assert_eq!(
                text.parse::<BoshName>(),
                Err(NotABoshName(text.to_owned())),
                "{text}"
            );
        }
    }
}
