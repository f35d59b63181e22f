//! DNS addresses for bindings, through the Director's links (`spec/contracts/broker-behaviour.md` §3.16).
//!
//! Only links have addresses, and a consumer outside of a deployment needs a link of its own. The broker deletes the
//! link in every case, so that nothing of a binding is left. A link whose creation was not answered is found and
//! deleted by the next bind or unbind of the same binding, because it has the binding's name; all links end with the
//! deployment.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{StreamExt, stream};
use odb_adapter_sdk::protocol::DnsAddresses;
use odb_api_types::{
    code::Code,
    ids::{BindingId, PlanId},
};
use odb_clients::{
    director::{DeploymentName, LinkId, LinkProvider, LinkProviderId},
    http::{Call, Deadline},
};
use odb_config::DnsBinding;
use odb_redaction::Chain;

use crate::{BoshEngine, error::Error};

/// How many links are created in parallel.
const SIDE_BY_SIDE: usize = 4;

/// Why a deployment has no address that the plan asks for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLink {
    /// No job of the instance group provides such a link.
    #[error(
        "`binding_with_dns` entry `{entry}` asks for link provider `{provider}` of instance group `{group}`, which the deployed \
         manifest does not have; upgrade the instance if its plan got the entry later"
    )]
    Missing {
        /// The entry's name.
        entry: String,
        /// The link's name.
        provider: String,
        /// The instance group.
        group: String,
    },
    /// There is such a link, for the deployment's own jobs alone.
    #[error(
        "`binding_with_dns` entry `{entry}` asks for link provider `{provider}` of instance group `{group}`, which is not \
         `shared` in the deployed manifest"
    )]
    NotShared {
        /// The entry's name.
        entry: String,
        /// The link's name.
        provider: String,
        /// The instance group.
        group: String,
    },
}

/// The entries that one provider answers.
type Wanted = BTreeMap<LinkProviderId, Vec<DnsBinding>>;

/// The addresses for the bindings of a plan, by the names of the plan's entries. A plan that is no longer in the
/// configuration needs none.
pub(crate) async fn dns_addresses(
    engine: &BoshEngine,
    call: &Call,
    plan: &PlanId,
    binding: &BindingId,
    deployment: &DeploymentName,
) -> Result<DnsAddresses, Error> {
    let entries = engine
        .offering
        .plan(plan)
        .map(|plan| plan.dns_bindings.as_slice())
        .unwrap_or_default();
    if entries.is_empty() {
        return Ok(DnsAddresses::new());
    }
    let providers = engine
        .upstreams
        .director
        .link_providers(call, deployment)
        .await
        .map_err(Error::director("list what the deployment provides"))?;
    let wanted = by_provider(entries, &providers)?;
    // All run to their end, even if one fails: each deletes its link.
    let found: Vec<Result<DnsAddresses, Error>> = stream::iter(wanted)
        .map(|(provider, entries)| async move {
            // A name for each provider: nothing that is deleted here is in use there.
            let consumer = format!("odb-{binding}-{provider}");
            of_provider(engine, call, &provider, &consumer, &entries).await
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let mut addresses = DnsAddresses::new();
    for found in found {
        addresses.extend(found?);
    }
    Ok(addresses)
}

/// Makes a link, asks for its addresses, and deletes it.
async fn of_provider(
    engine: &BoshEngine,
    call: &Call,
    provider: &LinkProviderId,
    consumer: &str,
    entries: &[DnsBinding],
) -> Result<DnsAddresses, Error> {
    let director = &engine.upstreams.director;
    let link = director
        .create_link(call, provider, consumer)
        .await
        .map_err(Error::director("make a link to the deployment"))?;
    let addresses = addresses_of(engine, call, &link, entries).await;
    let most = engine.upstreams.timings.rollback;
    let timeout = match &addresses {
        // The adapter needs the rest.
        Ok(_) => most.min(call.deadline.remaining() / 4),
        // Nothing else does; perhaps the request has no time left.
        Err(_) => most,
    };
    delete_link(engine, call, &link, timeout).await;
    addresses
}

async fn addresses_of(
    engine: &BoshEngine,
    call: &Call,
    link: &LinkId,
    entries: &[DnsBinding],
) -> Result<DnsAddresses, Error> {
    let mut addresses = DnsAddresses::new();
    for entry in entries {
        let address = engine
            .upstreams
            .director
            .link_address(call, link, &entry.filter)
            .await
            .map_err(Error::director("ask for the DNS address behind a link"))?;
        addresses.insert(entry.name.clone(), address);
    }
    Ok(addresses)
}

/// A link that stays does no harm: the binding does not fail for it.
async fn delete_link(engine: &BoshEngine, call: &Call, link: &LinkId, timeout: Duration) {
    let call = Call {
        deadline: Deadline::after(timeout),
        ..call.clone()
    };
    if let Err(error) = engine.upstreams.director.delete_link(&call, link).await {
        tracing::warn!(
            code = %Code::CleanUp,
            link.id = %link,
            error = %Chain(&error),
            "a link of its DNS address remains"
        );
    }
}

/// Finds the provider of each entry: the first one that is shared.
fn by_provider(entries: &[DnsBinding], providers: &[LinkProvider]) -> Result<Wanted, NoLink> {
    let mut wanted = Wanted::new();
    for entry in entries {
        let fits = |provider: &&LinkProvider| {
            provider.name == entry.link_provider
                && provider.instance_group.as_ref() == Some(&entry.instance_group)
        };
        let mut fitting = providers.iter().filter(fits).peekable();
        let is_there = fitting.peek().is_some();
        let Some(provider) = fitting.find(|provider| provider.shared) else {
            let (entry, provider, group) = (
                entry.name.clone(),
                entry.link_provider.clone(),
                entry.instance_group.clone(),
            );
            return Err(if is_there {
                NoLink::NotShared {
                    entry,
                    provider,
                    group,
                }
            } else {
                NoLink::Missing {
                    entry,
                    provider,
                    group,
                }
            });
        };
        let entries = wanted.entry(provider.id.clone()).or_default();
        entries.push(entry.clone());
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use odb_clients::director::AddressFilter;

    use super::*;

    fn provider(id: &str, name: &str, group: &str, shared: bool) -> LinkProvider {
        LinkProvider {
            id: id.parse().unwrap(),
            name: name.to_owned(),
            shared,
            instance_group: Some(group.to_owned()),
        }
    }

    fn entry(name: &str, provider: &str, group: &str) -> DnsBinding {
        DnsBinding {
            name: name.to_owned(),
            link_provider: provider.to_owned(),
            instance_group: group.to_owned(),
            filter: AddressFilter::default(),
        }
    }

    #[test]
    fn entries_of_one_provider_share_a_link_and_the_first_shared_one_is_taken() {
        let providers = [
            provider("1", "redis", "leader", false),
            provider("2", "redis", "leader", true),
            provider("3", "redis", "leader", true),
            provider("4", "redis", "follower", true),
        ];
        let entries = [
            entry("a", "redis", "leader"),
            entry("b", "redis", "follower"),
            entry("c", "redis", "leader"),
        ];

        let wanted = by_provider(&entries, &providers).unwrap();

        let reported: Vec<_> = wanted
            .iter()
            .map(|(id, entries)| {
                let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
                (id.as_str(), names)
            })
            .collect();
        assert_eq!(reported, [("2", vec!["a", "c"]), ("4", vec!["b"])]);
    }

    #[test]
    fn a_link_that_is_not_there_is_distinguished_from_one_that_is_not_shared() {
        let providers = [provider("1", "redis", "leader", false)];
        let error = |group| by_provider(&[entry("a", "redis", group)], &providers).unwrap_err();
        assert!(matches!(error("leader"), NoLink::NotShared { .. }));
        assert!(matches!(error("follower"), NoLink::Missing { .. }));
    }
}
