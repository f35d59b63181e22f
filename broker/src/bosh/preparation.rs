//! What create, update and upgrade ask the adapter for before anything changes: manifest and dashboard, with the checks.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::{
    GenerateDashboardUrl, GenerateManifest, GeneratedManifest, ManifestText, Plan as AdapterPlan,
    RequestParameters, Secrets, ServiceDeployment, UaaClient,
};
use odb_clients::{director::ContextId, http::Call};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{
    Fault, Instances, OperationKind, Order,
    configs::ConfigChanges,
    deployment, manifest,
    marker::{ClientRole, Marker, NewMarker},
    planned::PlannedClient,
    secrets::NewSecret,
    submission::Work,
};
use crate::{
    adapter::{check_dashboard, plan_for_adapter},
    config::{BoshConfigs, Plan},
    instance_clients::{InstanceClient, Making, Whereabouts},
};
use odb_api_types::{code::Code, ids::PlanId};

/// What an instance was before.
#[derive(Clone)]
pub(super) struct Previous {
    pub(super) manifest: ManifestText,
    pub(super) plan: Option<AdapterPlan>,
    pub(super) configs: Option<BTreeMap<String, String>>,
    /// The values behind the manifest's references; `None` without secure manifests, and on an upgrade.
    pub(super) secrets: Option<Secrets>,
    /// Whether it has a UAA client.
    pub(super) client: ClientRole,
    /// The operation that is known to have succeeded last.
    pub(super) succeeded: Option<ContextId>,
}

/// An operation that may be submitted, with all that is written and sent for it.
pub(super) struct Prepared {
    pub(super) record: Marker,
    pub(super) work: Work,
    /// The configs that the adapter asks for, by type.
    pub(super) configs: BTreeMap<String, String>,
    /// The types of those that it does not need any more.
    pub(super) obsolete_configs: Vec<String>,
    /// The secrets that the manifest refers to and that are not there yet.
    pub(super) secrets: Vec<NewSecret>,
    /// The instance's UAA client, which is again what it was when nothing is submitted.
    pub(super) client: Option<InstanceClient>,
    /// What becomes of it.
    pub(super) client_change: PlannedClient,
}

impl Prepared {
    /// An operation of which the adapter is not asked.
    pub(super) fn new(record: Marker, work: Work) -> Self {
        Self {
            record,
            work,
            configs: BTreeMap::new(),
            obsolete_configs: Vec::new(),
            secrets: Vec::new(),
            client: None,
            client_change: PlannedClient::Stays,
        }
    }
}

/// What an adapter has drawn up, checked.
pub(super) struct Drawn {
    /// It refers to secrets by their names in CredHub.
    pub(super) manifest: ManifestText,
    pub(super) configs: ConfigChanges,
    /// Those that are not there yet.
    pub(super) secrets: Vec<NewSecret>,
    pub(super) labels: Map<String, Value>,
}

impl Instances {
    /// The plan of the configuration.
    pub(super) fn plan(&self, id: &PlanId) -> Result<&Plan, Fault> {
        self.offering
            .plan(id)
            .ok_or_else(|| Fault::UnknownPlan { plan: id.clone() })
    }

    /// The plan as adapters get to see it.
    pub(super) fn adapter_plan(&self, plan: &Plan) -> AdapterPlan {
        plan_for_adapter(&self.offering, plan)
    }

    /// Sees to the instance's UAA client, asks the adapter for everything and checks what it says. When it fails nothing has
    /// changed.
    pub(super) async fn prepare(
        &self,
        order: &Order,
        kind: OperationKind,
        previous: Option<Previous>,
    ) -> Result<Prepared, Fault> {
        let context = ContextId::random();
        let mut client = self
            .client(order, kind, previous.as_ref(), &context)
            .await?;
        let prepared = self
            .prepare_with(order, kind, previous, context, client.as_mut())
            .await;
        match (prepared, client) {
            (Ok(prepared), client) => Ok(Prepared { client, ..prepared }),
            (Err(fault), client) => {
                self.undo_client(order, client.as_ref()).await;
                Err(fault)
            }
        }
    }

    async fn prepare_with(
        &self,
        order: &Order,
        kind: OperationKind,
        previous: Option<Previous>,
        context: ContextId,
        mut client: Option<&mut InstanceClient>,
    ) -> Result<Prepared, Fault> {
        let role = client_role(client.as_deref(), previous.as_ref());
        let (call, clients) = (self.call_of_preparation(order), &self.neighbours.clients);
        if let Some(client) = client.as_deref_mut() {
            let place = Whereabouts::of(&order.parameters);
            clients.bring_up_to_date(&call, client, &place).await?;
        }
        let client_change = match client.as_deref() {
            Some(client) => PlannedClient::of_change(client.change()),
            None => PlannedClient::not_in_hand(role, self.neighbours.clients.are_defined()),
        };
        let told = client.as_deref().map(InstanceClient::for_adapter);
        let plan = self.plan(&order.plan)?;
        let seen = self.adapter_plan(plan);
        let Drawn {
            manifest,
            configs,
            secrets,
            labels,
        } = self.draw_up(order, &seen, previous, told).await?;
        let dashboard = GenerateDashboardUrl::new(order.instance.as_str(), seen, manifest.clone());
        let dashboard_url = self
            .adapter
            .dashboard_url(&dashboard, self.due(order))
            .await?
            .filter(|address| is_usable(address));
        if let Some(client) = client {
            clients.renew(&call, client).await?;
            clients
                .redirect_to(&call, client, dashboard_url.as_deref())
                .await?;
        }
        let mut record = Marker::new(NewMarker {
            offering: self.offering.id.clone(),
            plan: order.plan.clone(),
            operation: kind,
            context,
            request: order.request.clone(),
            target: self.targets.of(&order.plan).cloned(),
            errands: plan.lifecycle_errands.post_deploy.clone(),
            digest: order.digest(),
            dashboard_url,
            labels,
        });
        record.former_secrets = secrets.iter().map(NewSecret::former).collect();
        record.client = role;
        Ok(Prepared {
            configs: configs.written,
            obsolete_configs: configs.obsolete,
            secrets,
            client_change,
            ..Prepared::new(record, Work::Deploy(manifest))
        })
    }

    /// Asks the adapter for the manifest, and checks all that comes with it. Nothing is changed.
    pub(super) async fn draw_up(
        &self,
        order: &Order,
        plan: &AdapterPlan,
        previous: Option<Previous>,
        client: Option<UaaClient>,
    ) -> Result<Drawn, Fault> {
        let configs_before = previous
            .as_ref()
            .and_then(|previous| previous.configs.clone())
            .unwrap_or_default();
        let answer = self
            .generate(order, plan, order.parameters.clone(), previous, client)
            .await?;
        manifest::check(answer.manifest.as_str(), &deployment(&order.instance))?;
        let returns_some = answer.configs.as_ref().is_some_and(|all| !all.is_empty());
        if returns_some && self.neighbours.configs == BoshConfigs::Disabled {
            return Err(Fault::ConfigsDisabled);
        }
        let configs = ConfigChanges::new(answer.configs, &configs_before, answer.manifest.as_str());
        let (manifest, secrets) = self
            .neighbours
            .secrets
            .prepare(
                &self.call_of_preparation(order),
                &order.instance,
                answer.manifest,
                answer.secrets.as_ref(),
            )
            .await?;
        Ok(Drawn {
            manifest,
            configs,
            secrets,
            labels: answer.labels,
        })
    }

    /// When the adapter has to be done, so that there is time to hand over.
    fn due(&self, order: &Order) -> Instant {
        self.call_of_preparation(order).deadline.instant()
    }

    /// A call that leaves time to hand over.
    pub(super) fn call_of_preparation(&self, order: &Order) -> Call {
        let reserve = self.neighbours.timings.submission_reserve;
        let left = order.deadline.remaining().saturating_sub(reserve);
        Call {
            deadline: order.deadline.within(left),
            ..order.call()
        }
    }

    pub(super) async fn generate(
        &self,
        order: &Order,
        plan: &AdapterPlan,
        parameters: RequestParameters,
        previous: Option<Previous>,
        client: Option<UaaClient>,
    ) -> Result<GeneratedManifest, Fault> {
        let name = deployment(&order.instance);
        let software = &self.software;
        let service = ServiceDeployment::new(
            name.as_str(),
            software.releases.clone(),
            software.stemcells.clone(),
        );
        let mut request = GenerateManifest::new(service, plan.clone(), parameters);
        request.uaa_client = client;
        if let Some(previous) = previous {
            request.previous_manifest = Some(previous.manifest);
            request.previous_plan = previous.plan;
            request.previous_configs = previous.configs;
            request.previous_secrets = previous.secrets;
        }
        Ok(self
            .adapter
            .generate_manifest(&request, self.due(order))
            .await?)
    }
}

/// Whether users may be shown the address of a dashboard. An instance is of use without.
fn is_usable(dashboard: &str) -> bool {
    match check_dashboard(dashboard) {
        Ok(()) => true,
        Err(fault) => {
            tracing::warn!(code = %Code::AdapterAnswer, "the adapter's `dashboard_url` {fault}: the instance gets none");
            false
        }
    }
}

/// What the operation has to do with the instance's UAA client. Where clients are not defined any more, one from before goes
/// when the operation has succeeded.
fn client_role(client: Option<&InstanceClient>, previous: Option<&Previous>) -> ClientRole {
    match (client, previous) {
        (Some(client), _) => match client.making() {
            Some(Making::New) => ClientRole::Made,
            Some(Making::Renewed) => ClientRole::Renewed,
            None => ClientRole::Kept,
        },
        (None, Some(previous)) => previous.client,
        (None, None) => ClientRole::None,
    }
}
