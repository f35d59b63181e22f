//! How an operation is doing, answered from a driver's memory, else from its marker, else from the token.

use odb_platform::{
    director::{Deployment, Task, TaskFilter, TaskState},
    http::Call,
};

use super::{
    Fault, Instances, OperationKind, OperationToken, Outcome, deployment, narrative,
    next_step::{Doing, stages},
    of_context,
    operation::{Operation, Snapshot, SnapshotState},
};
use crate::ids::{InstanceId, RequestId};

/// How the latest operation on an instance is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It goes on.
    InProgress {
        /// What platform users read meanwhile.
        description: String,
    },
    /// It has ended.
    Ended(Outcome),
    /// It ended before it began: nothing has changed.
    NeverSubmitted(OperationKind),
    /// The instance is gone, as a delete had it.
    Gone,
    /// There is no such instance.
    Unknown,
}

impl Instances {
    /// How the operation is doing that the platform asks about. Without a token that fits, the instance's latest one.
    ///
    /// With a driver at work nobody is asked; else the marker, and where there is none the Director's tasks.
    pub async fn standing(
        &self,
        call: &Call,
        instance: &InstanceId,
        token: Option<&OperationToken>,
        request: &RequestId,
    ) -> Result<Standing, Fault> {
        let token = token.filter(|token| token.names(instance) != Some(false));
        if let Some(known) = self.drivers.known(instance) {
            return Ok(told(known.snapshot));
        }
        let stored = self.neighbours.markers.read(call, instance).await?;
        let Some(stored) = stored else {
            return match token {
                Some(token) => match self.adopt(call, instance, token, request).await? {
                    Some(standing) => Ok(standing),
                    None => self.guess_after(call, instance, token.kind).await,
                },
                None => self.guess(call, instance).await,
            };
        };
        // A Go broker leaves no markers: what it began is newer than what ours remembers.
        if let Some(token) = token.filter(|token| {
            token.is_foreign() && token.context.as_ref() != Some(&stored.marker.context)
        }) && let Some(standing) = self.adopt(call, instance, token, request).await?
        {
            return Ok(standing);
        }
        Ok(match stored.marker.outcome.clone() {
            Some(outcome) => Standing::Ended(outcome),
            None => told(self.drive(instance, stored, None)),
        })
    }

    /// Carries on what a Go broker began, or what began without a marker, once the Director confirms it.
    async fn adopt(
        &self,
        call: &Call,
        instance: &InstanceId,
        token: &OperationToken,
        request: &RequestId,
    ) -> Result<Option<Standing>, Fault> {
        let director = &self.neighbours.director;
        let task = director
            .task(call, token.task)
            .await
            .map_err(Fault::director("read the operation's task"))?;
        let Some(task) = task.filter(|task| confirms(task, instance, token)) else {
            return Ok(None);
        };
        if let Some(context) = &token.context {
            let tasks = director
                .tasks(call, &of_context(context))
                .await
                .map_err(Fault::director("list the operation's tasks"))?;
            if tasks.first().map(|first| first.id) != Some(task.id) {
                return Ok(None);
            }
        }
        let operation = Operation {
            instance: instance.clone(),
            deployment: deployment(instance),
            kind: token.kind,
            plan: None,
            context: token.context.clone(),
            first_task: Some(task.id),
            errands: token.errands(),
            request: request.clone(),
            stored: None,
        };
        Ok(Some(told(self.drivers.start(
            &self.neighbours,
            operation,
            None,
        ))))
    }

    /// A delete whose instance is gone has done what it should.
    async fn guess_after(
        &self,
        call: &Call,
        instance: &InstanceId,
        kind: OperationKind,
    ) -> Result<Standing, Fault> {
        match self.guess(call, instance).await? {
            Standing::Unknown if kind.deletes() => Ok(Standing::Gone),
            standing => Ok(standing),
        }
    }

    /// Nobody remembers the operation: the deployment's newest task has to do.
    async fn guess(&self, call: &Call, instance: &InstanceId) -> Result<Standing, Fault> {
        let name = deployment(instance);
        let director = &self.neighbours.director;
        let filter = TaskFilter {
            deployment: Some(name.clone()),
            ..TaskFilter::default()
        };
        let (deployed, tasks) = tokio::join!(
            director.deployment(call, &name),
            director.tasks(call, &filter)
        );
        let deployed = deployed.map_err(Fault::director("look the deployment up"))?;
        let tasks = tasks.map_err(Fault::director("list the deployment's tasks"))?;
        if matches!(deployed, Deployment::Absent | Deployment::ForeignTeam) {
            return Ok(Standing::Unknown);
        }
        let Some(task) = tasks.last() else {
            return Ok(Standing::Ended(Outcome::Succeeded(narrative::completed(
                OperationKind::Create,
            ))));
        };
        Ok(match &task.state {
            TaskState::Done => Standing::Ended(Outcome::Succeeded(
                "The latest operation has completed".to_owned(),
            )),
            TaskState::Error | TaskState::Cancelled | TaskState::Timeout => {
                Standing::Ended(Outcome::Failed(format!(
                    "The latest operation has failed. Please ask your operator for help and quote task-id: {}",
                    task.id
                )))
            }
            TaskState::Queued
            | TaskState::Processing
            | TaskState::Cancelling
            | TaskState::Unknown(_) => Standing::InProgress {
                description: "The latest operation is in progress".to_owned(),
            },
        })
    }
}

fn told(snapshot: Snapshot) -> Standing {
    match snapshot.state {
        SnapshotState::InProgress(description) => Standing::InProgress { description },
        SnapshotState::Ended(outcome) => Standing::Ended(outcome),
        SnapshotState::NeverSubmitted => Standing::NeverSubmitted(snapshot.kind),
    }
}

/// A token is believed when the Director knows its task as the first one of this instance and this kind: a made-up one must
/// not start errands or remove anything (`spec/contracts/osb-api.md`, L-05).
fn confirms(task: &Task, instance: &InstanceId, token: &OperationToken) -> bool {
    let stages = stages(token.kind, &token.errands());
    task.deployment.as_ref() == Some(&deployment(instance))
        && task.context == token.context
        && stages
            .first()
            .is_some_and(|stage| Doing::of(&task.description).fits(stage))
}
