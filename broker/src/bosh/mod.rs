//! How a service instance comes to be on a Director.
//!
//! | file | holds |
//! | --- | --- |
//! | `create`, `update`, `upgrade`, `recreate`, `delete` | the request's part of an operation: everything that can fail, then the hand-over |
//! | `current`, `unfinished` | what an update or upgrade finds; what holds a deployment |
//! | `preparation`, `hand_over` | manifest, checks, dashboard; then marker, configs, submission |
//! | `client` | the instance's UAA client, around what may fail before the hand-over |
//! | `bindings`, `dns` | credentials, from the deployed manifest and its addresses; those of BOSH DNS |
//! | `instance_record`, `records` | what is known of an instance: driver, operation record and tasks, joined; of one, some or all |
//! | `last_operation` | the answer to a poll, from drivers, markers and tokens |
//! | `review`, `course` | the same for operators: its stages, their tasks and their steps |
//! | `cancel` | the end of an operation that an operator has had enough of |
//! | `driver`, `drivers` | what carries an operation from its hand-over to its end, and all of them |
//! | `observer`, `next_step`, `narrative`, `condition` | what its tasks came to, what follows, what users read meanwhile, what a failure leaves |
//! | `traces` | what the Director's audit and the deployment tell of an operation whose tasks are dropped |
//! | `failure`, `instance_names` | why a task has failed, in a line for operators; instances without UUIDs |
//! | `operation` | an operation in flight, as types |
//! | `marker`, `markers`, `token`, `digest` | what is remembered of an operation, by the Director and by the platform |
//! | `target` | what is deployed today, in one word |
//! | `runs` | what is remembered of the errands that go through all instances |
//! | `submission`, `insistence` | handing over exactly once; asking until there is an answer |
//! | `manifest`, `manifest_difference` | checks of a manifest; what would change if it were made anew |
//! | `planned`, `dry_run` | whether an upgrade would change anything, and what, told without one |
//! | `health` | how the VMs of an instance are, and what the Director can do |
//! | `in_flight` | whether what is remembered as begun is on its way |
//! | `configs` | the BOSH configs of an instance: what is written, goes, or becomes again what it was |
//! | `leftovers`, `sweeps` | what to remove after a delete; and of operations that were given up |
//! | `secrets` | what is kept in the Director's CredHub, and what manifests refer to |
//! | `trial` | whether the adapter's manifest for a plan could be deployed, for a check of the configuration |
//! | `fault` | what can go wrong |

mod bindings;
mod cancel;
mod client;
mod condition;
mod configs;
mod course;
mod create;
mod current;
mod delete;
mod digest;
mod dns;
mod driver;
mod drivers;
mod dry_run;
mod failure;
mod fault;
mod foundation;
mod hand_over;
mod health;
mod in_flight;
mod insistence;
mod instance_names;
mod instance_record;
mod last_operation;
mod leftovers;
mod manifest;
mod manifest_difference;
mod marker;
mod markers;
mod narrative;
mod next_step;
mod observer;
mod operation;
mod planned;
mod preparation;
mod records;
mod recreate;
mod review;
mod runs;
mod secrets;
mod submission;
mod sweeps;
mod target;
mod token;
mod traces;
mod trial;
mod unfinished;
mod update;
mod upgrade;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use odb_api_types::{
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
};
use odb_clients::{
    FailureKind, ServiceError,
    credhub::CredHub,
    director::{ConfigName, ContextId, DeploymentName, Director, Force, TaskFilter},
    http::{Call, Deadline},
};
use serde_json::{Map, Value};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, broadcast},
};
use tokio_util::sync::CancellationToken;

use crate::{
    adapter::ServiceAdapter,
    config::{
        BoshConfigs, Config, ErrorDetail, Offering, PendingChanges, ServiceSoftware, Timings,
        UnchangedUpgrades,
    },
    instance_clients::InstanceClients,
};
use odb_adapter_sdk::protocol::RequestParameters;

pub use bindings::{Bindable, BindingOrder, parameters_of_unbind};
pub use cancel::{CancelFault, Cancelled};
pub use create::{Found, Vacancy};
pub use delete::{Deleted, Insistence};
pub use digest::{RequestDigest, RequestIdentity};
pub use dns::NoLink;
pub use fault::Fault;
pub use foundation::Foundation;
pub use leftovers::{KeptBindings, LeftoversFault};
pub use manifest::ManifestFault;
pub use manifest_difference::{ManifestDifference, UnreadableManifest};
pub use marker::{Marker, Origin, Outcome};
pub use markers::{Mark, Markers, ReadMarkerError, StoredMarker, WriteMarkerError};
pub use records::Ownership;
pub use runs::{RunFault, Runs};
pub use secrets::{FormerSecret, ResolveFault, SecretFault};
pub(crate) use secrets::{has_reference, is_reference};
pub use target::Targets;
pub use token::OperationToken;
pub use trial::TrialFault;
pub(crate) use trial::{Tried, try_order};
pub use upgrade::Upgraded;

use drivers::Drivers;
use secrets::InstanceSecrets;
use sweeps::GivenUp;

/// Service instances as deployments of a Director.
#[derive(Clone, Debug)]
pub struct Instances {
    neighbours: Arc<Neighbours>,
    adapter: ServiceAdapter,
    software: Arc<ServiceSoftware>,
    offering: Arc<Offering>,
    pending_changes: PendingChanges,
    unchanged_upgrades: UnchangedUpgrades,
    targets: Arc<Targets>,
    runs: Runs,
    drivers: Drivers,
    /// Every operation of an earlier process has its driver.
    is_resumed: Arc<AtomicBool>,
}

/// What drivers and requests share.
#[derive(Debug)]
struct Neighbours {
    director: Director,
    markers: Markers,
    secrets: InstanceSecrets,
    bindings: Option<Arc<dyn KeptBindings>>,
    offering: Arc<Offering>,
    timings: Timings,
    configs: BoshConfigs,
    error_detail: ErrorDetail,
    /// Bounds the submissions under way; the Director's own queue is the durable one.
    submissions: Semaphore,
    given_up: GivenUp,
    /// Hears of each operation that has come to its end.
    ends: broadcast::Sender<OperationKind>,
    clients: InstanceClients,
}

/// How many ends may wait until somebody listens; older ones are forgotten.
const ENDS: usize = 1024;

/// What a request asks for, with all that the request brings.
#[derive(Debug)]
pub struct Order {
    /// The service instance.
    pub instance: InstanceId,
    /// The plan it shall be on.
    pub plan: PlanId,
    /// The request's body as the adapter gets to see it.
    pub parameters: RequestParameters,
    /// What makes a repeat of the request the same request.
    pub identity: Value,
    /// The request's id.
    pub request: RequestId,
    /// When the answer is due.
    pub deadline: Deadline,
}

/// Whom it takes to bring instances about, checked at the start.
#[derive(Debug)]
pub struct Surroundings {
    /// Deploys them.
    pub director: Director,
    /// Whether BOSH configs may be used, which can be less than what is configured.
    pub configs: BoshConfigs,
    /// The Director's, where secure manifests are on.
    pub credhub: Option<CredHub>,
    /// Keeps the credentials of their bindings, where secure bindings are on.
    pub bindings: Option<Arc<dyn KeptBindings>>,
    /// Administers their UAA clients.
    pub clients: InstanceClients,
    /// Knows what to deploy.
    pub adapter: ServiceAdapter,
    /// What is deployed today.
    pub targets: Targets,
}

/// An operation that has been handed over.
#[derive(Clone, Debug, PartialEq)]
pub struct Started {
    /// What the platform hands back when it asks how the operation is doing.
    pub token: String,
    /// What the adapter named as dashboard.
    pub dashboard_url: Option<String>,
    /// What the adapter says of the instance.
    pub labels: Map<String, Value>,
}

impl Order {
    fn call(&self) -> Call {
        Call::until(self.deadline).with_request_id(self.request.as_str())
    }

    fn identity(&self) -> RequestIdentity<'_> {
        RequestIdentity(&self.identity)
    }

    fn digest(&self) -> RequestDigest {
        RequestDigest::new(self.identity())
    }
}

impl Instances {
    /// Ties the parts together. Drivers run on `runtime` until `stopping`.
    pub fn new(
        config: &Config,
        surroundings: Surroundings,
        runtime: Handle,
        stopping: CancellationToken,
    ) -> Self {
        let Surroundings {
            director,
            configs,
            credhub,
            bindings,
            clients,
            adapter,
            targets,
        } = surroundings;
        let offering = config.offering.clone();
        let targets = Arc::new(targets);
        let runs = Runs::new(
            director.clone(),
            offering.id.clone(),
            configs,
            targets.clone(),
        );
        let neighbours = Neighbours {
            markers: Markers::new(
                director.clone(),
                offering.id.clone(),
                configs,
                config
                    .cloud_foundry
                    .as_ref()
                    .map(|cf| Foundation::of(cf.url.as_written())),
            ),
            director,
            secrets: InstanceSecrets::new(credhub, offering.id.clone()),
            bindings,
            offering: offering.clone(),
            timings: config.broker.timings,
            configs,
            error_detail: config.broker.error_detail,
            submissions: Semaphore::new(config.broker.timings.submissions),
            given_up: GivenUp::default(),
            ends: broadcast::Sender::new(ENDS),
            clients,
        };
        Self {
            neighbours: Arc::new(neighbours),
            adapter,
            software: Arc::new(config.software.clone()),
            offering,
            pending_changes: config.broker.pending_changes,
            unchanged_upgrades: config.broker.unchanged_upgrades,
            targets,
            runs,
            drivers: Drivers::new(runtime, stopping),
            is_resumed: Arc::default(),
        }
    }

    /// What is deployed today.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The errands that go through all instances.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Tells of each operation that comes to its end from now on.
    pub fn ends(&self) -> broadcast::Receiver<OperationKind> {
        self.neighbours.ends.subscribe()
    }

    /// Picks up every operation that an earlier process left in progress. Gives their number. Requests need not wait for it:
    /// what they ask about is picked up for them.
    pub async fn resume(&self, call: &Call) -> Result<usize, ServiceError> {
        let open = |instance, stored: StoredMarker| {
            let is_open = stored.marker.outcome.is_none();
            is_open.then_some((instance, stored))
        };
        let found: Result<Vec<_>, _> = self.neighbours.markers.ours_with(call, open).await;
        if let Err(ServiceError {
            kind: FailureKind::NotAllowed { .. },
            ..
        }) = &found
        {
            // There is nothing to be read later either.
            self.is_resumed.store(true, Ordering::Release);
        }
        let mut resumed = 0;
        for (instance, stored) in found? {
            // What this process has begun since the listing is in better hands.
            let is_known_here = self.drivers.known(&instance).is_some()
                || self.never_began(&instance, &stored.marker);
            if !is_known_here {
                self.take_over(&instance, stored);
                resumed += 1;
            }
        }
        self.is_resumed.store(true, Ordering::Release);
        Ok(resumed)
    }
}

/// Whether the Director swallows the errors of a deletion.
fn force(kind: OperationKind) -> Force {
    if kind == OperationKind::ForceDelete {
        Force::Yes
    } else {
        Force::No
    }
}

/// What the name of every deployment of a service instance begins with, whichever on-demand broker made it.
const DEPLOYMENT_PREFIX: &str = "service-instance_";

/// The service instance that a deployment of this name holds, if it holds one.
pub fn instance_of(deployment: &str) -> Option<InstanceId> {
    let id = deployment.strip_prefix(DEPLOYMENT_PREFIX)?;
    InstanceId::try_from(id.to_owned()).ok()
}

/// The deployment that holds a service instance. The name is the Go broker's.
pub fn deployment(instance: &InstanceId) -> DeploymentName {
    DeploymentName::try_from(format!("{DEPLOYMENT_PREFIX}{instance}"))
        .expect("an id that travels fits into a path")
}

/// The name of the configs that an adapter asks for: the deployment's, as with the Go broker.
fn config_name(deployment: &DeploymentName) -> ConfigName {
    ConfigName::try_from(deployment.as_str().to_owned())
        .expect("a deployment's name fits into an address")
}

/// The tasks of one operation.
fn of_context(context: &ContextId) -> TaskFilter {
    TaskFilter {
        context: Some(context.clone()),
        ..TaskFilter::default()
    }
}
