//! Deletes an instance: first its bindings and keys, then itself. Its last operation becomes the delete when the broker
//! has accepted it; a create in progress continues if the broker rejects the delete.

use super::{
    FirstResponse, Operation,
    operation::{Failure, Overtaken},
    orders::Dependencies,
    polling::{Accepted, Asker, GoneMeans, PollEnd},
    unbind::StillBound,
};
use crate::cloud_controller::{
    broker_client::{AcceptsIncomplete, BrokerError, BrokerFailure, Response},
    model::{BindingGuid, BindingKind, InstanceGuid, OperationKind, OperationState, Tables},
    rejection::ErrorKind,
};

impl Operation {
    pub(crate) fn deprovision(self, instance: InstanceGuid) {
        let controller = self.controller.clone();
        controller.start(async move {
            match self.delete_bindings(&instance).await {
                Ok(()) => self.run_deprovision(&instance, Asker::job()).await,
                Err(reasons) => self.bindings_left(&instance, &reasons),
            }
        });
    }

    /// The same without looking at bindings; waits for the broker's first answer. `None` if the Cloud Controller stops.
    pub(crate) async fn deprovision_and_wait(
        self,
        instance: InstanceGuid,
        accepts_incomplete: AcceptsIncomplete,
    ) -> Option<FirstResponse> {
        let (asker, answer) = Asker::request(accepts_incomplete);
        let controller = self.controller.clone();
        controller.start(async move { self.run_deprovision(&instance, asker).await });
        answer.await.ok()
    }

    async fn run_deprovision(&self, guid: &InstanceGuid, mut asker: Asker) {
        let order = self.controller.0.state.read(|tables| {
            let instance = tables.instances.get(guid)?;
            let dependencies = Dependencies::of(tables, instance)?;
            Some((
                dependencies.target(None)?,
                dependencies.plan.maximum_polling_duration,
                instance.name.clone(),
            ))
        });
        let Some((target, limit, name)) = order else {
            return self.overtaken();
        };
        let remove = || self.succeeded(None, |tables| tables.forget_instance(guid));
        let client = &self.controller.0.broker_client;
        match client
            .delete(&target, asker.accepts_incomplete, &self.identity)
            .await
        {
            Response::Done(_) => {
                self.takes_over(OperationKind::Delete, OperationState::InProgress);
                remove();
                asker.receives(FirstResponse::Done);
            }
            Response::Accepted { operation, .. } => {
                self.takes_over(OperationKind::Delete, OperationState::InProgress);
                asker.receives(FirstResponse::Begun);
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    limit,
                    first_poll: asker.first_poll,
                };
                match self.poll(accepted, GoneMeans::Success).await {
                    Ok(PollEnd::Succeeded { .. } | PollEnd::Gone) => remove(),
                    Ok(PollEnd::Failed { description }) => {
                        self.failed(Failure::reported("delete", description));
                    }
                    Ok(PollEnd::TimedOut) => self.failed(Failure::timed_out("deprovision")),
                    Err(Overtaken) => self.overtaken(),
                }
            }
            Response::Failed(failure, _) => {
                self.delete_failed(refused(&name, &failure));
                asker.receives(FirstResponse::Refused(failure));
            }
        }
    }

    /// Ends badly because bindings are still there.
    fn bindings_left(&self, guid: &InstanceGuid, reasons: &[String]) {
        let name = self
            .controller
            .0
            .state
            .read(|tables| Some(tables.instances.get(guid)?.name.clone()));
        let detail = format!(
            "Deletion of service instance {} failed because one or more associated resources could not be \
             deleted.\n\n{}",
            name.unwrap_or_default(),
            reasons.join("\n")
        );
        self.delete_failed(Failure {
            description: detail.clone(),
            error: ErrorKind::DeprovisionFailed.with(detail),
        });
    }

    /// An operation that the broker is at, such as a create, stays the instance's last one.
    fn delete_failed(&self, failure: Failure) {
        let other_goes_on = self.controller.0.state.change(|tables| {
            let last = tables.last_operation_mut(&self.resource);
            last.is_some_and(|last| last.id != self.id && last.is_running())
        });
        if other_goes_on {
            return self.failed_without_trace(&failure.error);
        }
        self.takes_over(OperationKind::Delete, OperationState::InProgress);
        self.failed(failure);
    }

    /// Deletes all bindings and keys. One that the broker refuses or takes its time for is a reason to give up.
    async fn delete_bindings(&self, instance: &InstanceGuid) -> Result<(), Vec<String>> {
        let bindings: Vec<BindingGuid> = self.controller.0.state.read(|tables| {
            tables
                .bindings_of(instance)
                .map(|binding| binding.guid.clone())
                .collect()
        });
        let mut reasons = Vec::new();
        for guid in bindings {
            match self.controller.unbind_first(&guid, &self.identity).await {
                Ok(()) => {}
                Err(StillBound::BeingDeleted) => {
                    reasons.push(format!("\t{}", self.unbind_in_progress(&guid)));
                }
                Err(StillBound::Refused(reported)) => reasons.push(format!("\t{reported}")),
            }
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(reasons)
        }
    }

    fn unbind_in_progress(&self, binding: &BindingGuid) -> String {
        self.controller.0.state.read(|tables| {
            let between = names(tables, binding);
            match between {
                Some((Some(app), instance)) => format!(
                    "An operation for the service binding between app {app} and service instance {instance} is in \
                     progress."
                ),
                Some((None, instance)) => format!(
                    "An operation for a service binding of service instance {instance} is in progress."
                ),
                None => format!("An operation for the service binding {binding} is in progress."),
            }
        })
    }
}

/// What a broker's error at a delete means.
fn refused(name: &str, failure: &BrokerFailure) -> Failure {
    if failure.kind == BrokerError::Concurrency {
        let detail = format!("An operation for service instance {name} is in progress.");
        return Failure {
            error: ErrorKind::AsyncInstanceOperationInProgress.with(detail.clone()),
            description: detail,
        };
    }
    Failure::delete_refused(name, failure)
}

fn names(tables: &Tables, binding: &BindingGuid) -> Option<(Option<String>, String)> {
    let binding = tables.bindings.get(binding)?;
    let app = match &binding.kind {
        BindingKind::App(app) => Some(tables.apps.get(app)?.name.clone()),
        BindingKind::Key | BindingKind::Route(_) => None,
    };
    Some((app, tables.instances.get(&binding.instance)?.name.clone()))
}
