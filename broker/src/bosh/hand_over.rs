//! The moment at which a prepared operation becomes the Director's: marker, configs, submission, driver.

use std::{collections::BTreeMap, future::Future};

use odb_platform::{
    director::{ConfigType, DirectorError, Expected, SubmitError, TaskId},
    http::{Call, Deadline},
};

use super::{
    Fault, Instances, Marker, Order, Started, WriteMarkerError, config_name, deployment,
    marker::StoredMarker, operation::Operation, submission, token,
};
use crate::{code::Code, telemetry::Chain};

/// What an operation is handed over with.
pub(super) struct HandOver<'a> {
    pub(super) order: &'a Order,
    pub(super) marker: Marker,
    /// The marker that was there before, which comes back when nothing is handed over.
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
        let stored = self.remember(&hand_over).await?;
        let operation =
            Operation::of_marker(&order.instance, &hand_over.marker, stored.clone(), None);
        self.drivers.announce(&self.neighbours, operation.clone());
        match self.write_and_submit(&hand_over, send).await {
            Ok(task) => {
                tracing::info!(bosh.task.id = task.number(), context = %hand_over.marker.context, "handed over to the Director");
                let started = Started {
                    token: token(&order.instance, &hand_over.marker, task),
                    dashboard_url: hand_over.marker.dashboard_url.clone(),
                    labels: hand_over.marker.labels.clone(),
                };
                let operation = Operation {
                    first_task: Some(task),
                    ..operation
                };
                self.drivers
                    .start(&self.neighbours, operation, Some(started.clone()));
                Ok(started)
            }
            Err(fault @ Fault::Submit(SubmitError::LostAnswer { .. })) => {
                // It may turn up yet. If it does not, the driver ends and nothing has changed.
                self.drivers.start(&self.neighbours, operation, None);
                Err(fault)
            }
            Err(fault) => {
                self.drivers.forget(&order.instance);
                self.take_back(&hand_over, stored.as_ref()).await;
                Err(fault)
            }
        }
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
            || send(order.call()),
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
    async fn remember(&self, hand_over: &HandOver<'_>) -> Result<Option<StoredMarker>, Fault> {
        let order = hand_over.order;
        let before = hand_over.before.map(|stored| &stored.id);
        let marker = hand_over.marker.clone();
        let written = self
            .neighbours
            .markers
            .write(&order.call(), &order.instance, marker, before)
            .await;
        match written {
            Ok(stored) => Ok(stored),
            Err(WriteMarkerError::Director(error @ DirectorError::NotAllowed { .. })) => {
                tracing::warn!(
                    code = %Code::Director,
                    error = %Chain(&error),
                    "the marker may not be written; should the broker be stopped now, polls have to carry the operation on"
                );
                Ok(None)
            }
            Err(WriteMarkerError::Overtaken) => Err(Fault::Busy),
            Err(error) => Err(error.into()),
        }
    }

    /// Undoes what was written for an operation that is not handed over: configs and marker are again what they were.
    /// What cannot be undone is left to the next operation, which does not mind it.
    async fn take_back(&self, hand_over: &HandOver<'_>, stored: Option<&StoredMarker>) {
        let order = hand_over.order;
        let call = Call::until(Deadline::after(self.neighbours.timings.taking_back))
            .with_request_id(order.request.as_str());
        if let Err(fault) = self.take_back_configs(&call, hand_over).await {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&fault), "configs could not be taken back");
        }
        let Some(stored) = stored else { return };
        let markers = &self.neighbours.markers;
        let restored = match hand_over.before {
            Some(before) => markers
                .write(
                    &call,
                    &order.instance,
                    before.marker.clone(),
                    Some(&stored.id),
                )
                .await
                .map(|_| ()),
            None => markers
                .delete(&call, &order.instance)
                .await
                .map_err(WriteMarkerError::Director),
        };
        if let Err(error) = restored {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the marker could not be taken back");
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
