//! Which instances the Director has, whoever made them: whose they are, and what was done with them last.

use std::{
    collections::{BTreeSet, HashMap},
    future::ready,
    sync::Once,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    ids::{InstanceId, PlanId},
    management::{OperationState, Owner},
};
use odb_platform::{
    director::{Deployment, DirectorError, Task, TaskFilter, TaskState},
    http::Call,
};

use super::{
    Fault, Instances, Mark, Marker, OperationKind, Outcome, deployment, instance_of,
    next_step::Doing, operation::SnapshotState, unfinished,
};
use crate::{config::BoshConfigs, telemetry::Chain};

/// How many of a deployment's latest tasks are looked at. Among them is one that changes something, unless somebody looks at
/// its VMs all the time.
pub(super) const LATEST_TASKS: u32 = 50;

/// The markers of so many instances are read one by one; for more all are read.
const FEW: usize = 32;

/// How many of them are read at the same time.
const LOOKS_AT_ONCE: usize = 8;

/// What was done last with an instance, or is being done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatestOperation {
    /// What; the Director's tasks do not always tell.
    pub kind: Option<OperationKind>,
    /// How far it is; absent where nobody remembers one.
    pub state: Option<OperationState>,
    /// In the platform user's words, or the Director's.
    pub description: Option<String>,
    /// When it began, as far as the Director remembers.
    pub began: Option<Timestamp>,
}

/// What the marker of an instance tells of it.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// Whose it is. One that nobody had marked before an operator had us delete it is nobody's.
    pub owner: Owner,
    /// The plan that it is on, as far as a marker of ours knows.
    pub plan: Option<PlanId>,
    /// What a marker of ours remembers.
    latest: Option<LatestOperation>,
}

/// Whether an instance is marked.
#[derive(Clone, Debug)]
pub enum Marking {
    /// Somebody has marked it.
    Marked(Attribution),
    /// Nobody has.
    Unmarked,
    /// Markers cannot be read.
    Unreadable,
}

/// What the Director is at, by instance.
#[derive(Clone, Debug)]
pub struct InProgress(HashMap<InstanceId, LatestOperation>);

impl Attribution {
    /// A marker that tells whose it is, and nothing else.
    pub(crate) fn of(owner: Owner) -> Self {
        Self {
            owner,
            plan: None,
            latest: None,
        }
    }
}

impl Marking {
    fn into_attribution(self) -> Option<Attribution> {
        match self {
            Self::Marked(attribution) => Some(attribution),
            Self::Unmarked | Self::Unreadable => None,
        }
    }

    /// What is told, if somebody has marked it.
    pub fn attribution(&self) -> Option<&Attribution> {
        match self {
            Self::Marked(attribution) => Some(attribution),
            Self::Unmarked | Self::Unreadable => None,
        }
    }
}

impl LatestOperation {
    /// It goes on.
    pub fn is_in_progress(&self) -> bool {
        self.state == Some(OperationState::InProgress)
    }

    /// The instance is going, or was to go.
    pub fn deletes(&self) -> bool {
        self.kind.is_some_and(OperationKind::deletes)
    }

    fn told(kind: OperationKind, state: OperationState, description: String) -> Self {
        Self {
            kind: Some(kind),
            state: Some(state),
            description: Some(description),
            began: None,
        }
    }

    fn ended(kind: OperationKind, outcome: &Outcome) -> Self {
        let (state, description) = match outcome {
            Outcome::Succeeded { description } => (OperationState::Succeeded, description),
            Outcome::Failed { description, .. } => (OperationState::Failed, description),
        };
        Self::told(kind, state, description.clone())
    }

    /// What a task tells: not whether it makes an instance or changes it.
    fn of_task(task: &Task) -> Self {
        let deletes = Doing::of(&task.description) == Doing::Delete;
        let state = match task.state {
            TaskState::Done => OperationState::Succeeded,
            TaskState::Error | TaskState::Cancelled | TaskState::Timeout => OperationState::Failed,
            TaskState::Queued
            | TaskState::Processing
            | TaskState::Cancelling
            | TaskState::Unknown(_) => OperationState::InProgress,
        };
        Self {
            kind: deletes.then_some(OperationKind::Delete),
            state: Some(state),
            description: Some(task.description.clone()),
            began: task.started_at.and_then(|at| Timestamp::try_from(at).ok()),
        }
    }
}

impl Instances {
    /// The instances of which the Director has a deployment that we may see, whichever broker made it.
    pub async fn deployed_instances(&self, call: &Call) -> Result<BTreeSet<InstanceId>, Fault> {
        let deployments = self.neighbours.director.deployments(call).await;
        let deployments = deployments.map_err(Fault::director("list the deployments"))?;
        Ok(deployments
            .iter()
            .filter_map(|summary| instance_of(summary.name.as_str()))
            .collect())
    }

    /// The instances of which the Director has a deployment, or a task that may come to one. Tasks are read first: one that
    /// ends in between leaves its deployment.
    pub async fn present_at_director(&self, call: &Call) -> Result<BTreeSet<InstanceId>, Fault> {
        let in_progress = self.in_progress(call).await?;
        let mut present = self.deployed_instances(call).await?;
        present.extend(in_progress.0.into_keys());
        Ok(present)
    }

    /// Whether the Director has a deployment of the instance.
    pub async fn is_deployed(&self, call: &Call, instance: &InstanceId) -> Result<bool, Fault> {
        let director = &self.neighbours.director;
        let found = director.deployment(call, &deployment(instance)).await;
        match found.map_err(Fault::director("look the deployment up"))? {
            Deployment::Deployed(_) | Deployment::NeverDeployed => Ok(true),
            Deployment::Absent => Ok(false),
            Deployment::ForeignTeam => Err(Fault::Foreign),
        }
    }

    /// What the markers of these instances hold, of any broker. Where markers cannot be read, the result is empty.
    pub async fn attributions(
        &self,
        call: &Call,
        instances: &BTreeSet<InstanceId>,
    ) -> Result<HashMap<InstanceId, Attribution>, Fault> {
        if instances.len() <= FEW {
            let read = instances.clone().into_iter().map(async |instance| {
                let marking = self.marking(call, &instance).await?;
                let attribution = marking.into_attribution();
                Ok(attribution.map(|attribution| (instance, attribution)))
            });
            return stream::iter(read)
                .buffered(LOOKS_AT_ONCE)
                .try_filter_map(|found| ready(Ok(found)))
                .try_collect()
                .await;
        }
        let keep = |instance: InstanceId, found| {
            instances.contains(&instance).then(|| {
                let attribution = self.attribution(&instance, found);
                (instance, attribution)
            })
        };
        match self.neighbours.markers.all_with(call, keep).await {
            Err(error @ DirectorError::NotAllowed { .. }) => {
                remark_unreadable(&error);
                Ok(HashMap::new())
            }
            told => told.map_err(Fault::director("list the markers")),
        }
    }

    /// What the marker of an instance tells, of whichever broker.
    pub async fn marking(&self, call: &Call, instance: &InstanceId) -> Result<Marking, Fault> {
        if self.neighbours.configs == BoshConfigs::Disabled {
            return Ok(Marking::Unreadable);
        }
        match self.neighbours.markers.find(call, instance).await {
            Err(error @ DirectorError::NotAllowed { .. }) => {
                remark_unreadable(&error);
                Ok(Marking::Unreadable)
            }
            Err(error) => Err(Fault::director("read the marker of the instance")(error)),
            Ok(None) => Ok(Marking::Unmarked),
            Ok(Some(found)) => Ok(Marking::Marked(self.attribution(instance, found))),
        }
    }

    /// What the Director is at: one call, whatever there is.
    pub async fn in_progress(&self, call: &Call) -> Result<InProgress, Fault> {
        let filter = TaskFilter {
            states: TaskState::unfinished(),
            ..TaskFilter::default()
        };
        let tasks = self.neighbours.director.tasks(call, &filter).await;
        let tasks = tasks.map_err(Fault::director("list the tasks in progress"))?;
        let newest_last = tasks.iter().filter(|task| unfinished::takes_the_lock(task));
        let operations = newest_last.filter_map(|task| {
            let instance = instance_of(task.deployment.as_ref()?.as_str())?;
            Some((instance, LatestOperation::of_task(task)))
        });
        Ok(InProgress(operations.collect()))
    }

    /// What was done last with an instance, as far as that is known without a call of its own.
    pub fn latest_known(
        &self,
        instance: &InstanceId,
        attribution: Option<&Attribution>,
        in_progress: &InProgress,
    ) -> LatestOperation {
        let remembered = self.remembered_operation(instance, attribution);
        newer(remembered, in_progress.0.get(instance).cloned())
    }

    /// What was done last with an instance, or is being done, by us or by somebody at the Director.
    pub async fn latest_operation(
        &self,
        call: &Call,
        instance: &InstanceId,
        attribution: Option<&Attribution>,
    ) -> Result<LatestOperation, Fault> {
        let filter = TaskFilter {
            deployment: Some(deployment(instance)),
            limit: Some(LATEST_TASKS),
            ..TaskFilter::default()
        };
        let tasks = self.neighbours.director.tasks(call, &filter).await;
        let tasks = tasks.map_err(Fault::director("list the deployment's tasks"))?;
        let newest = tasks.iter().rfind(|task| unfinished::takes_the_lock(task));
        let by_task = newest.map(LatestOperation::of_task);
        let began = by_task.as_ref().and_then(|task| task.began);
        let latest = newer(self.remembered_operation(instance, attribution), by_task);
        Ok(LatestOperation {
            began: latest.began.or(began),
            ..latest
        })
    }

    fn attribution(&self, instance: &InstanceId, found: Mark) -> Attribution {
        let stored = match found {
            Mark::Foreign(Owner::AnotherBroker) => return Attribution::of(Owner::AnotherBroker),
            // One of a newer form, or no marker at all, is not ours to act on.
            Mark::Foreign(Owner::ThisBroker | Owner::Unknown) => {
                return Attribution::of(Owner::Unknown);
            }
            Mark::Ours(stored) => stored,
        };
        let marker = &stored.marker;
        if self.neighbours.markers.is_of_another_foundation(marker) {
            return Attribution::of(Owner::AnotherBroker);
        }
        Attribution {
            owner: marker.owner(),
            plan: marker.settled_plan().cloned(),
            latest: self.marked_operation(instance, marker),
        }
    }

    /// What this process or a marker of ours remembers.
    fn remembered_operation(
        &self,
        instance: &InstanceId,
        attribution: Option<&Attribution>,
    ) -> Option<LatestOperation> {
        if let Some(known) = self.drivers.known(instance)
            && let SnapshotState::InProgress(description) = known.snapshot.state
        {
            let state = OperationState::InProgress;
            return Some(LatestOperation::told(
                known.snapshot.kind,
                state,
                description,
            ));
        }
        attribution.and_then(|attribution| attribution.latest.clone())
    }

    fn marked_operation(&self, instance: &InstanceId, marker: &Marker) -> Option<LatestOperation> {
        let kind = marker.operation;
        let told = match &marker.outcome {
            Some(outcome) => LatestOperation::ended(kind, outcome),
            None if self.never_began(instance, marker) => return None,
            None => {
                let description = format!("Instance {} in progress", kind.noun());
                LatestOperation::told(kind, OperationState::InProgress, description)
            }
        };
        Some(LatestOperation {
            began: marker.began,
            ..told
        })
    }
}

/// What the Director is at is newer than what is remembered to have ended.
fn newer(remembered: Option<LatestOperation>, by_task: Option<LatestOperation>) -> LatestOperation {
    match (remembered, by_task) {
        (Some(remembered), Some(task)) if !remembered.is_in_progress() && task.is_in_progress() => {
            task
        }
        (Some(latest), _) | (None, Some(latest)) => latest,
        (None, None) => LatestOperation::default(),
    }
}

/// Says once that nobody's marks are seen: each later look would only say it again.
fn remark_unreadable(error: &DirectorError) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            code = %Code::MarksUnreadable,
            error = %Chain(error),
            "the Director does not let us read BOSH configs, so that other brokers' deployments cannot be told from those that \
             nobody has marked; those are not deleted until it does"
        );
    });
}

#[cfg(test)]
mod tests {
    use odb_platform::director::TaskId;

    use super::*;

    fn task(description: &str, state: TaskState) -> Task {
        Task {
            id: TaskId::new(1),
            state,
            description: description.to_owned(),
            started_at: None,
            result: None,
            user: None,
            deployment: None,
            context: None,
        }
    }

    #[test]
    fn a_task_tells_whether_the_instance_goes_and_nothing_else() {
        use OperationState::{Failed, InProgress, Succeeded};
        for (description, state, kind, told) in [
            (
                "delete deployment service-instance_1",
                TaskState::Processing,
                Some(OperationKind::Delete),
                InProgress,
            ),
            ("create deployment", TaskState::Queued, None, InProgress),
            ("create deployment", TaskState::Timeout, None, Failed),
            (
                "run errand smoke from deployment service-instance_1",
                TaskState::Done,
                None,
                Succeeded,
            ),
        ] {
            let latest = LatestOperation::of_task(&task(description, state));
            assert_eq!((latest.kind, latest.state), (kind, Some(told)));
        }
    }

    #[test]
    fn only_deployments_of_service_instances_hold_one() {
        let held = |name| instance_of(name).map(String::from);
        assert_eq!(held("service-instance_one"), Some("one".to_owned()));
        for other in [
            "cf",
            "service-instance_",
            "my-service-instance_one",
            "service-instance_a b",
        ] {
            assert_eq!(held(other), None, "{other}");
        }
    }
}
