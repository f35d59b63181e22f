//! Deleting an instance: first its bindings and keys, then itself.

use super::{
    Operation,
    operation::{Failure, Overtaken},
    orders::Surroundings,
    polling::{Accepted, GoneMeans, PollEnd},
    unbind::Unbound,
};
use crate::cloud_controller::{
    broker_client::{Answer, Patience},
    model::{
        BindingGuid, BindingKind, InstanceGuid, Job, JobOperation, JobResource, OperationKind,
        OperationState,
    },
    refusal::Fault,
};

impl Operation {
    /// Has the broker delete the instance.
    pub(crate) fn deprovision(self, instance: InstanceGuid) {
        let controller = self.controller.clone();
        controller.start(async move { self.run_deprovision(&instance).await });
    }

    async fn run_deprovision(&self, guid: &InstanceGuid) {
        if let Err(reasons) = self.delete_bindings(guid).await {
            let name = self
                .controller
                .0
                .state
                .read(|tables| Some(tables.instances.get(guid)?.name.clone()));
            let name = name.unwrap_or_default();
            let detail = format!(
                "Deletion of service instance {name} failed because one or more associated resources could not be \
                 deleted.\n\n{}",
                reasons.join("\n")
            );
            return self.failed(Failure {
                description: detail.clone(),
                error: Fault::DeprovisionFailed.with(detail),
            });
        }
        let order = self.controller.0.state.read(|tables| {
            let surroundings = Surroundings::of(tables, tables.instances.get(guid)?)?;
            Some((
                surroundings.target(None)?,
                surroundings.plan.maximum_polling_duration,
            ))
        });
        let Some((target, limit)) = order else {
            return self.overtaken();
        };
        let remove = || {
            self.succeeded(None, |tables| {
                tables.instances.remove(guid);
            });
        };
        match self
            .controller
            .0
            .broker_client
            .delete(&target, Patience::Asynchronous, &self.identity)
            .await
        {
            Answer::Done(_) => remove(),
            Answer::Accepted {
                operation,
                retry_after,
                ..
            } => {
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    retry_after,
                    limit,
                };
                match self.poll(accepted, GoneMeans::Success).await {
                    Ok(PollEnd::Succeeded { .. } | PollEnd::Gone) => remove(),
                    Ok(PollEnd::Failed { description }) => {
                        self.failed(Failure::told("delete", description));
                    }
                    Ok(PollEnd::TimedOut) => self.failed(Failure::timed_out("deprovision")),
                    Err(Overtaken) => self.overtaken(),
                }
            }
            Answer::Failed(failure, _) => self.failed(Failure::refused("delete", &failure)),
        }
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
            let Some(unbind) = self.begin_unbind(&guid) else {
                continue;
            };
            match unbind.run_unbind(&guid).await {
                Unbound::Gone => {}
                Unbound::Begun => {
                    reasons.push(format!(
                        "\tAn operation for the service binding {guid} is in progress."
                    ));
                }
                Unbound::Refused(failure) => reasons.push(format!("\t{failure}")),
            }
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(reasons)
        }
    }

    fn begin_unbind(&self, guid: &BindingGuid) -> Option<Self> {
        self.controller.0.state.change(|tables| {
            let operation = tables.operation(OperationKind::Delete, OperationState::InProgress);
            let id = operation.id;
            let binding = tables.bindings.get_mut(guid)?;
            binding.last_operation = operation;
            let kind = match binding.kind {
                BindingKind::App(_) => JobOperation::DeleteBinding,
                BindingKind::Key => JobOperation::DeleteKey,
            };
            let resource = JobResource::Binding(guid.clone());
            let job = tables.add_job(Job::new(kind, resource.clone()));
            Some(Self {
                job,
                resource,
                id,
                ..self.clone()
            })
        })
    }
}
