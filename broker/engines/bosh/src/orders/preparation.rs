//! The adapter calls of create, update and upgrade before anything changes: manifest and dashboard, with the checks.

use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::{
    GenerateDashboardUrl, GenerateManifest, GeneratedManifest, ManifestText, Plan as AdapterPlan,
    RequestParameters, Secrets, ServiceDeployment, UaaClient,
};
use odb_api_types::{code::Code, ids::PlanId, kind::OperationKind};
use odb_clients::{director::ContextId, http::Call};
use odb_config::{BoshConfigs, Plan};
use odb_core::{engine::Order, shown::check_dashboard};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::{
    BoshEngine,
    adapter::plan_for_adapter,
    configs::ConfigChanges,
    deployment::deployment,
    error::Error,
    instance_clients::{CfContext, InstanceClient, Making},
    manifest::{checks, planned::PlannedClient},
    orders::{client, submission::Work},
    records::operation_record::{ClientRole, NewRecord, OperationRecord},
    secrets::NewSecret,
};

/// The previous state of an instance.
#[derive(Clone)]
pub(crate) struct Previous {
    pub(crate) manifest: ManifestText,
    pub(crate) plan: Option<AdapterPlan>,
    pub(crate) configs: Option<BTreeMap<String, String>>,
    /// The values behind the manifest's references; `None` without secure manifests, and on an upgrade.
    pub(crate) secrets: Option<Secrets>,
    /// Whether it has a UAA client.
    pub(crate) client: ClientRole,
    /// The operation that is known to have succeeded last.
    pub(crate) succeeded: Option<ContextId>,
}

/// An operation that may be submitted, with all that is written and sent for it.
pub(crate) struct Prepared {
    pub(crate) record: OperationRecord,
    pub(crate) work: Work,
    /// The configs that the adapter asks for, by type.
    pub(crate) configs: BTreeMap<String, String>,
    /// The types of those that it does not need any more.
    pub(crate) obsolete_configs: Vec<String>,
    /// The secrets that the manifest refers to and that are not there yet.
    pub(crate) secrets: Vec<NewSecret>,
    /// The instance's UAA client, which is restored if nothing is submitted.
    pub(crate) client: Option<InstanceClient>,
    /// The change of its UAA client.
    pub(crate) client_change: PlannedClient,
}

impl Prepared {
    /// An operation without a call of the adapter.
    pub(crate) fn new(record: OperationRecord, work: Work) -> Self {
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

/// The checked answer of an adapter.
pub(crate) struct Generated {
    /// It refers to secrets by their names in CredHub.
    pub(crate) manifest: ManifestText,
    pub(crate) configs: ConfigChanges,
    /// Those that are not there yet.
    pub(crate) secrets: Vec<NewSecret>,
    pub(crate) labels: Map<String, Value>,
}

/// The plan of the configuration.
pub(crate) fn plan<'a>(engine: &'a BoshEngine, id: &PlanId) -> Result<&'a Plan, Error> {
    engine
        .offering
        .plan(id)
        .ok_or_else(|| Error::UnknownPlan { plan: id.clone() })
}

/// The plan as adapters get to see it.
pub(crate) fn adapter_plan(engine: &BoshEngine, plan: &Plan) -> AdapterPlan {
    plan_for_adapter(&engine.offering, plan)
}

/// Prepares the instance's UAA client, calls the adapter and validates its answers. If it fails, nothing has changed.
pub(crate) async fn prepare(
    engine: &BoshEngine,
    order: &Order,
    kind: OperationKind,
    previous: Option<Previous>,
) -> Result<Prepared, Error> {
    let context = ContextId::random();
    let mut client = client::client(engine, order, kind, previous.as_ref(), &context).await?;
    let prepared = prepare_with(engine, order, kind, previous, context, client.as_mut()).await;
    match (prepared, client) {
        (Ok(prepared), client) => Ok(Prepared { client, ..prepared }),
        (Err(error), client) => {
            client::undo_client(engine, order, client.as_ref()).await;
            Err(error)
        }
    }
}

async fn prepare_with(
    engine: &BoshEngine,
    order: &Order,
    kind: OperationKind,
    previous: Option<Previous>,
    context: ContextId,
    mut client: Option<&mut InstanceClient>,
) -> Result<Prepared, Error> {
    let role = client_role(client.as_deref(), previous.as_ref());
    let (call, clients) = (
        call_of_preparation(engine, order),
        &engine.upstreams.clients,
    );
    if let Some(client) = client.as_deref_mut() {
        let permit = CfContext::of(&order.parameters);
        clients.bring_up_to_date(&call, client, &permit).await?;
    }
    let client_change = match client.as_deref() {
        Some(client) => PlannedClient::of_change(client.change()),
        None => PlannedClient::not_in_hand(role, engine.upstreams.clients.are_defined()),
    };
    let reported = client.as_deref().map(InstanceClient::for_adapter);
    let plan = plan(engine, &order.plan)?;
    let seen = adapter_plan(engine, plan);
    let Generated {
        manifest,
        configs,
        secrets,
        labels,
    } = generate(engine, order, &seen, previous, reported).await?;
    let dashboard = GenerateDashboardUrl::new(order.instance.as_str(), seen, manifest.clone());
    let dashboard_url = engine
        .adapter
        .dashboard_url(&dashboard, due(engine, order))
        .await?
        .filter(|address| is_usable(address));
    if let Some(client) = client {
        clients.renew(&call, client).await?;
        clients
            .redirect_to(&call, client, dashboard_url.as_deref())
            .await?;
    }
    let mut record = OperationRecord::new(NewRecord {
        offering: engine.offering.id.clone(),
        plan: order.plan.clone(),
        operation: kind,
        context,
        request: order.request.clone(),
        target: engine.targets.of(&order.plan).cloned(),
        errands: plan.lifecycle_errands.post_deploy.clone(),
        digest: order.digest(),
        dashboard_url,
        labels,
    });
    record.previous_secrets = secrets.iter().map(NewSecret::previous).collect();
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
pub(crate) async fn generate(
    engine: &BoshEngine,
    order: &Order,
    plan: &AdapterPlan,
    previous: Option<Previous>,
    client: Option<UaaClient>,
) -> Result<Generated, Error> {
    let configs_before = previous
        .as_ref()
        .and_then(|previous| previous.configs.clone())
        .unwrap_or_default();
    let answer = generate_manifest(
        engine,
        order,
        plan,
        order.parameters.clone(),
        previous,
        client,
    )
    .await?;
    checks::check(answer.manifest.as_str(), &deployment(&order.instance))?;
    let returns_some = answer.configs.as_ref().is_some_and(|all| !all.is_empty());
    if returns_some && engine.upstreams.configs == BoshConfigs::Disabled {
        return Err(Error::ConfigsDisabled);
    }
    let configs = ConfigChanges::new(answer.configs, &configs_before, answer.manifest.as_str());
    let (manifest, secrets) = engine
        .upstreams
        .secrets
        .prepare(
            &call_of_preparation(engine, order),
            &order.instance,
            answer.manifest,
            answer.secrets.as_ref(),
        )
        .await?;
    Ok(Generated {
        manifest,
        configs,
        secrets,
        labels: answer.labels,
    })
}

/// The deadline of the adapter, which leaves time for the submission.
fn due(engine: &BoshEngine, order: &Order) -> Instant {
    call_of_preparation(engine, order).deadline.instant()
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

pub(crate) async fn generate_manifest(
    engine: &BoshEngine,
    order: &Order,
    plan: &AdapterPlan,
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
    let mut request = GenerateManifest::new(service, plan.clone(), parameters);
    request.uaa_client = client;
    if let Some(previous) = previous {
        request.previous_manifest = Some(previous.manifest);
        request.previous_plan = previous.plan;
        request.previous_configs = previous.configs;
        request.previous_secrets = previous.secrets;
    }
    Ok(engine
        .adapter
        .generate_manifest(&request, due(engine, order))
        .await?)
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

/// The role of the instance's UAA client in the operation. If clients are no longer defined, an earlier one is deleted
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
