//! Deleting a binding or a key. Its last operation becomes the delete when the broker has taken it, or failed to.
//!
//! Taking an instance away from a space that it is shared into, with the bindings of the apps there.

use std::time::Duration;

use tokio::sync::oneshot;

use super::{
    FirstResponse, Operation,
    operation::{Failure, Overtaken},
    orders::Dependencies,
    polling::{Accepted, Asker, FirstPoll, GoneMeans, PollEnd},
};
use crate::cloud_controller::{
    CloudController,
    broker_client::{AcceptsIncomplete, BrokerError, BrokerFailure, Identity, Response, Target},
    model::{
        BindingGuid, BindingKind, InstanceGuid, Job, JobOperation, JobResource, OperationKind,
        OperationState, SpaceGuid, Tables,
    },
    rejection::ErrorKind,
};

/// The error for a request that would delete a binding while it is created or deleted.
const IN_PROGRESS: &str = "The delete request was rejected due to an operation being in progress for the service binding.";

enum Unbound {
    Gone,
    Begun,
    /// The broker failed: the message for the user, and the reason.
    Refused(String, BrokerFailure),
}

/// Why a binding is still there after its deletion was asked for on behalf of something greater.
pub(super) enum StillBound {
    BeingDeleted,
    /// The request could not be sent, or the broker failed: the message for the user.
    Refused(String),
}

impl CloudController {
    /// Deletes a binding because of what becomes of its instance, as far as one answer of the broker goes.
    pub(super) async fn unbind_first(
        &self,
        guid: &BindingGuid,
        identity: &Identity,
    ) -> Result<(), StillBound> {
        let begun = self.0.state.change(|tables| {
            let binding = tables.bindings.get(guid)?;
            let last = &binding.last_operation;
            let is_new = last.is(OperationKind::Create, OperationState::Initial);
            if is_new || (last.is_running() && last.kind == OperationKind::Delete) {
                return Some(Err(StillBound::Refused(IN_PROGRESS.to_owned())));
            }
            let kind = match binding.kind {
                BindingKind::App(_) => JobOperation::DeleteBinding,
                BindingKind::Key => JobOperation::DeleteKey,
                BindingKind::Route(_) => JobOperation::DeleteRouteBinding,
            };
            // The row keeps its last operation until the broker has taken the delete.
            let delete = tables.operation(OperationKind::Delete, OperationState::InProgress);
            let resource = JobResource::Binding(guid.clone());
            Some(Ok(Operation {
                controller: self.clone(),
                job: tables.add_job(Job::new(kind, resource.clone())),
                resource,
                id: delete.id,
                identity: identity.clone(),
            }))
        });
        let Some(unbind) = begun else {
            return Ok(());
        };
        match unbind?
            .run_unbind(guid, AcceptsIncomplete::Asynchronous)
            .await
        {
            Unbound::Gone => Ok(()),
            Unbound::Begun => Err(StillBound::BeingDeleted),
            Unbound::Refused(reported, _) => Err(StillBound::Refused(reported)),
        }
    }
}

impl Operation {
    pub(crate) fn unbind(self, binding: BindingGuid) {
        let controller = self.controller.clone();
        controller.start(async move {
            self.run_unbind(&binding, AcceptsIncomplete::Asynchronous)
                .await;
        });
    }

    /// The same; waits for the broker's first answer. `None` if the Cloud Controller stops.
    pub(crate) async fn unbind_and_wait(
        self,
        binding: BindingGuid,
        accepts_incomplete: AcceptsIncomplete,
    ) -> Option<FirstResponse> {
        let (mut asker, answer) = Asker::request(accepts_incomplete);
        let controller = self.controller.clone();
        controller.start(async move {
            let first = match self.run_unbind(&binding, accepts_incomplete).await {
                Unbound::Gone => FirstResponse::Done,
                Unbound::Begun => FirstResponse::Begun,
                Unbound::Refused(_, failure) => FirstResponse::Refused(failure),
            };
            asker.receives(first);
        });
        answer.await.ok()
    }

    /// Deletes the binding as far as one answer of the broker goes.
    async fn run_unbind(
        &self,
        guid: &BindingGuid,
        accepts_incomplete: AcceptsIncomplete,
    ) -> Unbound {
        let order = self.controller.0.state.read(|tables| {
            let binding = tables.bindings.get(guid)?;
            let instance = tables.instances.get(&binding.instance)?;
            let dependencies = Dependencies::of(tables, instance)?;
            Some((
                dependencies.target(Some(binding))?,
                dependencies.plan.maximum_polling_duration,
                instance.name.clone(),
            ))
        });
        let Some((target, limit, instance_name)) = order else {
            self.overtaken();
            return Unbound::Gone;
        };
        let client = &self.controller.0.broker_client;
        match client
            .delete(&target, accepts_incomplete, &self.identity)
            .await
        {
            Response::Done(_) => {
                self.takes_over(OperationKind::Delete, OperationState::InProgress);
                self.succeeded(None, |tables| remove(tables, guid));
                Unbound::Gone
            }
            Response::Accepted { operation, .. } => {
                self.takes_over(OperationKind::Delete, OperationState::InProgress);
                let (follower, guid) = (self.clone(), guid.clone());
                self.controller.start(async move {
                    follower
                        .follow_unbind(&guid, &target, operation.as_deref(), limit)
                        .await;
                });
                Unbound::Begun
            }
            Response::Failed(failure, _) if failure.kind == BrokerError::Concurrency => {
                let reported = "The service broker rejected the request due to an operation being in progress for the \
                            service binding.";
                self.failed_without_trace(
                    &ErrorKind::UnableToPerform
                        .with(format!("unbind could not be completed: {reported}")),
                );
                Unbound::Refused(reported.to_owned(), failure)
            }
            Response::Failed(failure, _) => {
                let reported = format!(
                    "Service broker failed to delete service binding for instance {instance_name}: {failure}"
                );
                self.takes_over(OperationKind::Delete, OperationState::InProgress);
                self.failed(Failure::refused("unbind", &reported));
                Unbound::Refused(reported, failure)
            }
        }
    }

    async fn follow_unbind(
        &self,
        guid: &BindingGuid,
        target: &Target,
        operation: Option<&str>,
        limit: Option<Duration>,
    ) {
        let accepted = Accepted {
            target,
            operation,
            limit,
            first_poll: FirstPoll::AtOnce,
        };
        match self.poll(accepted, GoneMeans::Success).await {
            Ok(PollEnd::Succeeded { .. } | PollEnd::Gone) => {
                self.succeeded(None, |tables| remove(tables, guid));
            }
            Ok(PollEnd::Failed { description }) => {
                self.failed(Failure::reported("unbind", description));
            }
            Ok(PollEnd::TimedOut) => self.failed(Failure::timed_out("unbind")),
            Err(Overtaken) => self.overtaken(),
        }
    }
}

fn remove(tables: &mut Tables, guid: &BindingGuid) {
    tables.bindings.remove(guid);
}

impl CloudController {
    /// Lets the broker delete the bindings of a space's apps one by one, and then unshares the instance from the space.
    /// Returns the errors otherwise, one per line. The work continues when the request has ended; `None` if the Cloud
    /// Controller stops.
    pub(crate) async fn unshare_and_wait(
        &self,
        instance: InstanceGuid,
        space: SpaceGuid,
        identity: Identity,
    ) -> Option<Result<(), Vec<String>>> {
        let (reported, answer) = oneshot::channel();
        let controller = self.clone();
        self.start(async move {
            let came = controller.unshare(&instance, &space, &identity).await;
            // The caller may have disconnected.
            let _ = reported.send(came);
        });
        answer.await.ok()
    }

    /// The same as far as one answer of the broker for each binding goes.
    pub(super) async fn unshare(
        &self,
        instance: &InstanceGuid,
        space: &SpaceGuid,
        identity: &Identity,
    ) -> Result<(), Vec<String>> {
        let bindings: Vec<BindingGuid> = self.0.state.read(|tables| {
            let bound = tables.bound_apps(instance, space);
            bound.map(|binding| binding.guid.clone()).collect()
        });
        let mut reasons = Vec::new();
        for guid in bindings {
            match self.unbind_first(&guid, identity).await {
                Ok(()) => {}
                Err(StillBound::BeingDeleted) => reasons.push(self.unbinding(instance, space)),
                Err(StillBound::Refused(reported)) => reasons.push(reported),
            }
        }
        if !reasons.is_empty() {
            return Err(reasons);
        }
        self.0.state.change(|tables| {
            if let Some(row) = tables.instances.get_mut(instance) {
                row.shared_spaces.remove(space);
            }
        });
        Ok(())
    }

    fn unbinding(&self, instance: &InstanceGuid, space: &SpaceGuid) -> String {
        self.0.state.read(|tables| {
            let instance = tables.instances.get(instance);
            let space = tables.spaces.get(space);
            format!(
                "The binding between an application and service instance {} in space {} is being deleted asynchronously.",
                instance.map_or("", |row| &row.name),
                space.map_or("", |row| &row.name),
            )
        })
    }
}
