//! The Director's record of links: providers, consumers, and the links between them (`spec/contracts/director-api.md`,
//! "Links").
//!
//! | module | contents |
//! | --- | --- |
//! | [`ids`] | the ids of providers, consumers and links |
//! | [`deployed`] | the result of a deploy |
//! | [`external`] | links for consumers outside of all deployments |
//! | [`address`] | the DNS name of a link |
//! | [`ids`] | the numbers in short DNS names |
//! | [`view`] | their form in the API |

mod address;
mod deployed;
mod external;
mod ids;
mod view;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use self::deployed::{
    DeployedConsumer, DeployedLinks, DeployedProvider, DnsNames, ProviderKey, SettledLinks,
};
pub(super) use self::{
    address::{AddressError, AddressQuery, Health},
    external::{DeleteError, ExternalLink, LinkError},
    ids::DnsNumbers,
    ids::{ConsumerId, LinkId, ProviderId},
};
use super::ids::{DeploymentName, GroupName};
use crate::{
    cpi::JobName,
    store::{Rows, Store, StoreError},
};

/// All providers, consumers and links.
pub(super) struct Links {
    table: Mutex<Table>,
}

struct Table {
    providers: Rows<ProviderId, Provider>,
    consumers: Rows<ConsumerId, Consumer>,
    links: Rows<LinkId, Link>,
    /// The last ids that were given out, so that none is given out twice.
    last: Rows<(), LastIds>,
    /// The numbers by which short DNS names mean things.
    numbers: Rows<Numbered, u32>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct LastIds {
    provider: ProviderId,
    consumer: ConsumerId,
    link: LinkId,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Numbered {
    AvailabilityZone(String),
    Network(String),
    InstanceGroup(DeploymentName, String),
    Link(DeploymentName, String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Provider {
    deployment: DeploymentName,
    group: GroupName,
    job: JobName,
    original_name: String,
    name: String,
    kind: String,
    shared: bool,
    networks: Vec<String>,
    #[serde(default)]
    content: Value,
    dns: DnsNames,
}

/// Something that needs what others offer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Consumer {
    deployment: DeploymentName,
    owner: Owner,
    name: String,
    /// The name in the provider's manifest, for a consumer outside of all deployments.
    #[serde(default)]
    alias: Option<String>,
    kind: String,
    optional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Owner {
    Job(GroupName, JobName),
    /// A variable, whose certificate carries the provider's names.
    Variable(String),
    /// A consumer outside of all deployments, by any name.
    External(String),
}

/// A provider and a consumer who have found each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Link {
    name: String,
    provider: ProviderId,
    consumer: ConsumerId,
    /// The content for the consumer. A link with another content is another link.
    content: Value,
    /// The network whose addresses the consumer gets.
    network: Option<String>,
    created_at: Timestamp,
}

impl Links {
    pub(super) fn open(store: &Store) -> Result<Self, StoreError> {
        let table = Table {
            providers: Rows::open(store, "director_link_providers")?,
            consumers: Rows::open(store, "director_link_consumers")?,
            links: Rows::open(store, "director_links")?,
            last: Rows::open(store, "director_last_links")?,
            numbers: Rows::open(store, "director_dns_numbers")?,
        };
        Ok(Self {
            table: Mutex::new(table),
        })
    }

    pub(super) fn forget(&self, deployment: &DeploymentName) {
        let mut table = self.lock();
        table
            .providers
            .retain(|_, provider| provider.deployment != *deployment);
        table
            .consumers
            .retain(|_, consumer| consumer.deployment != *deployment);
        table.remove_dangling();
        table.save();
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Removes links of which one end is gone, and outsiders who have no link left.
    fn remove_dangling(&mut self) {
        let Self {
            providers,
            consumers,
            links,
            ..
        } = self;
        links.retain(|_, link| {
            providers.contains_key(&link.provider) && consumers.contains_key(&link.consumer)
        });
        consumers.retain(|id, consumer| {
            !matches!(consumer.owner, Owner::External(_))
                || links.values().any(|link| link.consumer == *id)
        });
    }

    /// The link of this consumer to this provider with this content, which is made if there is none.
    fn link(&mut self, link: Link) -> LinkId {
        let same = self.links.iter().find(|(_, other)| {
            (other.provider, other.consumer) == (link.provider, link.consumer)
                && (&other.content, &other.network) == (&link.content, &link.network)
        });
        if let Some((id, _)) = same {
            return *id;
        }
        let last = self.last.get_or_insert_with((), LastIds::default);
        last.link = last.link.next();
        let id = last.link;
        self.links.insert(id, link);
        id
    }

    fn add_consumer(&mut self, consumer: Consumer) -> ConsumerId {
        let last = self.last.get_or_insert_with((), LastIds::default);
        last.consumer = last.consumer.next();
        let id = last.consumer;
        self.consumers.insert(id, consumer);
        id
    }

    fn add_provider(&mut self, provider: Provider) -> ProviderId {
        let last = self.last.get_or_insert_with((), LastIds::default);
        last.provider = last.provider.next();
        let id = last.provider;
        self.providers.insert(id, provider);
        id
    }

    fn save(&mut self) {
        self.providers.save();
        self.consumers.save();
        self.links.save();
        self.last.save();
        self.numbers.save();
    }
}
