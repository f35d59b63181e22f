//! Service instances as deployments of a BOSH Director: everything that is specific to this kind of foundation.
//!
//! | module | contents |
//! | --- | --- |
//! | `engine` | the engine trait, delegated to one function each; the health of VMs |
//! | `instance` | an instance as one request looks at it: names, deployment, tasks, record, operation in progress |
//! | `orders` | the request's part of an operation: everything that can fail, then the submission to the Director |
//! | `bindings` | credentials, from the deployed manifest and its addresses |
//! | `reconciler` | follows an operation from its submission to its end |
//! | `records` | the operation record, and the instance record that is built from it, the Director's tasks and tokens |
//! | `manifest` | checks of a manifest, differences to a regenerated one, the current target |
//! | `secrets` | secrets in the Director's CredHub, and references of manifests |
//! | `configs` | the BOSH configs of an instance |
//! | `runs` | the journal of rollouts, in BOSH configs |
//! | [`instance_clients`] | the UAA client of each instance |
//! | [`adapter`] | one supervised child process for each call |
//! | `error` | the errors of the engine |
//! | `digest`, `wait` | digests of a foundation and of an executable; pauses between attempts |

pub mod adapter;
mod bindings;
mod configs;
mod digest;
mod engine;
mod error;
mod instance;
pub mod instance_clients;
mod manifest;
mod orders;
mod reconciler;
mod records;
mod runs;
mod secrets;
mod wait;

use std::sync::{Arc, atomic::AtomicBool};

use odb_api_types::kind::OperationKind;
use odb_clients::{credhub::CredHub, director::Director};
use odb_config::{BoshConfigs, Config, ErrorDetail, Offering, ServiceSoftware, Timings};
use odb_core::engine::KeptBindings;
use tokio::{
    runtime::Handle,
    sync::{Semaphore, broadcast},
};
use tokio_util::sync::CancellationToken;

use adapter::ServiceAdapter;
use digest::Foundation;
use instance_clients::InstanceClients;
use orders::abandoned_writes::Abandoned;
use reconciler::reconcilers::Reconcilers;
use records::operation_records::Records;
use runs::Runs;
use secrets::InstanceSecrets;

pub use manifest::{
    target::Targets,
    trial::{TrialError, Tried, try_order},
};
pub use secrets::{has_reference, is_reference};

/// Service instances as deployments of a Director.
#[derive(Clone, Debug)]
pub struct BoshEngine {
    upstreams: Arc<Upstreams>,
    adapter: ServiceAdapter,
    software: Arc<ServiceSoftware>,
    offering: Arc<Offering>,
    skips_pending_changes_check: bool,
    skips_unchanged_upgrades: bool,
    targets: Arc<Targets>,
    runs: Runs,
    reconcilers: Reconcilers,
    /// Every operation of an earlier process has its reconciler.
    is_resumed: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Upstreams {
    director: Director,
    records: Records,
    secrets: InstanceSecrets,
    bindings: Option<Arc<dyn KeptBindings>>,
    offering: Arc<Offering>,
    timings: Timings,
    configs: BoshConfigs,
    error_detail: ErrorDetail,
    /// Bounds the submissions under way; the Director's own queue is the durable one.
    submissions: Semaphore,
    abandoned: Abandoned,
    ends: broadcast::Sender<OperationKind>,
    clients: InstanceClients,
}

/// How many ended operations may wait for a receiver; older ones are dropped.
const ENDS: usize = 1024;

/// The upstreams of the engine, checked at the start.
#[derive(Debug)]
pub struct Dependencies {
    /// Deploys them.
    pub director: Director,
    /// Whether BOSH configs may be used, which may be less than configured.
    pub configs: BoshConfigs,
    /// The Director's, where secure manifests are on.
    pub credhub: Option<CredHub>,
    /// Keeps the credentials of their bindings, where secure bindings are on.
    pub bindings: Option<Arc<dyn KeptBindings>>,
    /// Administers their UAA clients.
    pub clients: InstanceClients,
    /// Knows what to deploy.
    pub adapter: ServiceAdapter,
    /// The current targets.
    pub targets: Targets,
}

impl BoshEngine {
    /// Ties the parts together. Reconcilers run on `runtime` until `stopping`.
    pub fn new(
        config: &Config,
        dependencies: Dependencies,
        runtime: Handle,
        stopping: CancellationToken,
    ) -> Self {
        let Dependencies {
            director,
            configs,
            credhub,
            bindings,
            clients,
            adapter,
            targets,
        } = dependencies;
        let offering = config.offering.clone();
        let targets = Arc::new(targets);
        let runs = Runs::new(
            director.clone(),
            offering.id.clone(),
            configs,
            targets.clone(),
        );
        let upstreams = Upstreams {
            records: Records::new(
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
            abandoned: Abandoned::default(),
            ends: broadcast::Sender::new(ENDS),
            clients,
        };
        Self {
            reconcilers: Reconcilers::new(&config.broker.timings, runtime, stopping),
            upstreams: Arc::new(upstreams),
            adapter,
            software: Arc::new(config.software.clone()),
            offering,
            skips_pending_changes_check: config.broker.skips_pending_changes_check,
            skips_unchanged_upgrades: config.broker.skips_unchanged_upgrades,
            targets,
            runs,
            is_resumed: Arc::default(),
        }
    }
}
