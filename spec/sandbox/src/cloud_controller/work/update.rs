//! Changing an instance. What was changed is written down when the broker has done it; a failed update leaves the row
//! as it was.

use serde_json::{Map, Value};

use super::{
    Operation,
    operation::{Failure, Overtaken},
    orders::Surroundings,
    polling::{Accepted, GoneMeans, PollEnd},
    provision::note_dashboard,
};
use crate::cloud_controller::{
    broker_client::Answer,
    model::{Instance, InstanceGuid, PlanGuid, Tables},
};

/// What a user wants changed. Absent means as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) name: Option<String>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) parameters: Option<Map<String, Value>>,
    pub(crate) plan: Option<PlanGuid>,
    /// The version to upgrade to.
    pub(crate) maintenance_version: Option<String>,
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
        if self.plan.is_some() || self.maintenance_version.is_some() {
            instance.maintenance_info = info;
        }
        let Instance {
            name,
            tags,
            plan,
            updated_at,
            ..
        } = instance;
        if let Some(new) = &self.plan {
            plan.clone_from(new);
        }
        if let Some(new) = &self.name {
            name.clone_from(new);
        }
        if let Some(new) = &self.tags {
            tags.clone_from(new);
        }
        *updated_at = jiff::Timestamp::now();
    }
}

impl Operation {
    /// Has the broker change the instance.
    pub(crate) fn update(self, instance: InstanceGuid, change: Change) {
        let controller = self.controller.clone();
        controller.start(async move { self.run_update(&instance, &change).await });
    }

    async fn run_update(&self, guid: &InstanceGuid, change: &Change) {
        let order = self.controller.0.state.read(|tables| {
            let surroundings = Surroundings::of(tables, tables.instances.get(guid)?)?;
            let (target, body) = (surroundings.target(None)?, surroundings.update(change)?);
            Some((target, body, surroundings.plan.maximum_polling_duration))
        });
        let Some((mut target, body, limit)) = order else {
            return self.overtaken();
        };
        let apply = |description: Option<String>, answer: Map<String, Value>| {
            self.succeeded(description, |tables| {
                change.apply_to(tables, guid);
                note_dashboard(tables, guid, &answer);
            });
        };
        match self
            .controller
            .0
            .broker_client
            .update(&target, &body, &self.identity)
            .await
        {
            Answer::Done(answer) => apply(None, answer),
            Answer::Accepted {
                operation,
                retry_after,
                body: answer,
            } => {
                // Polls name the plan that the instance is to have.
                target.plan_id = body.plan_id;
                let accepted = Accepted {
                    target: &target,
                    operation: operation.as_deref(),
                    retry_after,
                    limit,
                };
                match self.poll(accepted, GoneMeans::PollOn).await {
                    Ok(PollEnd::Succeeded { description }) => {
                        let mut fetched = self.fetched_instance(&target).await;
                        fetched.extend(answer);
                        apply(description, fetched);
                    }
                    Ok(PollEnd::Failed { description }) => {
                        self.failed(Failure::told("update", description));
                    }
                    Ok(PollEnd::TimedOut | PollEnd::Gone) => {
                        self.failed(Failure::timed_out("update"));
                    }
                    Err(Overtaken) => self.overtaken(),
                }
            }
            Answer::Failed(failure, _) => self.failed(Failure::refused("update", &failure)),
        }
    }
}
