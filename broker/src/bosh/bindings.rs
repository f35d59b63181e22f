//! Credentials, from the deployed manifest and its addresses.

use odb_adapter_sdk::protocol::{
    Binding, BoshVms, CreateBinding, DeleteBinding, ManifestText, RequestParameters,
};
use odb_platform::{
    director::Deployment,
    http::{Call, Deadline},
};

use secrecy::ExposeSecret;

use super::{Fault, Instances, Known, OperationKind, deployment};
use crate::ids::{BindingId, InstanceId, RequestId};

/// What a request for credentials brings, or for their end.
#[derive(Debug)]
pub struct BindingOrder {
    /// The service instance.
    pub instance: InstanceId,
    /// The binding.
    pub binding: BindingId,
    /// The request's body as the adapter gets to see it.
    pub parameters: RequestParameters,
    /// The request's id.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

/// An instance that can be bound: what an adapter needs to know of it.
#[derive(Debug)]
pub struct Bindable {
    manifest: ManifestText,
    vms: BoshVms,
}

impl Instances {
    /// Looks at the instance that credentials are asked for.
    pub async fn find_bindable(&self, order: &BindingOrder) -> Result<Bindable, Fault> {
        // While it comes or goes there is nothing to bind to; an update leaves it usable.
        if let Some(Known { snapshot, .. }) = self.drivers.known(&order.instance)
            && snapshot.is_in_progress()
            && (snapshot.kind.deletes() || snapshot.kind == OperationKind::Create)
        {
            return Err(Fault::Busy);
        }
        self.topology(order).await
    }

    /// Makes credentials.
    pub async fn bind(&self, order: &BindingOrder, instance: Bindable) -> Result<Binding, Fault> {
        let request = CreateBinding::new(
            order.binding.as_str(),
            instance.vms,
            instance.manifest,
            order.parameters.clone(),
        );
        Ok(self
            .adapter
            .create_binding(&request, order.deadline.instant())
            .await?)
    }

    /// Takes credentials back.
    pub async fn unbind(&self, order: &BindingOrder) -> Result<(), Fault> {
        let instance = self.topology(order).await?;
        let request = DeleteBinding::new(
            order.binding.as_str(),
            instance.vms,
            instance.manifest,
            order.parameters.clone(),
        );
        Ok(self
            .adapter
            .delete_binding(&request, order.deadline.instant())
            .await?)
    }

    async fn topology(&self, order: &BindingOrder) -> Result<Bindable, Fault> {
        let call = Call::until(order.deadline).with_request_id(order.request.as_str());
        let name = deployment(&order.instance);
        let director = &self.neighbours.director;
        let manifest = match director
            .deployment(&call, &name)
            .await
            .map_err(Fault::director("look the deployment up"))?
        {
            Deployment::Deployed(manifest) => ManifestText::from(manifest.expose_secret()),
            Deployment::ForeignTeam => return Err(Fault::Foreign),
            Deployment::Absent | Deployment::NeverDeployed => return Err(Fault::NotFound),
        };
        let vms = director
            .vms(&call, &name)
            .await
            .map_err(Fault::director("list the instance's VMs"))?;
        Ok(Bindable { manifest, vms })
    }
}
