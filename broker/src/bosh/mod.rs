//! How a service instance comes to be on a Director.
//!
//! | file | holds |
//! | --- | --- |
//! | `create`, `update`, `upgrade`, `recreate`, `delete` | the request's part of an operation: everything that can fail, then the hand-over |
//! | `current` | what an update or upgrade finds |
//! | `preparation`, `hand_over` | manifest, checks, dashboard; then marker, configs, submission |
//! | `bindings` | credentials, from the deployed manifest and its addresses |
//! | `fetch` | what is known of an instance, from its marker |
//! | `standing` | how an operation is doing, from drivers, markers and tokens |
//! | `driver`, `drivers` | what carries an operation from its hand-over to its end, and all of them |
//! | `observer`, `next_step`, `narrative`, `condition` | what its tasks came to, what follows, what users read meanwhile, what a failure leaves |
//! | `operation` | an operation in flight, as types |
//! | `presence` | what the latest operation on an instance means for its place among all |
//! | `marker`, `token`, `digest` | what is remembered of an operation, by the Director and by the platform |
//! | `submission`, `errands`, `insistence` | handing over exactly once; starting an errand; asking until there is an answer |
//! | `manifest`, `manifest_difference` | checks of a manifest; what would change if it were made anew |
//! | `in_flight` | whether what is remembered as begun is on its way |
//! | `leftovers`, `sweeps` | what to remove after a delete; and of operations that were given up |
//! | `fault` | what can go wrong |

mod bindings;
mod condition;
mod create;
mod current;
mod delete;
mod digest;
mod driver;
mod drivers;
mod errands;
mod fault;
mod fetch;
mod hand_over;
mod in_flight;
mod insistence;
mod leftovers;
mod manifest;
mod manifest_difference;
mod marker;
mod narrative;
mod next_step;
mod observer;
mod operation;
mod preparation;
mod presence;
mod recreate;
mod standing;
mod submission;
mod sweeps;
mod token;
mod update;
mod upgrade;

use std::sync::Arc;

use odb_platform::{
    director::{
        ConfigName, ContextId, DeploymentName, Director, DirectorError, Force, TaskFilter, TaskId,
        TaskState,
    },
    http::{Call, Deadline},
};
use serde_json::{Map, Value};
use tokio::{runtime::Handle, sync::Semaphore};
use tokio_util::sync::CancellationToken;

use crate::{
    adapter::ServiceAdapter,
    config::{
        BoshConfigs, Config, ErrorDetail, Offering, PendingChanges, ServiceSoftware, Timings,
    },
    ids::{InstanceId, PlanId, RequestId},
    kind::OperationKind,
};
use odb_adapter_sdk::protocol::RequestParameters;

pub use bindings::{Bindable, BindingOrder};
pub use condition::Condition;
pub use create::{Found, Vacancy};
pub use delete::{Deleted, Insistence};
pub use digest::{RequestDigest, RequestIdentity};
pub use fault::Fault;
pub use fetch::Fetched;
pub use manifest::ManifestFault;
pub use manifest_difference::{ManifestDifference, UnreadableManifest};
pub use marker::{Marker, Markers, Outcome, ReadMarkerError, StoredMarker, WriteMarkerError};
pub use presence::{Presence, PresenceKind};
pub use standing::Standing;
pub use token::OperationToken;

use drivers::{Drivers, Known};
use sweeps::GivenUp;

/// Service instances as deployments of a Director.
#[derive(Clone, Debug)]
pub struct Instances {
    neighbours: Arc<Neighbours>,
    adapter: ServiceAdapter,
    software: Arc<ServiceSoftware>,
    offering: Arc<Offering>,
    pending_changes: PendingChanges,
    drivers: Drivers,
}

/// What drivers and requests share.
#[derive(Debug)]
struct Neighbours {
    director: Director,
    markers: Markers,
    service: String,
    timings: Timings,
    configs: BoshConfigs,
    error_detail: ErrorDetail,
    /// Bounds the submissions under way; the Director's own queue is the durable one.
    submissions: Semaphore,
    given_up: GivenUp,
}

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
    /// Ties the parts together. `configs` tells whether BOSH configs may be used, which can be less than what is
    /// configured. Drivers run on `runtime` until `stopping`.
    pub fn new(
        config: &Config,
        configs: BoshConfigs,
        director: Director,
        adapter: ServiceAdapter,
        runtime: Handle,
        stopping: CancellationToken,
    ) -> Self {
        let offering = config.offering.clone();
        let neighbours = Neighbours {
            markers: Markers::new(director.clone(), offering.id.clone(), configs),
            director,
            service: offering.name.clone(),
            timings: config.broker.timings,
            configs,
            error_detail: config.broker.error_detail,
            submissions: Semaphore::new(config.broker.timings.submissions),
            given_up: GivenUp::default(),
        };
        Self {
            neighbours: Arc::new(neighbours),
            adapter,
            software: Arc::new(config.software.clone()),
            offering,
            pending_changes: config.broker.pending_changes,
            drivers: Drivers::new(runtime, stopping),
        }
    }

    /// Picks up every operation that an earlier process left in progress. Gives their number.
    pub async fn resume(&self, call: &Call) -> Result<usize, DirectorError> {
        let mut resumed = 0;
        for (instance, stored) in self.neighbours.markers.all(call).await? {
            // What this process has begun since the listing is in better hands.
            let is_known_here = self.drivers.known(&instance).is_some()
                || self.never_began(&instance, &stored.marker);
            if stored.marker.outcome.is_none() && !is_known_here {
                self.take_over(&instance, stored);
                resumed += 1;
            }
        }
        Ok(resumed)
    }

    /// What this process knows of the instances that it works on, or has worked on lately.
    pub fn presences(&self) -> Vec<(InstanceId, Presence)> {
        self.drivers.presences()
    }

    /// What is remembered of all instances. A client that may not look has nothing to remember.
    pub async fn remembered(&self, call: &Call) -> Result<Vec<(InstanceId, Presence)>, Fault> {
        let markers = match self.neighbours.markers.all(call).await {
            Ok(markers) => markers,
            Err(DirectorError::NotAllowed { .. }) => Vec::new(),
            Err(error) => return Err(Fault::director("list the markers")(error)),
        };
        Ok(markers
            .into_iter()
            .map(|(instance, stored)| (instance, Presence::remembered(&stored.marker)))
            .collect())
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

/// The deployment that holds a service instance. The name is the Go broker's.
pub fn deployment(instance: &InstanceId) -> DeploymentName {
    DeploymentName::try_from(format!("service-instance_{instance}"))
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

/// The tasks that hold a deployment, or wait for it.
fn unfinished_of(deployment: &DeploymentName) -> TaskFilter {
    TaskFilter {
        deployment: Some(deployment.clone()),
        states: TaskState::unfinished(),
        ..TaskFilter::default()
    }
}

fn token(instance: &InstanceId, marker: &Marker, task: TaskId) -> String {
    OperationToken::new(
        instance.clone(),
        marker.operation,
        task,
        marker.context.clone(),
        &marker.errands,
        marker.digest.as_str().to_owned(),
    )
    .to_text()
}
