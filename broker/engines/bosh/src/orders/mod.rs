//! The request's part of an operation: everything that can fail, up to the submission to the Director. Here the
//! preparation of create, update and upgrade: the instance's UAA client, the adapter's manifest and dashboard, with the
//! checks.
//!
//! | file | contents |
//! | --- | --- |
//! | `change`, `delete`, `cancel` | the orders |
//! | `submission` | the writes, their rollback, and the submission; writes that are given up and may still arrive |

pub(crate) mod cancel;
pub(crate) mod change;
pub(crate) mod delete;
pub(crate) mod submission;

use std::collections::BTreeMap;

use jiff::Timestamp;
use odb_adapter_sdk::protocol::{
    GenerateDashboardUrl, GenerateManifest, GeneratedManifest, ManifestText, Plan as AdapterPlan,
    RequestParameters, Secrets, ServiceDeployment, UaaClient,
};
use odb_api_types::{code::Code, ids::PlanId, kind::OperationKind};
use odb_clients::{
    director::ContextId,
    http::{Call, Deadline},
};
use odb_config::{BoshConfigs, Plan};
use odb_core::{engine::Order, shown::check_dashboard};
use odb_redaction::Chain;
use serde_json::{Map, Value};

use crate::{
    BoshEngine,
    adapter::plan_for_adapter,
    configs::{ConfigChanges, CurrentConfigs},
    error::Error,
    instance::deployment,
    instance_clients::{CfContext, ClientError, InstanceClient},
    manifest::{check, planned::PlannedClient},
    orders::submission::{Work, delete_abandoned_client},
    records::operation_record::{ClientRole, OperationRecord},
    secrets::NewSecret,
};

#[derive(Clone)]
pub(crate) struct Previous {
    pub(crate) manifest: ManifestText,
    pub(crate) plan: Option<AdapterPlan>,
    pub(crate) configs: Option<BTreeMap<String, String>>,
    /// The values behind the manifest's references; `None` without secure manifests, and on an upgrade.
    pub(crate) secrets: Option<Secrets>,
    pub(crate) client: ClientRole,
    pub(crate) succeeded: Option<ContextId>,
}

/// An operation that may be submitted, with all that is written and sent for it.
pub(crate) struct Prepared {
    pub(crate) record: OperationRecord,
    pub(crate) work: Work,
    /// The instance's UAA client, which is restored if nothing is submitted.
    pub(crate) client: Option<InstanceClient>,
    pub(crate) client_change: PlannedClient,
}

impl Prepared {
    /// An operation without a call of the adapter.
    pub(crate) fn new(record: OperationRecord, work: Work) -> Self {
        Self {
            record,
            work,
            client: None,
            client_change: PlannedClient::Stays,
        }
    }

    /// Notes which versions of configs the operation replaces, and which go when it has succeeded.
    pub(crate) fn note_configs(&mut self, current: Option<&CurrentConfigs>) {
        if let (Some(current), Work::Deploy(generated)) = (current, &self.work) {
            self.record.replaced_configs = current.replaced_by(&generated.configs.written);
            self.record.obsolete_configs = current.versions_of(&generated.configs.obsolete);
        }
    }
}

pub(crate) struct Generated {
    /// It refers to secrets by their names in CredHub.
    pub(crate) manifest: ManifestText,
    pub(crate) configs: ConfigChanges,
    /// Those that are not there yet.
    pub(crate) secrets: Vec<NewSecret>,
    pub(crate) labels: Map<String, Value>,
}

pub(crate) fn plan<'a>(engine: &'a BoshEngine, id: &PlanId) -> Result<&'a Plan, Error> {
    let unknown = || Error::UnknownPlan { plan: id.clone() };
    engine.offering.plan(id).ok_or_else(unknown)
}

/// A call that leaves time for the submission.
pub(crate) fn call_of_preparation(engine: &BoshEngine, order: &Order) -> Call {
    let reserve = engine.upstreams.timings.submission_reserve;
    let left = order.deadline.remaining().saturating_sub(reserve);
    Call {
        deadline: order.deadline.within(left),
        ..order.call()
    }
}

/// Prepares the instance's UAA client, calls the adapter and validates its answers. If it fails, nothing has changed.
pub(crate) async fn prepare(
    engine: &BoshEngine,
    order: &Order,
    kind: OperationKind,
    previous: Option<Previous>,
) -> Result<Prepared, Error> {
    let record = OperationRecord::of_order(&engine.offering.id, order, kind);
    let mut client = client(engine, order, kind, previous.as_ref(), &record.context).await?;
    match prepare_with(engine, order, record, previous, client.as_mut()).await {
        Ok(prepared) => Ok(Prepared { client, ..prepared }),
        Err(error) => {
            undo_client(engine, order, client.as_ref()).await;
            Err(error)
        }
    }
}

async fn prepare_with(
    engine: &BoshEngine,
    order: &Order,
    mut record: OperationRecord,
    previous: Option<Previous>,
    mut client: Option<&mut InstanceClient>,
) -> Result<Prepared, Error> {
    let call = call_of_preparation(engine, order);
    let clients = &engine.upstreams.clients;
    // If clients are no longer defined, an earlier one is deleted when the operation has succeeded.
    let earlier = previous
        .as_ref()
        .map_or(ClientRole::None, |previous| previous.client);
    record.client = client.as_deref().map_or(earlier, InstanceClient::role);
    if let Some(client) = client.as_deref_mut() {
        let location = CfContext::of(&order.parameters);
        clients.bring_up_to_date(&call, client, &location).await?;
    }
    let client_change = PlannedClient::of(client.as_deref(), record.client, clients.are_defined());
    let reported = client.as_deref().map(InstanceClient::for_adapter);
    let plan = plan(engine, &order.plan)?;
    let seen = plan_for_adapter(&engine.offering, plan);
    let generated = generate(engine, order, seen.clone(), previous, reported).await?;
    let manifest = generated.manifest.clone();
    let dashboard = GenerateDashboardUrl::new(order.instance.as_str(), seen, manifest);
    let dashboard_url = engine
        .adapter
        .dashboard_url(&dashboard, call.deadline.instant())
        .await?
        .filter(|address| is_usable(address));
    if let Some(client) = client {
        let dashboard = dashboard_url.as_deref();
        clients.renew(&call, client).await?;
        clients.redirect_to(&call, client, dashboard).await?;
    }
    // The preparation does not count.
    record.began = Some(Timestamp::now());
    record.target = engine.targets.of(&order.plan).cloned();
    record
        .errands
        .clone_from(&plan.lifecycle_errands.post_deploy);
    record.dashboard_url = dashboard_url;
    record.labels.clone_from(&generated.labels);
    record.previous_secrets = generated.secrets.iter().map(NewSecret::previous).collect();
    Ok(Prepared {
        client_change,
        ..Prepared::new(record, Work::Deploy(generated))
    })
}

/// Asks the adapter for the manifest, and checks all that comes with it. Nothing is changed.
pub(crate) async fn generate(
    engine: &BoshEngine,
    order: &Order,
    plan: AdapterPlan,
    previous: Option<Previous>,
    client: Option<UaaClient>,
) -> Result<Generated, Error> {
    let configs_before = previous
        .as_ref()
        .and_then(|previous| previous.configs.clone());
    let parameters = order.parameters.clone();
    let answer = generate_manifest(engine, order, plan, parameters, previous, client).await?;
    check(answer.manifest.as_str(), &deployment(&order.instance))?;
    let returns_some = answer.configs.as_ref().is_some_and(|all| !all.is_empty());
    if returns_some && engine.upstreams.configs == BoshConfigs::Disabled {
        return Err(Error::ConfigsDisabled);
    }
    let configs_before = configs_before.unwrap_or_default();
    let configs = ConfigChanges::new(answer.configs, &configs_before, answer.manifest.as_str());
    let call = call_of_preparation(engine, order);
    let (secrets, returned) = (&engine.upstreams.secrets, answer.secrets.as_ref());
    let prepared = secrets.prepare(&call, &order.instance, answer.manifest, returned);
    let (manifest, secrets) = prepared.await?;
    Ok(Generated {
        manifest,
        configs,
        secrets,
        labels: answer.labels,
    })
}

pub(crate) async fn generate_manifest(
    engine: &BoshEngine,
    order: &Order,
    plan: AdapterPlan,
    parameters: RequestParameters,
    previous: Option<Previous>,
    client: Option<UaaClient>,
) -> Result<GeneratedManifest, Error> {
    let name = deployment(&order.instance);
    let software = &engine.software;
    let service = ServiceDeployment::new(
        name.as_str(),
        software.releases.clone(),
        software.stemcells.clone(),
    );
    let mut request = GenerateManifest::new(service, plan, parameters);
    request.uaa_client = client;
    if let Some(previous) = previous {
        request.previous_manifest = Some(previous.manifest);
        request.previous_plan = previous.plan;
        request.previous_configs = previous.configs;
        request.previous_secrets = previous.secrets;
    }
    let deadline = call_of_preparation(engine, order).deadline.instant();
    Ok(engine.adapter.generate_manifest(&request, deadline).await?)
}

/// Whether a dashboard's address may be shown to users. The instance is usable without one.
fn is_usable(dashboard: &str) -> bool {
    match check_dashboard(dashboard) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(code = %Code::AdapterAnswer, "the adapter's `dashboard_url` {error}: the instance gets none");
            false
        }
    }
}

/// The client of the instance: new for a new one, else as it is. `None` where instances have none.
async fn client(
    engine: &BoshEngine,
    order: &Order,
    kind: OperationKind,
    previous: Option<&Previous>,
    operation: &ContextId,
) -> Result<Option<InstanceClient>, Error> {
    let call = call_of_preparation(engine, order);
    let (clients, instance) = (&engine.upstreams.clients, &order.instance);
    let location = CfContext::of(&order.parameters);
    let client = match previous {
        None => clients.make(&call, instance, &location, operation).await,
        Some(previous) => {
            let succeeded = previous.succeeded.as_ref();
            let found = clients.find_or_make(&call, instance, &location, operation, succeeded);
            found.await
        }
    };
    if client.as_ref().is_err_and(ClientError::may_have_made) {
        delete_abandoned_client(engine, order, operation);
    }
    match client {
        // The platform's operator, who upgrades by API, cannot give the space; users can.
        Err(error @ ClientError::SpaceUnknown) if kind == OperationKind::Upgrade => {
            tracing::warn!(code = %Code::InstanceClient, error = %Chain(&error), "the instance is upgraded without a UAA client; its next update makes one");
            Ok(None)
        }
        client => Ok(client?),
    }
}

/// Nothing is submitted: restores the client.
pub(crate) async fn undo_client(
    engine: &BoshEngine,
    order: &Order,
    client: Option<&InstanceClient>,
) {
    let Some(client) = client else { return };
    let call = Call::until(Deadline::after(engine.upstreams.timings.rollback))
        .with_request_id(order.request.as_str());
    let Err(error) = engine.upstreams.clients.undo(&call, client).await else {
        return;
    };
    tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "what was done to the UAA client of the instance could not be undone yet");
    if let Some(operation) = client.made_by() {
        delete_abandoned_client(engine, order, operation);
    }
}
