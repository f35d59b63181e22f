//! The moment at which a prepared operation becomes the Director's: marker, secrets, configs, submission, driver.

use std::{collections::BTreeMap, future::Future};

use odb_api_types::code::Code;
use odb_platform::{
    director::{ConfigId, DirectorError, SubmitError, TaskId},
    http::{Call, Deadline},
};

use super::{
    Fault, Instances, LeftoversFault, Marker, Neighbours, OperationKind, Order, Started,
    WriteMarkerError, configs, deployment,
    in_flight::{UNKNOWN_TASK, started},
    markers::StoredMarker,
    operation::{Begun, Operation},
    secrets::NewSecret,
    submission,
};
use crate::{
    instance_clients::InstanceClient,
    telemetry::{
        Chain,
        metrics::{Queue, metrics},
    },
};

/// How often a marker is written whose place was taken by one that nobody needs.
const ATTEMPTS: usize = 3;

/// What an operation is handed over with.
pub(super) struct HandOver<'a> {
    pub(super) order: &'a Order,
    pub(super) marker: Marker,
    /// The marker that was there before, which is the latest again when nothing is handed over.
    pub(super) before: Option<&'a StoredMarker>,
    /// The configs that the adapter asks for, by type. The marker knows what they replace.
    pub(super) configs: BTreeMap<String, String>,
    /// The secrets that the manifest refers to and that are not there yet.
    pub(super) secrets: Vec<NewSecret>,
    /// The instance's UAA client, which is again what it was when nothing is handed over.
    pub(super) client: Option<InstanceClient>,
}

impl Instances {
    /// Writes marker, secrets and configs, hands the work over and starts the driver. When it fails before that, what has been
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
        let stored = match self.write_down(&hand_over).await {
            Ok(stored) => stored,
            Err(fault) => {
                Box::pin(self.undo_client_of(&hand_over)).await;
                return Err(fault);
            }
        };
        let operation = Operation {
            begun: Begun::Here,
            client_in_hand: hand_over.client.clone(),
            ..Operation::of_marker(&order.instance, &hand_over.marker, stored.clone(), None)
        };
        self.drivers
            .announce(&self.neighbours.timings, operation.clone());
        let first_task = match Box::pin(self.write_and_submit(&hand_over, send)).await {
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
                self.drivers.withdraw(&order.instance);
                Box::pin(self.undo(&hand_over, stored.as_ref(), &fault)).await;
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

    /// Writes the marker, as long as there is time for all the rest.
    async fn write_down(&self, hand_over: &HandOver<'_>) -> Result<Option<StoredMarker>, Fault> {
        let order = hand_over.order;
        self.check_reserve(order)?;
        let call = self.call_of_preparation(order);
        let before = hand_over.before.map(|stored| &stored.id);
        match self.remember(&call, order, &hand_over.marker, before).await {
            Err(Fault::Marker(WriteMarkerError::Overtaken)) => Err(Fault::Busy),
            remembered => remembered,
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
        let Neighbours {
            director, secrets, ..
        } = &*self.neighbours;
        let name = deployment(&order.instance);
        // Later than this nothing is submitted: who waits longer misses the time to take back.
        let call = self.call_of_preparation(order);
        secrets.write(&call, &hand_over.secrets).await?;
        configs::write(director, &call, &name, &hand_over.configs).await?;
        let waiting = metrics().queues.wait(Queue::Submission);
        let place = tokio::time::timeout_at(
            call.deadline.instant(),
            self.neighbours.submissions.acquire(),
        );
        let Ok(Ok(_place)) = place.await else {
            return Err(Fault::OutOfTime);
        };
        drop(waiting);
        self.check_reserve(order)?;
        submission::submit(
            director,
            &order.call(),
            &hand_over.marker.context,
            None,
            self.neighbours.timings.lost_answer,
            send,
        )
        .await
        .map_err(Fault::Submit)
    }

    /// Writes the marker. A client that may not write configs does without: what shrinks is said in the log.
    pub(super) async fn remember(
        &self,
        call: &Call,
        order: &Order,
        marker: &Marker,
        before: Option<&ConfigId>,
    ) -> Result<Option<StoredMarker>, Fault> {
        let instance = &order.instance;
        let markers = &self.neighbours.markers;
        let mut before = before.cloned();
        for _ in 0..ATTEMPTS {
            let written = markers
                .write(call, instance, marker.clone(), before.as_ref())
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
                    before = match markers.read(call, instance).await? {
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

    /// Undoes everything side by side: the platform does not wait much longer.
    async fn undo(&self, hand_over: &HandOver<'_>, stored: Option<&StoredMarker>, fault: &Fault) {
        tokio::join!(
            self.take_back(hand_over, stored, fault),
            self.undo_client_of(hand_over)
        );
    }

    /// Undoes what was written for an operation that is not handed over: secrets, configs and marker are again what they
    /// were. What cannot be undone at once, or may still arrive, a driver undoes.
    async fn take_back(
        &self,
        hand_over: &HandOver<'_>,
        stored: Option<&StoredMarker>,
        fault: &Fault,
    ) {
        let order = hand_over.order;
        let call = Call::until(Deadline::after(self.neighbours.timings.taking_back))
            .with_request_id(order.request.as_str());
        if fault.may_have_written() {
            tracing::warn!(code = %Code::CleanUp, "what was written for the operation may still arrive: it is taken back later");
            self.have_taken_back(hand_over, stored);
            return;
        }
        let (secrets, configs) = tokio::join!(
            self.put_secrets_back(&call, hand_over),
            self.restore_configs(&call, hand_over)
        );
        if let Err(error) = &configs {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "configs could not be taken back yet");
        }
        if let Err(error) = &secrets {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(error), "secrets could not be put back yet");
        }
        if secrets.is_err() || configs.is_err() {
            self.have_taken_back(hand_over, stored);
            return;
        }
        let Some(stored) = stored else { return };
        if let Err(error) = self.neighbours.markers.take_back(&call, &stored.id).await {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "the marker could not be taken back yet");
            self.give_up(&order.instance, &stored.marker.context, &order.request);
        }
    }

    async fn put_secrets_back(
        &self,
        call: &Call,
        hand_over: &HandOver<'_>,
    ) -> Result<(), LeftoversFault> {
        let Neighbours {
            director, secrets, ..
        } = &*self.neighbours;
        let instance = &hand_over.order.instance;
        let HandOver { marker, .. } = hand_over;
        if marker.operation == OperationKind::Create && !marker.former_secrets.is_empty() {
            // There is no deployment that could use one.
            return secrets.remove_all(call, director, instance).await;
        }
        let former = &marker.former_secrets;
        Ok(secrets.put_back(call, instance, former).await?)
    }

    async fn restore_configs(
        &self,
        call: &Call,
        hand_over: &HandOver<'_>,
    ) -> Result<(), DirectorError> {
        let name = deployment(&hand_over.order.instance);
        let replaced = &hand_over.marker.replaced_configs;
        configs::restore(&self.neighbours.director, call, &name, replaced).await
    }

    /// Has a driver find that nothing was handed over, and undo what was written. It does not give up, and its marker tells
    /// a later process.
    fn have_taken_back(&self, hand_over: &HandOver<'_>, stored: Option<&StoredMarker>) {
        let (instance, marker) = (&hand_over.order.instance, &hand_over.marker);
        let operation = Operation::of_marker(instance, marker, stored.cloned(), None);
        self.drivers.start(&self.neighbours, operation, None);
    }

    async fn undo_client_of(&self, hand_over: &HandOver<'_>) {
        if let Some(client) = &hand_over.client {
            self.undo_client(hand_over.order, client).await;
        }
    }
}
