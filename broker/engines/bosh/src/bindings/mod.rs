//! Credentials, from the deployed manifest and its addresses.

pub(crate) mod dns;

use async_trait::async_trait;
use odb_adapter_sdk::protocol::{
    Binding, BoshVms, CreateBinding, DeleteBinding, DnsAddresses, ManifestText, Secrets,
};
use odb_api_types::kind::OperationKind;
use odb_clients::director::Deployment;
use odb_core::engine::{Bindable, BindingOrder, EngineError};
use secrecy::ExposeSecret;

use crate::{
    BoshEngine, adapter::ServiceAdapter, deployment::deployment, error::Error, records::in_flight,
    secrets,
};

/// The adapter's input about the instance of a binding.
#[derive(Debug)]
pub(crate) struct BoshInstance {
    adapter: ServiceAdapter,
    manifest: ManifestText,
    vms: BoshVms,
    /// The values behind the manifest's references; `None` without secure manifests.
    secrets: Option<Secrets>,
    /// The DNS addresses that the plan asks for.
    dns_addresses: DnsAddresses,
}

/// Reads the instance of a binding request.
pub(crate) async fn find_bindable(
    engine: &BoshEngine,
    order: &BindingOrder,
) -> Result<BoshInstance, Error> {
    // During its creation or deletion there is nothing to bind; during an update it is usable.
    match in_flight::operation_in_progress(engine, &order.call(), &order.instance).await? {
        Some(kind) if kind.deletes() || kind == OperationKind::Create => Err(Error::Busy),
        Some(_) | None => bindable(engine, order).await,
    }
}

/// Takes credentials back.
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

/// Collects the adapter's input about an instance.
async fn bindable(engine: &BoshEngine, order: &BindingOrder) -> Result<BoshInstance, Error> {
    let call = order.call();
    let name = deployment(&order.instance);
    let director = &engine.upstreams.director;
    let manifest = match director
        .deployment(&call, &name)
        .await
        .map_err(Error::director("look the deployment up"))?
    {
        Deployment::Deployed(manifest) => ManifestText::from(manifest.expose_secret()),
        Deployment::ForeignTeam => return Err(Error::Foreign),
        Deployment::Absent | Deployment::NeverDeployed => return Err(Error::NotFound),
    };
    let vms = director
        .vms(&call, &name)
        .await
        .map_err(Error::director("list the instance's VMs"))?;
    let secrets = secrets::secrets_for_bindings(engine, &call, &name, &manifest).await;
    let dns_addresses =
        dns::dns_addresses(engine, &call, &order.plan, &order.binding, &name).await?;
    Ok(BoshInstance {
        adapter: engine.adapter.clone(),
        manifest,
        vms,
        secrets,
        dns_addresses,
    })
}
