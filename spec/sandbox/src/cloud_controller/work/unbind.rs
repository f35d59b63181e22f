//! Deleting a binding or a key.

use std::time::Duration;

use super::{
    Operation,
    operation::{Failure, Overtaken},
    orders::Surroundings,
    polling::{Accepted, GoneMeans, PollEnd},
};
use crate::cloud_controller::{
    broker_client::{Answer, BrokerFailure, Patience, Target},
    model::{BindingGuid, Tables},
};

/// What came of asking a broker to delete a binding.
pub(super) enum Unbound {
    /// It is gone, there and here.
    Gone,
    /// The broker is at it. Polling goes on by itself.
    Begun,
    /// The broker refused.
    Refused(BrokerFailure),
}

impl Operation {
    /// Has the broker delete the binding.
    pub(crate) fn unbind(self, binding: BindingGuid) {
        let controller = self.controller.clone();
        controller.start(async move {
            self.run_unbind(&binding).await;
        });
    }

    /// Deletes the binding as far as one answer of the broker goes.
    pub(super) async fn run_unbind(&self, guid: &BindingGuid) -> Unbound {
        let order = self.controller.0.state.read(|tables| {
            let binding = tables.bindings.get(guid)?;
            let surroundings = Surroundings::of(tables, tables.instances.get(&binding.instance)?)?;
            Some((
                surroundings.target(Some(binding))?,
                surroundings.plan.maximum_polling_duration,
            ))
        });
        let Some((target, limit)) = order else {
            self.overtaken();
            return Unbound::Gone;
        };
        match self
            .controller
            .0
            .broker_client
            .delete(&target, Patience::Asynchronous, &self.identity)
            .await
        {
            Answer::Done(_) => {
                self.succeeded(None, |tables| remove(tables, guid));
                Unbound::Gone
            }
            Answer::Accepted {
                operation,
                retry_after,
                ..
            } => {
                let (follower, guid) = (self.clone(), guid.clone());
                self.controller.start(async move {
                    follower
                        .follow_unbind(&guid, &target, operation.as_deref(), retry_after, limit)
                        .await;
                });
                Unbound::Begun
            }
            Answer::Failed(failure, _) => {
                self.failed(Failure::refused("unbind", &failure));
                Unbound::Refused(failure)
            }
        }
    }

    async fn follow_unbind(
        &self,
        guid: &BindingGuid,
        target: &Target,
        operation: Option<&str>,
        retry_after: Option<Duration>,
        limit: Option<Duration>,
    ) {
        match self
            .poll(
                Accepted {
                    target,
                    operation,
                    retry_after,
                    limit,
                },
                GoneMeans::Success,
            )
            .await
        {
            Ok(PollEnd::Succeeded { .. } | PollEnd::Gone) => {
                self.succeeded(None, |tables| remove(tables, guid));
            }
            Ok(PollEnd::Failed { description }) => {
                self.failed(Failure::told("unbind", description));
            }
            Ok(PollEnd::TimedOut) => self.failed(Failure::timed_out("unbind")),
            Err(Overtaken) => self.overtaken(),
        }
    }
}

fn remove(tables: &mut Tables, guid: &BindingGuid) {
    tables.bindings.remove(guid);
}
