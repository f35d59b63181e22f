//! What is known here of all instances, or of one: deployments, markers and drivers, joined.
//!
//! Of each instance little is kept, for there may be thousands. Drivers are looked at first: what they say has ended is
//! written down by then, so that the markers that are read after them are not older.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use odb_api_types::{
    ids::{InstanceId, PlanId},
    management::{Deployed, DeploymentPresence, InventoryOperation, OperationState, Owner},
};
use odb_platform::{
    director::{Deployment, DirectorError, TaskId},
    http::Call,
};

use super::{
    Fault, Instances, Marker, Outcome, deployment,
    drivers::Known,
    in_flight::UNKNOWN_TASK,
    instance_of,
    markers::Mark,
    narrative,
    operation::{Snapshot, SnapshotState},
    token,
};

/// What is known here of an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Whether the Director has its deployment.
    pub deployment: DeploymentPresence,
    /// What is remembered of it.
    pub remembered: Remembered,
}

/// What is remembered of an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// Whose marker it has.
    pub owner: Owner,
    /// What was done last.
    pub operation: Option<InventoryOperation>,
    /// The last create, update or upgrade that has succeeded.
    pub deployed: Option<Deployed>,
    /// When the last recreation began that has succeeded.
    pub recreated: Option<Timestamp>,
}

/// What is known here of all instances, at one moment.
#[derive(Debug)]
pub struct Memories {
    deployments: HashSet<InstanceId>,
    remembered: HashMap<InstanceId, Remembered>,
}

impl Memories {
    /// What is known of an instance. Each is told once: what has been told is not kept any longer.
    pub fn take(&mut self, instance: &InstanceId) -> Memory {
        Memory {
            deployment: if self.deployments.remove(instance) {
                DeploymentPresence::Present
            } else {
                DeploymentPresence::Absent
            },
            remembered: self
                .remembered
                .remove(instance)
                .unwrap_or(Remembered::NOTHING),
        }
    }
}

impl Remembered {
    const NOTHING: Self = Self {
        owner: Owner::Unknown,
        operation: None,
        deployed: None,
        recreated: None,
    };

    /// Of an instance without a marker of ours.
    fn without_marker(owner: Owner, known: Option<Known>) -> Self {
        Self {
            owner,
            operation: known.map(by_driver),
            ..Self::NOTHING
        }
    }

    fn of_marker(instance: &InstanceId, marker: Marker, known: Option<Known>) -> Self {
        let (same, other) = match known {
            Some(known) if known.snapshot.context.as_ref() == Some(&marker.context) => {
                (Some(known), None)
            }
            known => (None, known),
        };
        let marker = match same.as_ref().map(|known| &known.snapshot.state) {
            // Told by the driver, and not written down yet.
            Some(SnapshotState::Ended { outcome, at }) if marker.outcome.is_none() => {
                marker.ended(outcome.clone(), *at)
            }
            _ => marker,
        };
        let operation = match other.filter(|other| other.snapshot.is_in_progress()) {
            // What a Go broker has begun leaves no marker, and is newer.
            Some(other) => by_driver(other),
            None => by_marker(instance, &marker, same),
        };
        Self {
            owner: marker.owner(),
            operation: Some(operation),
            deployed: marker.deployed,
            recreated: marker.recreated,
        }
    }
}

impl Instances {
    /// What is known here of all instances: one list of deployments, one of markers.
    pub async fn memories(&self, call: &Call) -> Result<Memories, Fault> {
        let mut known = self.drivers.all_known();
        let director = &self.neighbours.director;
        let keep = |instance: InstanceId, found| {
            let remembered = self.recall(&instance, Some(found), known.remove(&instance));
            Some((instance, remembered))
        };
        let (deployments, remembered) = tokio::join!(
            director.deployments(call),
            self.neighbours.markers.all_with(call, keep)
        );
        let deployments = deployments.map_err(Fault::director("list the deployments"))?;
        let mut remembered: HashMap<_, _> = match remembered {
            Ok(remembered) => remembered,
            Err(DirectorError::NotAllowed { .. }) => HashMap::new(),
            Err(error) => return Err(Fault::director("list the markers")(error)),
        };
        for (instance, known) in known {
            let told = Remembered::without_marker(Owner::Unknown, Some(known));
            remembered.insert(instance, told);
        }
        let deployments = deployments
            .iter()
            .filter_map(|deployment| instance_of(deployment.name.as_str()));
        Ok(Memories {
            deployments: deployments.collect(),
            remembered,
        })
    }

    /// What is known here of one instance, and the plan that it is on as far as its marker knows.
    pub async fn memory(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(Memory, Option<PlanId>), Fault> {
        let known = self.drivers.known(instance);
        let name = deployment(instance);
        let (deployed, found) = tokio::join!(
            self.neighbours.director.deployment(call, &name),
            self.neighbours.markers.find(call, instance)
        );
        let deployment = match deployed.map_err(Fault::director("look the deployment up"))? {
            Deployment::Deployed(_) | Deployment::NeverDeployed => DeploymentPresence::Present,
            Deployment::Absent | Deployment::ForeignTeam => DeploymentPresence::Absent,
        };
        let found = match found {
            Ok(found) => found,
            Err(DirectorError::NotAllowed { .. }) => None,
            Err(error) => return Err(Fault::director("read the marker of the instance")(error)),
        };
        let plan = match &found {
            Some(Mark::Ours(stored)) => stored.marker.settled_plan().cloned(),
            Some(Mark::Foreign(_)) | None => None,
        };
        let remembered = self.recall(instance, found, known);
        Ok((
            Memory {
                deployment,
                remembered,
            },
            plan,
        ))
    }

    fn recall(
        &self,
        instance: &InstanceId,
        found: Option<Mark>,
        known: Option<Known>,
    ) -> Remembered {
        match found {
            None => Remembered::without_marker(Owner::Unknown, known),
            Some(Mark::Foreign(owner)) => Remembered::without_marker(owner, known),
            Some(Mark::Ours(stored)) => {
                let marker = stored.marker;
                let never_began = marker.outcome.is_none() && self.never_began(instance, &marker);
                let mut remembered = Remembered::of_marker(instance, marker, known);
                if never_began && let Some(operation) = &mut remembered.operation {
                    end_unbegun(operation);
                }
                remembered
            }
        }
    }
}

/// What a driver tells of an operation that no marker remembers.
fn by_driver(known: Known) -> InventoryOperation {
    let Known {
        snapshot, started, ..
    } = known;
    let (state, description) = told(&snapshot);
    InventoryOperation {
        kind: snapshot.kind,
        state,
        began: None,
        request: None,
        description: Some(description),
        token: started
            .filter(|_| state == OperationState::InProgress)
            .and_then(|started| serde_json::from_str(&started.token).ok()),
    }
}

/// What a marker tells, and the driver of the very same operation.
fn by_marker(instance: &InstanceId, marker: &Marker, same: Option<Known>) -> InventoryOperation {
    let mut operation = InventoryOperation {
        kind: marker.operation,
        state: OperationState::InProgress,
        began: marker.began,
        request: Some(marker.request.clone()),
        description: None,
        token: None,
    };
    if let Some(outcome) = &marker.outcome {
        let (state, description) = ended(outcome);
        operation.state = state;
        operation.description = Some(description);
        return operation;
    }
    let mut first_task = marker.cuts_short.as_ref().map(|cut| cut.first_task);
    let mut text = None;
    if let Some(Known {
        snapshot, started, ..
    }) = same
    {
        let (state, description) = told(&snapshot);
        operation.state = state;
        operation.description = Some(description);
        first_task = first_task.or(snapshot.first_task);
        text = started.map(|started| started.token);
    }
    if operation.state == OperationState::InProgress {
        let task = first_task.unwrap_or_else(|| TaskId::new(UNKNOWN_TASK));
        let text = text.unwrap_or_else(|| token(instance, marker, task));
        operation.token = serde_json::from_str(&text).ok();
    }
    operation
}

fn told(snapshot: &Snapshot) -> (OperationState, String) {
    match &snapshot.state {
        SnapshotState::InProgress(description) => (OperationState::InProgress, description.clone()),
        SnapshotState::Ended { outcome, .. } => ended(outcome),
        SnapshotState::NeverSubmitted => (
            OperationState::Failed,
            narrative::never_submitted(snapshot.kind),
        ),
    }
}

fn ended(outcome: &Outcome) -> (OperationState, String) {
    match outcome {
        Outcome::Succeeded { description } => (OperationState::Succeeded, description.clone()),
        Outcome::Failed { description, .. } => (OperationState::Failed, description.clone()),
    }
}

/// Its request was given up, and its marker is still to be swept away.
fn end_unbegun(operation: &mut InventoryOperation) {
    operation.state = OperationState::Failed;
    operation.description = Some(narrative::never_submitted(operation.kind));
    operation.token = None;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use odb_platform::director::ContextId;
    use serde_json::{Map, Value};

    use super::*;
    use crate::bosh::{
        RequestDigest, RequestIdentity, driver::first_snapshot, marker::NewMarker,
        operation::Operation,
    };
    use odb_api_types::{ids::RequestId, kind::OperationKind, management::Target};

    fn instance() -> InstanceId {
        InstanceId::try_from("i1".to_owned()).unwrap()
    }

    fn marker() -> Marker {
        Marker::new(NewMarker {
            offering: "redis".to_owned().into(),
            plan: "small".to_owned().into(),
            operation: OperationKind::Upgrade,
            context: ContextId::random(),
            request: RequestId::random(),
            target: Some(Target::from("today".to_owned())),
            errands: Vec::new(),
            digest: RequestDigest::new(RequestIdentity(&Value::Null)),
            dashboard_url: None,
            labels: Map::new(),
        })
    }

    fn known(context: &ContextId, state: SnapshotState) -> Known {
        let operation = Operation::of_marker(&instance(), &marker(), None, None);
        Known {
            snapshot: Snapshot {
                context: Some(context.clone()),
                first_task: Some(TaskId::new(7)),
                state,
                ..first_snapshot(&operation)
            },
            operation: Arc::new(operation),
            started: None,
        }
    }

    fn succeeded() -> Outcome {
        Outcome::Succeeded {
            description: "done".to_owned(),
        }
    }

    #[test]
    fn an_operation_in_progress_has_the_token_that_its_request_was_answered_with() {
        let marker = marker();
        let driven = known(
            &marker.context,
            SnapshotState::InProgress("half way".to_owned()),
        );
        let told = Remembered::of_marker(&instance(), marker.clone(), Some(driven));
        let operation = told.operation.unwrap();
        assert_eq!(operation.state, OperationState::InProgress);
        assert_eq!(operation.description.as_deref(), Some("half way"));
        let token = operation.token.unwrap();
        assert_eq!(token["BoshTaskID"], 7);
        assert_eq!(token["BoshContextID"], marker.context.as_str());
        assert_eq!(told.deployed, None);
    }

    #[test]
    fn what_a_driver_knows_to_have_succeeded_counts_before_it_is_written_down() {
        let marker = marker();
        let at = Timestamp::UNIX_EPOCH;
        let ended = SnapshotState::Ended {
            outcome: succeeded(),
            at,
        };
        let driven = known(&marker.context, ended);
        let told = Remembered::of_marker(&instance(), marker, Some(driven));
        let operation = told.operation.unwrap();
        assert_eq!(operation.state, OperationState::Succeeded);
        assert_eq!(operation.token, None);
        let deployed = told.deployed.unwrap();
        assert_eq!(deployed.target.as_str(), "today");
        assert_eq!(deployed.at, at, "however often and late it is asked");
    }

    #[test]
    fn an_operation_that_left_no_marker_counts_while_it_goes_on_and_not_afterwards() {
        let marker = marker().ended(succeeded(), Timestamp::now());
        let other = ContextId::random();
        let told = |state| {
            Remembered::of_marker(&instance(), marker.clone(), Some(known(&other, state)))
                .operation
                .unwrap()
                .state
        };
        let going_on = SnapshotState::InProgress(String::new());
        assert_eq!(told(going_on), OperationState::InProgress);
        let failed = SnapshotState::NeverSubmitted;
        assert_eq!(told(failed), OperationState::Succeeded);
    }
}
