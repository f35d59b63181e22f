//! The end of a service instance.

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::ids::PlanId;
use odb_clients::{
    director::{ContextId, Deployment, DeploymentName, SubmitError, Task, TaskId},
    http::{Call, StatusCode},
};

use super::{
    Fault, Instances, OperationKind, Order, Started, StoredMarker, WriteMarkerError, deployment,
    force,
    in_flight::InFlight,
    leftovers,
    marker::{ClientRole, CutShort, Marker, NewMarker, Origin},
    of_context,
    operation::{Begun, Operation, UNKNOWN_TASK},
    preparation::Prepared,
    submission::Work,
    unfinished,
};
use crate::telemetry::Chain;

/// Whether a delete goes on after a failing errand or an unresponsive VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insistence {
    /// It stops and fails.
    Careful,
    /// It goes on.
    Forced,
}

impl Insistence {
    fn kind(self) -> OperationKind {
        match self {
            Self::Careful => OperationKind::Delete,
            Self::Forced => OperationKind::ForceDelete,
        }
    }
}

/// Which delete is begun.
#[derive(Clone, Copy, Debug)]
struct Wish {
    kind: OperationKind,
    origin: Origin,
}

/// What came of a delete.
#[derive(Debug)]
pub enum Deleted {
    /// It is in progress.
    Started(Started),
    /// There was no such instance; what it left behind is gone, too.
    WasAbsent,
}

/// What is there to be deleted.
enum Deployed {
    /// A deployment that has been deployed.
    Yes,
    /// A deployment none of whose deploys has succeeded.
    Never,
    /// None.
    Absent,
}

impl Instances {
    /// Runs the plan's errands and deletes the instance, then whatever it leaves behind. What is being created is stopped
    /// first.
    ///
    /// Of an instance on a plan that nobody knows no errands are run. `origin` stays with it if it stays itself.
    pub async fn delete(
        &self,
        order: &Order,
        insistence: Insistence,
        origin: Origin,
    ) -> Result<Deleted, Fault> {
        let wish = Wish {
            kind: insistence.kind(),
            origin,
        };
        match self.try_to_delete(order, wish).await {
            // What was to be cut short has just ended.
            Err(Fault::Marker(WriteMarkerError::Overtaken)) => {
                match self.try_to_delete(order, wish).await {
                    Err(Fault::Marker(WriteMarkerError::Overtaken)) => Err(Fault::Busy),
                    deleted => deleted,
                }
            }
            deleted => deleted,
        }
    }

    async fn try_to_delete(&self, order: &Order, wish: Wish) -> Result<Deleted, Fault> {
        let call = order.call();
        let name = deployment(&order.instance);
        let (stored, unfinished) = tokio::join!(
            self.neighbours.markers.read(&call, &order.instance),
            unfinished::of(&self.neighbours.director, &call, &name)
        );
        let stored = stored?;
        let unfinished = unfinished.map_err(Fault::director("look for tasks in progress"))?;

        if let Some(stored) = &stored
            && stored.marker.outcome.is_none()
            && stored.marker.operation == OperationKind::Create
            && !self.never_began(&order.instance, &stored.marker)
        {
            let context = stored.marker.context.clone();
            let started = self.cut_short(order, wish, context, &unfinished, Some(stored));
            return started.await.map(Deleted::Started);
        }
        let stored = match self.in_flight(&call, &order.instance, stored).await? {
            InFlight::OnItsWay { stored, started } if stored.marker.operation.deletes() => {
                return Ok(Deleted::Started(started));
            }
            InFlight::OnItsWay { .. } => return Err(Fault::Busy),
            InFlight::AtRest(stored) => stored,
        };
        if let Some(known) = self.drivers.in_progress(&order.instance) {
            let kind = known.operation.kind();
            return match known.started {
                _ if kind == OperationKind::Create => {
                    let context = known.operation.record.context.clone();
                    let before = stored.as_ref();
                    let started = self.cut_short(order, wish, context, &unfinished, before);
                    started.await.map(Deleted::Started)
                }
                Some(started) if kind.deletes() => Ok(Deleted::Started(started)),
                Some(_) | None => Err(Fault::Busy),
            };
        }
        if !unfinished.is_empty() {
            return Err(Fault::Busy);
        }
        let errands = match self.deployed(&call, &name, stored.as_ref()).await? {
            Deployed::Yes => self.errands_before_delete(&order.plan),
            Deployed::Never => Vec::new(),
            Deployed::Absent => return self.remove_leftovers(order, stored.as_ref()).await,
        };
        match self
            .start_delete(order, wish, errands, stored.as_ref())
            .await
        {
            Err(
                fault @ Fault::Submit(SubmitError::Refused {
                    status: StatusCode::NOT_FOUND,
                    ..
                }),
            ) if self.is_gone(&call, &name).await? => {
                tracing::debug!(error = %Chain(&fault), "somebody else has deleted it");
                self.remove_leftovers(order, stored.as_ref()).await
            }
            Err(Fault::Submit(SubmitError::Refused {
                status: StatusCode::UNAUTHORIZED,
                code: Some(_),
                ..
            })) => Err(Fault::Foreign),
            started => started.map(Deleted::Started),
        }
    }

    /// Whether there is something to run errands on. The Director is asked only where the marker does not tell: it refuses
    /// what it is asked to do with a deployment that somebody has removed.
    async fn deployed(
        &self,
        call: &Call,
        name: &DeploymentName,
        stored: Option<&StoredMarker>,
    ) -> Result<Deployed, Fault> {
        let told = stored.map(|stored| (stored.marker.operation, &stored.marker.outcome));
        match told {
            Some((kind, Some(_))) if !kind.deletes() && kind != OperationKind::Create => {
                return Ok(Deployed::Yes);
            }
            Some((OperationKind::Create, Some(outcome))) if outcome.is_success() => {
                return Ok(Deployed::Yes);
            }
            Some(_) | None => {}
        }
        let found = self.neighbours.director.deployment(call, name).await;
        match found.map_err(Fault::director("look the deployment up"))? {
            Deployment::Deployed(_) => Ok(Deployed::Yes),
            Deployment::NeverDeployed => Ok(Deployed::Never),
            Deployment::Absent => Ok(Deployed::Absent),
            Deployment::ForeignTeam => Err(Fault::Foreign),
        }
    }

    /// Whether the Director itself says so: a path that somebody on the way does not know is no missing deployment.
    async fn is_gone(&self, call: &Call, name: &DeploymentName) -> Result<bool, Fault> {
        let found = self.neighbours.director.deployment(call, name).await;
        let found = found.map_err(Fault::director("look the deployment up"))?;
        Ok(matches!(found, Deployment::Absent))
    }

    /// Remembers the delete in place of the create and has its driver do all the rest: cancel what runs, wait for its end,
    /// delete what is there then. From here on a restart resumes the delete.
    async fn cut_short(
        &self,
        order: &Order,
        wish: Wish,
        context: ContextId,
        unfinished: &[Task],
        before: Option<&StoredMarker>,
    ) -> Result<Started, Fault> {
        let call = order.call();
        let first_task = self.first_task(&call, order, &context, unfinished).await?;
        let errands = self.errands_before_delete(&order.plan);
        let mut marker = self.delete_marker(order, wish, errands, before);
        marker.cuts_short = Some(CutShort {
            context,
            first_task,
        });
        let stored = self.remember(&call, order, &marker, before).await?;
        tracing::info!(
            bosh.task.id = first_task.number(),
            "the creation is cut short"
        );
        let operation = Operation {
            begun: Begun::Here,
            ..Operation::new(&order.instance, marker, stored)
        };
        let started = operation.started(None);
        self.drivers
            .start(&self.neighbours, operation, Some(started.clone()));
        Ok(started)
    }

    /// The task that an operation began with, as far as anybody knows.
    async fn first_task(
        &self,
        call: &Call,
        order: &Order,
        context: &ContextId,
        unfinished: &[Task],
    ) -> Result<TaskId, Fault> {
        if let Some(known) = self.drivers.known(&order.instance)
            && known.operation.record.context == *context
            && let Some(task) = known.first_task()
        {
            return Ok(task);
        }
        let here = |task: &&Task| task.context.as_ref() == Some(context);
        if let Some(task) = unfinished.iter().find(here) {
            return Ok(task.id);
        }
        let tasks = self
            .neighbours
            .director
            .tasks(call, &of_context(context))
            .await
            .map_err(Fault::director("list the tasks of an operation"))?;
        Ok(tasks.first().map_or(UNKNOWN_TASK, |task| task.id))
    }

    /// A plan that is gone from the configuration has no errands any more.
    fn errands_before_delete(&self, plan: &PlanId) -> Vec<LifecycleErrand> {
        self.offering
            .plan(plan)
            .map(|plan| plan.lifecycle_errands.pre_delete.clone())
            .unwrap_or_default()
    }

    async fn start_delete(
        &self,
        order: &Order,
        wish: Wish,
        errands: Vec<LifecycleErrand>,
        before: Option<&StoredMarker>,
    ) -> Result<Started, Fault> {
        let work = match errands.first() {
            Some(errand) => Work::Errand(errand.clone()),
            None => Work::Delete(force(wish.kind)),
        };
        let record = self.delete_marker(order, wish, errands, before);
        self.hand_over(order, Prepared::new(record, work), before)
            .await
    }

    fn delete_marker(
        &self,
        order: &Order,
        wish: Wish,
        errands: Vec<LifecycleErrand>,
        before: Option<&StoredMarker>,
    ) -> Marker {
        // Should the delete fail, the instance stays what it is: so does what is known of it.
        let known = before.map(|stored| &stored.marker);
        let mut marker = Marker::new(NewMarker {
            offering: self.offering.id.clone(),
            plan: order.plan.clone(),
            operation: wish.kind,
            context: ContextId::random(),
            request: order.request.clone(),
            target: None,
            errands,
            digest: order.digest(),
            dashboard_url: known.and_then(|marker| marker.dashboard_url.clone()),
            labels: known
                .map(|marker| marker.labels.clone())
                .unwrap_or_default(),
        });
        marker.origin = wish.origin;
        marker.client = ClientRole::after(before);
        marker.carry_over(known);
        marker
    }

    /// The deployment is not there; nothing else of the instance shall be, either.
    async fn remove_leftovers(
        &self,
        order: &Order,
        stored: Option<&StoredMarker>,
    ) -> Result<Deleted, Fault> {
        let client = ClientRole::after(stored);
        leftovers::remove(&self.neighbours, &order.call(), &order.instance, client)
            .await
            .map_err(|source| Fault::Leftovers { source })?;
        self.drivers.forget(&order.instance);
        Ok(Deleted::WasAbsent)
    }
}
