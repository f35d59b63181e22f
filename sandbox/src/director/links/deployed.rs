//! The result of a deploy: the providers and consumers of its manifest, and their links.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Consumer, ConsumerId, Link, LinkId, Links, Numbered, Owner, Provider, ProviderId, Table,
};
use crate::{
    cpi::JobName,
    director::ids::{DeploymentName, GroupName},
};

#[derive(Debug, Default)]
pub(in crate::director) struct DeployedLinks {
    pub(in crate::director) providers: Vec<DeployedProvider>,
    pub(in crate::director) consumers: Vec<DeployedConsumer>,
}

#[derive(Clone, Debug)]
pub(in crate::director) struct DeployedProvider {
    pub(in crate::director) group: GroupName,
    pub(in crate::director) job: JobName,
    pub(in crate::director) original_name: String,
    pub(in crate::director) name: String,
    pub(in crate::director) kind: String,
    pub(in crate::director) shared: bool,
    /// The networks of its group, the default one first.
    pub(in crate::director) networks: Vec<String>,
    pub(in crate::director) content: Value,
    pub(in crate::director) dns: DnsNames,
}

#[derive(Clone, Debug)]
pub(in crate::director) struct DeployedConsumer {
    pub(in crate::director) owner: Owner,
    pub(in crate::director) name: String,
    pub(in crate::director) kind: String,
    pub(in crate::director) optional: bool,
    pub(in crate::director) provider: Option<(ProviderKey, Value)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::director) struct ProviderKey {
    pub(in crate::director) deployment: DeploymentName,
    pub(in crate::director) group: GroupName,
    pub(in crate::director) job: JobName,
    pub(in crate::director) original_name: String,
}

/// The kind of DNS names that a deployment uses (`features` of its manifest).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::director) enum DnsNames {
    /// Names that spell out group, network and deployment.
    #[default]
    Long,
    /// Names of numbers (`use_short_dns_addresses`).
    Short,
    /// Names of numbers, one for each link (`use_link_dns_names`).
    PerLink,
}

/// The rows of a deployment that a deploy found in use.
#[derive(Debug, Default)]
pub(in crate::director) struct SettledLinks {
    providers: BTreeSet<ProviderId>,
    consumers: BTreeSet<ConsumerId>,
    links: BTreeSet<LinkId>,
}

impl Links {
    /// Records the links of a deploy. Unchanged entries keep their ids, and nothing is removed yet (cloudfoundry/bosh,
    /// `links/links_manager.rb`, `resolve_deployment_links`).
    pub(in crate::director) fn settle(
        &self,
        deployment: &DeploymentName,
        found: DeployedLinks,
    ) -> SettledLinks {
        let mut table = self.lock();
        let mut settled = SettledLinks::default();
        for provider in found.providers {
            let id = table.settle_provider(deployment, provider);
            settled.providers.insert(id);
        }
        for consumer in found.consumers {
            let provider = consumer.provider.clone();
            let name = consumer.name.clone();
            let id = table.settle_consumer(deployment, consumer);
            settled.consumers.insert(id);
            if let Some((key, content)) = provider
                && let Some(provider) = table.provider(&key)
            {
                let link = table.link(Link {
                    name,
                    provider,
                    consumer: id,
                    content,
                    network: None,
                    created_at: Timestamp::now(),
                });
                settled.links.insert(link);
            }
        }
        table.save();
        settled
    }

    /// A deploy has succeeded: what it did not find in use goes, and with providers the links of outsiders to them
    /// (`remove_unused_links`).
    pub(in crate::director) fn remove_unsettled(
        &self,
        deployment: &DeploymentName,
        settled: &SettledLinks,
    ) {
        let mut table = self.lock();
        table.providers.retain(|id, provider| {
            provider.deployment != *deployment || settled.providers.contains(id)
        });
        table.consumers.retain(|id, consumer| {
            consumer.deployment != *deployment
                || matches!(consumer.owner, Owner::External(_))
                || settled.consumers.contains(id)
        });
        table.links.retain(|id, link| {
            !settled.consumers.contains(&link.consumer) || settled.links.contains(id)
        });
        table.remove_dangling();
        table.save();
    }
}

impl Table {
    fn settle_provider(
        &mut self,
        deployment: &DeploymentName,
        found: DeployedProvider,
    ) -> ProviderId {
        for network in &found.networks {
            self.number(Numbered::Network(network.clone()));
        }
        self.number(Numbered::InstanceGroup(
            deployment.clone(),
            found.group.to_string(),
        ));
        let link_group = format!("{}-{}", found.name, found.kind);
        self.number(Numbered::Link(deployment.clone(), link_group));
        let provider = Provider {
            deployment: deployment.clone(),
            group: found.group,
            job: found.job,
            original_name: found.original_name,
            name: found.name,
            kind: found.kind,
            shared: found.shared,
            networks: found.networks,
            content: found.content,
            dns: found.dns,
        };
        match self.provider(&provider.key()) {
            Some(id) => {
                self.providers.insert(id, provider);
                id
            }
            None => self.add_provider(provider),
        }
    }

    fn settle_consumer(
        &mut self,
        deployment: &DeploymentName,
        found: DeployedConsumer,
    ) -> ConsumerId {
        let consumer = Consumer {
            deployment: deployment.clone(),
            owner: found.owner,
            name: found.name,
            alias: None,
            kind: found.kind,
            optional: found.optional,
        };
        let same = self.consumers.iter().find(|(_, other)| {
            other.deployment == consumer.deployment
                && (&other.owner, &other.name) == (&consumer.owner, &consumer.name)
        });
        match same.map(|(id, _)| *id) {
            Some(id) => {
                self.consumers.insert(id, consumer);
                id
            }
            None => self.add_consumer(consumer),
        }
    }

    fn provider(&self, key: &ProviderKey) -> Option<ProviderId> {
        let mut providers = self.providers.iter();
        let found = providers.find(|(_, provider)| provider.key() == *key);
        found.map(|(id, _)| *id)
    }
}

impl Provider {
    fn key(&self) -> ProviderKey {
        ProviderKey {
            deployment: self.deployment.clone(),
            group: self.group.clone(),
            job: self.job.clone(),
            original_name: self.original_name.clone(),
        }
    }
}
