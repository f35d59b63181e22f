//! What is left to do when all tasks have ended, or none has ever begun.

use odb_platform::director::{ConfigType, Deployment, DirectorError};

use super::{Driver, obstacle::Obstacle};
use crate::{
    bosh::{
        Outcome, ReadMarkerError, WriteMarkerError, config_name,
        insistence::{Pauses, insist, passes},
        leftovers,
        operation::SnapshotState,
    },
    code::Code,
    kind::OperationKind,
    telemetry::Chain,
};

/// Whether the outcome is still to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    /// It is.
    NotYet,
    /// It has been, or there is nothing to write it into.
    Closed,
}

impl Driver {
    /// Removes what an instance leaves behind; the marker goes last.
    pub(super) async fn clean_up(&self) -> Result<(), Obstacle> {
        self.tell(self.stages.len());
        if !self.is_absent().await? {
            return Err(Obstacle::new("the deployment is still there".to_owned()));
        }
        let neighbours = &self.neighbours;
        let (timings, operation) = (&neighbours.timings, &self.operation);
        let removed = insist(
            timings,
            &operation.request,
            "remove what the instance leaves behind",
            |call| async move { leftovers::remove(neighbours, &call, &operation.instance).await },
        );
        Ok(removed.await?)
    }

    pub(super) async fn is_absent(&self) -> Result<bool, DirectorError> {
        // A name that another team has by now is not the instance's any more.
        Ok(matches!(
            self.deployment().await?,
            Deployment::Absent | Deployment::ForeignTeam
        ))
    }

    pub(super) async fn deployment(&self) -> Result<Deployment, DirectorError> {
        let director = &self.neighbours.director;
        let (timings, request) = (&self.neighbours.timings, &self.operation.request);
        let found = insist(
            timings,
            request,
            "look the deployment up",
            |call| async move { director.deployment(&call, &self.operation.deployment).await },
        );
        found.await
    }

    /// Nothing was handed over: what was written for it goes, and what was remembered before is remembered again.
    pub(super) async fn undo(&self) {
        if let Err(error) = self.try_to_undo().await {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "what was written for the operation could not be taken back");
        }
    }

    async fn try_to_undo(&self) -> Result<(), DirectorError> {
        let neighbours = &self.neighbours;
        let (timings, operation) = (&neighbours.timings, &self.operation);
        let request = &operation.request;
        if !self.is_latest().await? {
            return Ok(());
        }
        if operation.kind == OperationKind::Create && self.is_absent().await? {
            let removed = insist(timings, request, "take configs back", |call| async move {
                leftovers::remove_without_marker(neighbours, &call, &operation.instance).await
            });
            removed.await?;
        }
        let Some(stored) = &operation.stored else {
            return Ok(());
        };
        let taken_back = insist(
            timings,
            request,
            "take the marker back",
            |call| async move { neighbours.markers.take_back(&call, &stored.id).await },
        );
        taken_back.await
    }

    /// Nobody has written down anything newer.
    async fn is_latest(&self) -> Result<bool, DirectorError> {
        let Some(stored) = &self.operation.stored else {
            return Ok(true);
        };
        let markers = &self.neighbours.markers;
        let (timings, operation) = (&self.neighbours.timings, &self.operation);
        let read = insist(
            timings,
            &operation.request,
            "read the marker",
            |call| async move {
                match markers.read(&call, &operation.instance).await {
                    Ok(latest) => Ok(latest.is_some_and(|latest| latest.id == stored.id)),
                    Err(ReadMarkerError::NotUnderstood { .. }) => Ok(false),
                    Err(ReadMarkerError::Director(error)) => Err(error),
                }
            },
        );
        read.await
    }

    /// Deletes the configs that the adapter has given up: what is deployed now does without them.
    pub(super) async fn delete_obsolete_configs(&self) {
        let director = &self.neighbours.director;
        let (timings, operation) = (&self.neighbours.timings, &self.operation);
        let name = &config_name(&operation.deployment);
        for kind in &operation.obsolete_configs {
            let Ok(kind) = &ConfigType::try_from(kind.clone()) else {
                continue;
            };
            let deleted = insist(
                timings,
                &operation.request,
                "delete an obsolete config",
                |call| async move { director.delete_config(&call, kind, name).await },
            );
            if let Err(error) = deleted.await {
                tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "an obsolete config is left behind");
            }
        }
    }

    /// Tells polls how the operation has ended, and writes it down for later ones.
    ///
    /// One attempt at writing comes first: whoever reads of the end may order the next operation at once, which looks at the
    /// marker. When it fails polls are told all the same.
    pub(super) async fn end(&self, recorded: &Outcome, told: Outcome) {
        let mut pauses = Pauses::new(&self.neighbours.timings);
        let mut record = self.record(recorded).await;
        self.publish(SnapshotState::Ended(told));
        while record == Record::NotYet {
            pauses.pause().await;
            record = self.record(recorded).await;
        }
    }

    /// The second write of the marker. Whoever wrote in between knows something newer.
    async fn record(&self, outcome: &Outcome) -> Record {
        let Some(stored) = &self.operation.stored else {
            return Record::Closed;
        };
        let mut marker = stored.marker.clone();
        marker.outcome = Some(outcome.clone());
        let written = self
            .neighbours
            .markers
            .write(
                &self.call(),
                &self.operation.instance,
                marker,
                Some(&stored.id),
            )
            .await;
        match written {
            Ok(_) => Record::Closed,
            Err(WriteMarkerError::Director(error)) if passes(&error) => {
                tracing::warn!(code = %Code::Follow, error = %Chain(&error), "could not write the outcome down, trying again");
                Record::NotYet
            }
            Err(error) => {
                tracing::warn!(code = %Code::Follow, error = %Chain(&error), "the outcome is known, its marker was not written");
                Record::Closed
            }
        }
    }
}
