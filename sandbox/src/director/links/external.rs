//! Links for consumers outside of all deployments, such as a service binding.

use jiff::Timestamp;
use serde_json::Value;

use super::{Consumer, Link, LinkId, Links, Owner, ProviderId};

#[derive(Debug, PartialEq, Eq)]
pub(in crate::director) struct ExternalLink {
    pub(in crate::director) provider: ProviderId,
    pub(in crate::director) consumer: String,
    pub(in crate::director) network: Option<String>,
}

/// Why a link cannot be made. The texts are a real Director's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::director) enum LinkError {
    #[error("Invalid link_provider_id: {0}")]
    NoSuchProvider(String),
    #[error("Provider not `shared`")]
    NotShared,
    #[error("Can't resolve network: `{network}` in provider id: {provider} for `{consumer}`")]
    NoSuchNetwork {
        network: String,
        provider: String,
        consumer: String,
    },
}

/// Why a link cannot be deleted. The texts are a real Director's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::director) enum DeleteError {
    #[error("Invalid link id: {0}")]
    NoSuchLink(String),
    #[error("Error deleting link: not a external link")]
    NotExternal,
}

impl Links {
    /// Makes a link, or finds the one that was made for the same consumer before.
    pub(in crate::director) fn create(&self, wanted: ExternalLink) -> Result<Value, LinkError> {
        let mut table = self.lock();
        let id = wanted.provider;
        let Some(provider) = table.providers.get(&id).cloned() else {
            return Err(LinkError::NoSuchProvider(id.to_string()));
        };
        if !provider.shared {
            return Err(LinkError::NotShared);
        }
        if let Some(network) = &wanted.network
            && !provider.networks.contains(network)
        {
            return Err(LinkError::NoSuchNetwork {
                network: network.clone(),
                provider: id.to_string(),
                consumer: wanted.consumer,
            });
        }
        let owner = Owner::External(wanted.consumer);
        let known = table.consumers.iter().find(|(_, other)| {
            other.deployment == provider.deployment
                && other.owner == owner
                && other.name == provider.original_name
                && other.kind == provider.kind
        });
        let known = known.map(|(id, _)| *id);
        let consumer = known.unwrap_or_else(|| {
            table.add_consumer(Consumer {
                deployment: provider.deployment.clone(),
                owner,
                name: provider.original_name.clone(),
                alias: None,
                kind: provider.kind.clone(),
                optional: false,
            })
        });
        if let Some(consumer) = table.consumers.get_mut(&consumer) {
            consumer.alias = Some(provider.name);
        }
        let link = table.link(Link {
            name: provider.original_name,
            provider: id,
            consumer,
            content: provider.content,
            network: wanted.network,
            created_at: Timestamp::now(),
        });
        table.save();
        Ok(table.link_view(link))
    }

    pub(in crate::director) fn delete(&self, id: &str) -> Result<(), DeleteError> {
        let mut table = self.lock();
        let no_such_link = || DeleteError::NoSuchLink(id.to_owned());
        let link_id: LinkId = id.parse().map_err(|_| no_such_link())?;
        let link = table.links.get(&link_id).ok_or_else(no_such_link)?;
        let consumer = table.consumers.get(&link.consumer);
        if !consumer.is_some_and(|consumer| matches!(consumer.owner, Owner::External(_))) {
            return Err(DeleteError::NotExternal);
        }
        table.links.remove(&link_id);
        table.remove_dangling();
        table.save();
        Ok(())
    }
}
