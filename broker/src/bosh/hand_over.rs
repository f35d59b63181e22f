//! The moment at which a prepared operation becomes the Director's: marker, configs, submission, driver.

use std::{collections::BTreeMap, future::Future};

use odb_platform::{
    director::{ConfigId, ConfigType, DirectorError, Expected, SubmitError, TaskId},
    http::{Call, Deadline},
};

use super::{
    Fault, Instances, Marker, Order, Started, WriteMarkerError, config_name, deployment,
    in_flight::{UNKNOWN_TASK, started},
    marker::StoredMarker,
    operation::{Begun, Operation},
    submission,
};
use crate::{code::Code, telemetry::Chain};

/// How often a marker is written whose place was taken by one that nobody needs.
const ATTEMPTS: usize = 3;

/// What an operation is handed over with.
pub(super) struct HandOver<'a> {
    pub(super) order: &'a Order,
    pub(super) marker: Marker,
    /// The marker that was there before, which is the latest again when nothing is handed over.
    pub(super) before: Option<&'a StoredMarker>,
    /// The configs that the adapter asks for, by type.
    pub(super) configs: BTreeMap<String, String>,
    /// Those that were there before.
    pub(super) configs_before: BTreeMap<String, String>,
}

impl Instances {
    /// Writes marker and configs, hands the work over and starts the driver. When it fails before that, what has been
    /// written is taken back.
    pub(super) async fn hand_over<F, Answer>(
        &self,
        hand_over: HandOver<'_>,
        send: F,
    ) -> Result<Started, Fault>
    where
        F: Fn(Call) -> Answer,
        Answer: Future<Output = Result<TaskId, SubmitError>>,
    {
        let order = hand_over.order;
        self.check_reserve(order)?;
        let before = hand_over.before.map(|stored| &stored.id);
        let stored = match self.remember(order, &hand_over.marker, before).await {
            Err(Fault::Marker(WriteMarkerError::Overtaken)) => return Err(Fault::Busy),
            remembered => remembered?,
        };
        let operation = Operation {
            begun: Begun::Here,
            ..Operation::of_marker(&order.instance, &hand_over.marker, stored.clone(), None)
        };
        self.drivers.announce(&self.neighbours, operation.clone());
        let first_task = match self.write_and_submit(&hand_over, send).await {
            Ok(task) => {
                tracing::info!(bosh.task.id = task.number(), context = %hand_over.marker.context, "handed over to the Director");
                Some(task)
            }
            // It may be under way: the driver goes on looking. If it does not turn up, nothing has changed, and the last
            // operation says so.
            Err(Fault::Submit(error @ SubmitError::LostAnswer { .. })) => {
                tracing::warn!(
                    code = %Code::Director,
                    error = %Chain(&error),
                    context = %hand_over.marker.context,
                    "handed over, and not known yet whether it has arrived"
                );
                None
            }
            Err(fault) => {
                self.drivers.forget(&order.instance);
                self.take_back(&hand_over, stored.as_ref()).await;
                return Err(fault);
            }
        };
        let named = first_task.unwrap_or_else(|| TaskId::new(UNKNOWN_TASK));
        let started = started(&order.instance, &hand_over.marker, named);
        let operation = Operation {
            first_task,
            ..operation
        };
        self.drivers
            .start(&self.neighbours, operation, Some(started.clone()));
        Ok(started)
    }

    fn check_reserve(&self, order: &Order) -> Result<(), Fault> {
        if order.deadline.remaining() < self.neighbours.timings.submission_reserve {
            return Err(Fault::OutOfTime);
        }
        Ok(())
    }

    async fn write_and_submit<F, Answer>(
        &self,
        hand_over: &HandOver<'_>,
        send: F,
    ) -> Result<TaskId, Fault>
    where
        F: Fn(Call) -> Answer,
        Answer: Future<Output = Result<TaskId, SubmitError>>,
    {
        let order = hand_over.order;
        self.write_configs(&order.call(), order, &hand_over.configs)
            .await?;
        let waiting = tokio::time::timeout_at(
            order.deadline.instant(),
            self.neighbours.submissions.acquire(),
        );
        let Ok(Ok(_place)) = waiting.await else {
            return Err(Fault::OutOfTime);
        };
        self.check_reserve(order)?;
        submission::submit(
            &self.neighbours.director,
            &order.call(),
            &hand_over.marker.context,
            None,
            self.neighbours.timings.lost_answer,
            send,
        )
        .await
        .map_err(Fault::Submit)
    }

    async fn write_configs(
        &self,
        call: &Call,
        order: &Order,
        configs: &BTreeMap<String, String>,
    ) -> Result<(), Fault> {
        let config_name = config_name(&deployment(&order.instance));
        for (kind, content) in configs {
            let kind = ConfigType::try_from(kind.clone()).map_err(Fault::ConfigType)?;
            let written = self
                .neighbours
                .director
                .put_config(call, &kind, &config_name, content, &Expected::Anything)
                .await;
            written.map_err(|source| Fault::WriteConfig { source })?;
        }
        Ok(())
    }

    /// Writes the marker. A client that may not write configs does without: what shrinks is said in the log.
    pub(super) async fn remember(
        &self,
        order: &Order,
        marker: &Marker,
        before: Option<&ConfigId>,
    ) -> Result<Option<StoredMarker>, Fault> {
        let (call, instance) = (order.call(), &order.instance);
        let markers = &self.neighbours.markers;
        let mut before = before.cloned();
        for _ in 0..ATTEMPTS {
            let written = markers
                .write(&call, instance, marker.clone(), before.as_ref())
                .await;
            match written {
                Ok(stored) => return Ok(stored),
                Err(WriteMarkerError::Director(error @ DirectorError::NotAllowed { .. })) => {
                    tracing::warn!(
                        code = %Code::Director,
                        error = %Chain(&error),
                        "the marker may not be written; should the broker be stopped now, polls have to carry the operation on"
                    );
                    return Ok(None);
                }
                // A marker that was given up has come in between, or has been swept away.
                Err(WriteMarkerError::Overtaken) => {
                    before = match markers.read(&call, instance).await? {
                        None => None,
                        Some(found) if self.neighbours.given_up.includes(&found.marker.context) => {
                            Some(found.id)
                        }
                        Some(_) => return Err(WriteMarkerError::Overtaken.into()),
                    };
                }
                Err(error @ WriteMarkerError::Director(_)) => {
                    // It may arrive all the same.
                    self.give_up(instance, &marker.context, &order.request);
                    return Err(error.into());
                }
            }
        }
        Err(WriteMarkerError::Overtaken.into())
    }

    /// Undoes what was written for an operation that is not handed over: configs and marker are again what they were.
    async fn take_back(&self, hand_over: &HandOver<'_>, stored: Option<&StoredMarker>) {
        let order = hand_over.order;
        let call = Call::until(Deadline::after(self.neighbours.timings.taking_back))
            .with_request_id(order.request.as_str());
        if let Err(fault) = self.take_back_configs(&call, hand_over).await {
            // The next operation does not mind them.
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&fault), "configs could not be taken back");
        }
        let Some(stored) = stored else { return };
        if let Err(error) = self.neighbours.markers.take_back(&call, &stored.id).await {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the marker could not be taken back yet");
            self.give_up(&order.instance, &stored.marker.context, &order.request);
        }
    }

    async fn take_back_configs(&self, call: &Call, hand_over: &HandOver<'_>) -> Result<(), Fault> {
        let config_name = config_name(&deployment(&hand_over.order.instance));
        let mut former = BTreeMap::new();
        for kind in hand_over.configs.keys() {
            if let Some(content) = hand_over.configs_before.get(kind) {
                former.insert(kind.clone(), content.clone());
            } else {
                let kind = ConfigType::try_from(kind.clone()).map_err(Fault::ConfigType)?;
                self.neighbours
                    .director
                    .delete_config(call, &kind, &config_name)
                    .await
                    .map_err(Fault::director("take a config back"))?;
            }
        }
        self.write_configs(call, hand_over.order, &former).await
    }
}
