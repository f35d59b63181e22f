//! Updates an instance. The row changes when the broker has succeeded; a failed update leaves it unchanged.

use serde_json::{Map, Value};

use super::{
    FirstResponse, Operation,
    operation::{Failure, Overtaken},
    orders::Dependencies,
    polling::{Accepted, Asker, GoneMeans, PollEnd},
    provision::note_answer,
};
use crate::cloud_controller::{
    broker_client::{AcceptsIncomplete, Response},
    model::{Instance, InstanceGuid, MaintenanceInfo, MetadataChange, PlanGuid, Tables},
};

/// The changes that a user requests. Absent members stay unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) name: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) parameters: Option<Map<String, Value>>,
    pub(crate) plan: Option<PlanGuid>,
    pub(crate) maintenance_version: Option<String>,
    pub(crate) metadata: MetadataChange,
}

impl Change {
    /// Writes down what the broker need not or need no longer be asked about.
    pub(crate) fn apply_to(&self, tables: &mut Tables, guid: &InstanceGuid) {
        let plan = self
            .plan
            .clone()
            .or_else(|| Some(tables.instances.get(guid)?.plan.clone()));
        let info = plan.and_then(|plan| tables.plans.get(&plan)?.maintenance_info.clone());
        let Some(instance) = tables.instances.get_mut(guid) else {
            return;
        };
        // As the broker received it: only the version.
        if self.plan.is_some() || self.maintenance_version.is_some() {
            instance.maintenance_info = info.map(|info| MaintenanceInfo {
                description: None,
                ..info
            });
        }
        let Instance {
            name,
            tags,
            plan,
            metadata,
            updated_at,
            ..
        } = instance;
        if let Some(new) = &self.plan {
            plan.clone_from(new);
        }
        if let Some(new) = &self.name {
            name.clone_from(new);
        }
        metadata.apply(&self.metadata);
        if let Some(new) = &self.tags {
            tags.clone_from(new);
        }
        *updated_at = jiff::Timestamp::now();
    }
}

impl Operation {
    pub(crate) fn update(self, instance: InstanceGuid, change: Change) {
        let controller = self.controller.clone();
        controller.start(async move { self.run_update(&instance, &change, Asker::job()).await });
    }

    /// The same; waits for the broker's first answer. `None` if the Cloud Controller stops.
    pub(crate) async fn update_and_wait(
        self,
        instance: InstanceGuid,
        change: Change,
        accepts_incomplete: AcceptsIncomplete,
    ) -> Option<FirstResponse> {
        let (asker, answer) = Asker::request(accepts_incomplete);
        let controller = self.controller.clone();
        controller.start(async move { self.run_update(&instance, &change, asker).await });
        answer.await.ok()
    }

    async fn run_update(&self, guid: &InstanceGuid, change: &Change, mut asker: Asker) {
        let order = self.controller.0.state.read(|tables| {
            let dependencies = Dependencies::of(tables, tables.instances.get(guid)?)?;
            let (target, body) = (dependencies.target(None)?, dependencies.update(change)?);
            Some((target, body, dependencies.plan.maximum_polling_duration))
        });
        let Some((mut target, body, limit)) = order else {
            return self.overtaken();
        };
        let apply = |description: Option<String>, answer: Map<String, Value>| {
            self.succeeded(description, |tables| {
                change.apply_to(tables, guid);
                note_answer(tables, guid, &answer);
            });
        };
        let client = &self.controller.0.broker_client;
        match client
            .update(&target, &body, asker.accepts_incomplete, &self.identity)
            .await
        {
            Response::Done(answer) => {
                apply(None, answer);
                asker.receives(FirstResponse::Done);
            }
            Response::Accepted {
                operation,
                body: answer,
            } => {
                // Polls name the plan that the instance is to have.
                target.plan_id = body.plan_id;
                self.controller
                    .0
                    .state
                    .change(|tables| note_answer(tables, guid, &answer));
                asker.receives(FirstResponse::Begun);
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    limit,
                    first_poll: asker.first_poll,
                };
                match self.poll(accepted, GoneMeans::PollOn).await {
                    Ok(PollEnd::Succeeded { description }) => {
                        apply(description, self.fetched_instance(&target).await);
                    }
                    Ok(PollEnd::Failed { description }) => {
                        self.failed(Failure::reported("update", description));
                    }
                    Ok(PollEnd::TimedOut | PollEnd::Gone) => {
                        self.failed(Failure::timed_out("update"));
                    }
                    Err(Overtaken) => self.overtaken(),
                }
            }
            Response::Failed(failure, _) => {
                self.failed(Failure::refused("update", &failure));
                asker.receives(FirstResponse::Refused(failure));
            }
        }
    }
}
