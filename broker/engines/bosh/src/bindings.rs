//! Credentials, from the deployed manifest and its addresses.
//!
//! DNS addresses come from the Director's links (`spec/contracts/broker-behaviour.md` §3.16): only links have addresses,
//! and a consumer outside of a deployment needs a link of its own. The broker deletes the link in every case, so that
//! nothing of a binding is left. A link whose creation was not answered is found and deleted by the next bind or unbind
//! of the same binding, because it has the binding's name; all links end with the deployment.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use odb_adapter_sdk::protocol::{
    Binding, BoshVms, CreateBinding, DeleteBinding, DnsAddresses, ManifestText, Secrets,
};
use odb_api_types::{code::Code, kind::OperationKind};
use odb_clients::{
    director::{LinkId, LinkProvider, LinkProviderId},
    http::{Call, Deadline},
};
use odb_config::DnsBinding;
use odb_core::engine::{Bindable, BindingOrder, EngineError};
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    adapter::ServiceAdapter,
    error::Error,
    instance::{Instance, manifest_of},
};

const SIDE_BY_SIDE: usize = 4;

/// Why a deployment has no address that the plan asks for: no job of the instance group provides such a link, or it is
/// for the deployment's own jobs alone.
const MISSING: &str =
    "the deployed manifest does not have; upgrade the instance if its plan got the entry later";
const NOT_SHARED: &str = "is not `shared` in the deployed manifest";

/// The adapter's input about the instance of a binding.
#[derive(Debug)]
pub(crate) struct BoshInstance {
    adapter: ServiceAdapter,
    manifest: ManifestText,
    vms: BoshVms,
    /// The values behind the manifest's references; `None` without secure manifests.
    secrets: Option<Secrets>,
    dns_addresses: DnsAddresses,
}

pub(crate) async fn find_bindable(
    engine: &BoshEngine,
    order: &BindingOrder,
) -> Result<BoshInstance, Error> {
    let call = order.call();
    let instance = Instance::new(engine, &call, &order.instance);
    // During its creation or deletion there is nothing to bind; during an update it is usable.
    match instance.operation_in_progress().await? {
        Some(kind) if kind.deletes() || kind == OperationKind::Create => Err(Error::Busy),
        Some(_) | None => bindable(engine, order).await,
    }
}

pub(crate) async fn unbind(engine: &BoshEngine, order: &BindingOrder) -> Result<(), EngineError> {
    bindable(engine, order).await?.unbind(order).await
}

#[async_trait]
impl Bindable for BoshInstance {
    async fn bind(&self, order: &BindingOrder) -> Result<Binding, EngineError> {
        let mut request = CreateBinding::new(
            order.binding.as_str(),
            self.vms.clone(),
            self.manifest.clone(),
            order.parameters.clone(),
        );
        request.secrets.clone_from(&self.secrets);
        request.dns_addresses.clone_from(&self.dns_addresses);
        let deadline = order.deadline.instant();
        let bound = self.adapter.create_binding(&request, deadline).await;
        Ok(bound.map_err(Error::from)?)
    }

    async fn unbind(&self, order: &BindingOrder) -> Result<(), EngineError> {
        let mut request = DeleteBinding::new(
            order.binding.as_str(),
            self.vms.clone(),
            self.manifest.clone(),
            order.parameters.clone(),
        );
        request.secrets.clone_from(&self.secrets);
        request.dns_addresses.clone_from(&self.dns_addresses);
        let deadline = order.deadline.instant();
        let unbound = self.adapter.delete_binding(&request, deadline).await;
        Ok(unbound.map_err(Error::from)?)
    }
}

async fn bindable(engine: &BoshEngine, order: &BindingOrder) -> Result<BoshInstance, Error> {
    let call = order.call();
    let instance = Instance::new(engine, &call, &order.instance);
    let manifest = manifest_of(instance.deployment().await?)?;
    let vms = instance.director().vms(&call, &instance.name()).await;
    let vms = vms.map_err(Error::director("list the instance's VMs"))?;
    let secrets = &engine.upstreams.secrets;
    let secrets = secrets
        .resolve_for_binding(instance, manifest.as_str())
        .await;
    Ok(BoshInstance {
        adapter: engine.adapter.clone(),
        manifest,
        vms,
        secrets,
        dns_addresses: dns_addresses(instance, order).await?,
    })
}

/// The entries that one provider answers.
type Wanted = BTreeMap<LinkProviderId, Vec<DnsBinding>>;

/// The addresses for the bindings of a plan, by the names of the plan's entries. A plan that is no longer in the
/// configuration needs none.
async fn dns_addresses(
    instance: Instance<'_>,
    order: &BindingOrder,
) -> Result<DnsAddresses, Error> {
    let plan = instance.engine.offering.plan(&order.plan);
    let entries = plan.map_or(&[][..], |plan| plan.dns_bindings.as_slice());
    if entries.is_empty() {
        return Ok(DnsAddresses::new());
    }
    let director = instance.director();
    let providers = director
        .link_providers(instance.call, &instance.name())
        .await;
    let providers = providers.map_err(Error::director("list what the deployment provides"))?;
    let wanted = by_provider(entries, &providers)?;
    // All run to their end, even if one fails: each deletes its link.
    let found: Vec<Result<DnsAddresses, Error>> = stream::iter(wanted)
        .map(|(provider, entries)| async move {
            // A name for each provider: nothing that is deleted here is in use there.
            let consumer = format!("odb-{}-{provider}", order.binding);
            of_provider(instance, &provider, &consumer, &entries).await
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

async fn of_provider(
    instance: Instance<'_>,
    provider: &LinkProviderId,
    consumer: &str,
    entries: &[DnsBinding],
) -> Result<DnsAddresses, Error> {
    let link = instance
        .director()
        .create_link(instance.call, provider, consumer)
        .await;
    let link = link.map_err(Error::director("make a link to the deployment"))?;
    let addresses = addresses_of(instance, &link, entries).await;
    let most = instance.engine.upstreams.timings.rollback;
    let timeout = match &addresses {
        // The adapter needs the rest.
        Ok(_) => most.min(instance.call.deadline.remaining() / 4),
        // Nothing else does; perhaps the request has no time left.
        Err(_) => most,
    };
    delete_link(instance, &link, timeout).await;
    addresses
}

async fn addresses_of(
    instance: Instance<'_>,
    link: &LinkId,
    entries: &[DnsBinding],
) -> Result<DnsAddresses, Error> {
    let mut addresses = DnsAddresses::new();
    for entry in entries {
        let director = instance.director();
        let address = director
            .link_address(instance.call, link, &entry.filter)
            .await;
        let address = address.map_err(Error::director("ask for the DNS address behind a link"))?;
        addresses.insert(entry.name.clone(), address);
    }
    Ok(addresses)
}

/// A link that stays does no harm: the binding does not fail for it.
async fn delete_link(instance: Instance<'_>, link: &LinkId, timeout: Duration) {
    let call = Call {
        deadline: Deadline::after(timeout),
        ..instance.call.clone()
    };
    if let Err(error) = instance.director().delete_link(&call, link).await {
        tracing::warn!(
            code = %Code::CleanUp,
            link.id = %link,
            error = %Chain(&error),
            "a link of its DNS address remains"
        );
    }
}

/// Finds the provider of each entry: the first one that is shared.
fn by_provider(entries: &[DnsBinding], providers: &[LinkProvider]) -> Result<Wanted, Error> {
    let mut wanted = Wanted::new();
    for entry in entries {
        let fits = |provider: &&LinkProvider| {
            provider.name == entry.link_provider
                && provider.instance_group.as_ref() == Some(&entry.instance_group)
        };
        let mut fitting = providers.iter().filter(fits).peekable();
        let is_there = fitting.peek().is_some();
        let Some(provider) = fitting.find(|provider| provider.shared) else {
            return Err(Error::NoLink {
                entry: entry.name.clone(),
                provider: entry.link_provider.clone(),
                group: entry.instance_group.clone(),
                problem: if is_there { NOT_SHARED } else { MISSING },
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
        assert!(error("leader").to_string().ends_with(NOT_SHARED));
        assert!(error("follower").to_string().ends_with(MISSING));
    }
}
