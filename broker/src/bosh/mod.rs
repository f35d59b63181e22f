//! How a service instance comes to be on a Director.
//!
//! | file | holds |
//! | --- | --- |
//! | `create`, `update`, `upgrade`, `delete` | the request's part of an operation: everything that can fail, then the hand-over |
//! | `current` | what an update or upgrade finds |
//! | `preparation`, `hand_over` | manifest, checks, dashboard; then marker, configs, submission |
//! | `bindings` | credentials, from the deployed manifest and its addresses |
//! | `standing` | how an operation is doing, from drivers, markers and tokens |
//! | `driver`, `drivers` | what carries an operation from its hand-over to its end, and all of them |
//! | `observer`, `next_step`, `narrative` | what its tasks came to, what follows, what users read meanwhile |
//! | `operation` | an operation in flight, as types |
//! | `marker`, `token`, `digest` | what is remembered of an operation, by the Director and by the platform |
//! | `submission`, `errands`, `insistence` | handing over exactly once; starting an errand; asking until there is an answer |
//! | `manifest`, `manifest_difference` | checks of a manifest; what would change if it were made anew |
//! | `leftovers` | what to remove after a delete |
//! | `fault` | what can go wrong |

mod bindings;
mod create;
mod current;
mod delete;
mod digest;
mod driver;
mod drivers;
mod errands;
mod fault;
mod hand_over;
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
mod standing;
mod submission;
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

pub use bindings::BindingOrder;
pub use create::{Found, Vacancy};
pub use delete::{Deleted, Insistence};
pub use digest::{RequestDigest, RequestIdentity};
pub use fault::Fault;
pub use manifest::ManifestFault;
pub use manifest_difference::{ManifestDifference, UnreadableManifest};
pub use marker::{Marker, Markers, Outcome, ReadMarkerError, StoredMarker, WriteMarkerError};
pub use standing::Standing;
pub use token::OperationToken;

use drivers::{Drivers, Known};
use operation::{Operation, Snapshot};

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
    /// Ties the parts together. Drivers run on `runtime` until `stopping`.
    pub fn new(
        config: &Config,
        director: Director,
        adapter: ServiceAdapter,
        runtime: Handle,
        stopping: CancellationToken,
    ) -> Self {
        let offering = config.offering.clone();
        let configs = config.broker.bosh_configs;
        let neighbours = Neighbours {
            markers: Markers::new(director.clone(), offering.id.clone(), configs),
            director,
            service: offering.name.clone(),
            timings: config.broker.timings,
            configs,
            error_detail: config.broker.error_detail,
            submissions: Semaphore::new(config.broker.timings.submissions),
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
            if stored.marker.outcome.is_none() {
                self.drive(&instance, stored, None);
                resumed += 1;
            }
        }
        Ok(resumed)
    }

    /// The instances that were made by this process, or are being made: the Cloud Controller may not know yet how they
    /// stand.
    pub fn present(&self) -> Vec<(InstanceId, PlanId)> {
        self.drivers.present()
    }

    /// The instances that are remembered: they were let in once, whatever the Cloud Controller makes of them.
    pub async fn remembered(&self, call: &Call) -> Result<Vec<InstanceId>, Fault> {
        let markers = self
            .neighbours
            .markers
            .all(call)
            .await
            .map_err(Fault::director("list the markers"))?;
        Ok(markers.into_iter().map(|(instance, _)| instance).collect())
    }

    /// Follows the operation of a marker to its end.
    fn drive(
        &self,
        instance: &InstanceId,
        stored: StoredMarker,
        first_task: Option<TaskId>,
    ) -> Snapshot {
        let marker = stored.marker.clone();
        let operation = Operation::of_marker(instance, &marker, Some(stored), first_task);
        self.drivers.start(&self.neighbours, operation, None)
    }

    /// An operation of this process is in progress, which matters where no marker tells.
    fn is_in_progress_here(&self, instance: &InstanceId) -> bool {
        self.drivers
            .known(instance)
            .is_some_and(|known| known.snapshot.is_in_progress())
    }

    /// The answer to an identical repeat of a request whose operation is in progress. `None`: it never came to a task.
    async fn started_before(
        &self,
        call: &Call,
        instance: &InstanceId,
        stored: &StoredMarker,
    ) -> Result<Option<Started>, Fault> {
        let marker = &stored.marker;
        let Some(task) = self.first_task(call, instance, &marker.context).await? else {
            return Ok(None);
        };
        self.drive(instance, stored.clone(), Some(task));
        Ok(Some(Started {
            token: token(instance, marker, task),
            dashboard_url: marker.dashboard_url.clone(),
            labels: marker.labels.clone(),
        }))
    }

    /// The task that an operation began with, from memory or from the Director.
    async fn first_task(
        &self,
        call: &Call,
        instance: &InstanceId,
        context: &ContextId,
    ) -> Result<Option<TaskId>, Fault> {
        if let Some(Known { snapshot, .. }) = self.drivers.known(instance)
            && snapshot.context.as_ref() == Some(context)
            && snapshot.first_task.is_some()
        {
            return Ok(snapshot.first_task);
        }
        let tasks = self
            .neighbours
            .director
            .tasks(call, &of_context(context))
            .await
            .map_err(Fault::director("list the tasks of an operation"))?;
        Ok(tasks.first().map(|task| task.id))
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
