//! Credentials, from the deployed manifest and its addresses.

use odb_adapter_sdk::protocol::{
    Binding, BoshVms, CreateBinding, DeleteBinding, DnsAddresses, ManifestText, RequestParameters,
    Secrets,
};
use odb_api_types::ids::{BindingId, InstanceId, OfferingId, PlanId, RequestId};
use odb_clients::{
    director::Deployment,
    http::{Call, Deadline},
};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::{Fault, Instances, OperationKind, deployment};

/// What a request for credentials brings, or for their end.
#[derive(Clone, Debug)]
pub struct BindingOrder {
    /// The service instance.
    pub instance: InstanceId,
    /// The binding.
    pub binding: BindingId,
    /// The plan, which may be gone from the catalog when credentials are given back.
    pub plan: PlanId,
    /// The request's body as the adapter gets to see it.
    pub parameters: RequestParameters,
    /// The request's id.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

/// What an adapter is told of the instance that it makes credentials for, or takes them back from.
#[derive(Clone, Debug)]
pub struct Bindable {
    manifest: ManifestText,
    vms: BoshVms,
    /// The values behind the manifest's references; `None` without secure manifests.
    secrets: Option<Secrets>,
    /// The DNS addresses that the plan asks for.
    dns_addresses: DnsAddresses,
}

impl BindingOrder {
    fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

    /// The order that takes the credentials back.
    #[must_use]
    pub fn reversed(self, service: &OfferingId, deadline: Deadline) -> Self {
        Self {
            parameters: parameters_of_unbind(service, &self.plan),
            deadline,
            ..self
        }
    }
}

/// The Go broker tells adapters these two of an unbind and nothing else.
pub fn parameters_of_unbind(service: &OfferingId, plan: &PlanId) -> RequestParameters {
    let fields = [("plan_id", plan.as_str()), ("service_id", service.as_str())];
    let fields = fields.map(|(key, value)| (key.to_owned(), Value::from(value)));
    RequestParameters::from_fields(Map::from_iter(fields))
}

impl Instances {
    /// Looks at the instance that credentials are asked for.
    pub async fn find_bindable(&self, order: &BindingOrder) -> Result<Bindable, Fault> {
        // While it comes or goes there is nothing to bind to; an update leaves it usable.
        match self
            .operation_in_progress(&order.call(), &order.instance)
            .await?
        {
            Some(kind) if kind.deletes() || kind == OperationKind::Create => Err(Fault::Busy),
            Some(_) | None => self.bindable(order).await,
        }
    }

    /// Makes credentials.
    pub async fn bind(&self, order: &BindingOrder, instance: &Bindable) -> Result<Binding, Fault> {
        let mut request = CreateBinding::new(
            order.binding.as_str(),
            instance.vms.clone(),
            instance.manifest.clone(),
            order.parameters.clone(),
        );
        request.secrets.clone_from(&instance.secrets);
        request.dns_addresses.clone_from(&instance.dns_addresses);
        Ok(self
            .adapter
            .create_binding(&request, order.deadline.instant())
            .await?)
    }

    /// Takes credentials back.
    pub async fn unbind(&self, order: &BindingOrder) -> Result<(), Fault> {
        let instance = self.bindable(order).await?;
        self.unbind_from(order, &instance).await
    }

    /// Takes credentials back from an instance that has been looked at.
    pub async fn unbind_from(
        &self,
        order: &BindingOrder,
        instance: &Bindable,
    ) -> Result<(), Fault> {
        let mut request = DeleteBinding::new(
            order.binding.as_str(),
            instance.vms.clone(),
            instance.manifest.clone(),
            order.parameters.clone(),
        );
        request.secrets.clone_from(&instance.secrets);
        request.dns_addresses.clone_from(&instance.dns_addresses);
        Ok(self
            .adapter
            .delete_binding(&request, order.deadline.instant())
            .await?)
    }

    /// Gathers what an adapter is told of an instance.
    async fn bindable(&self, order: &BindingOrder) -> Result<Bindable, Fault> {
        let call = order.call();
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
        let secrets = self.secrets_for_bindings(&call, &name, &manifest).await;
        let dns_addresses = self
            .dns_addresses(&call, &order.plan, &order.binding, &name)
            .await?;
        Ok(Bindable {
            manifest,
            vms,
            secrets,
            dns_addresses,
        })
    }
}
