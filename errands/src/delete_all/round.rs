//! Runs many deletions concurrently and reports each.

use std::{num::NonZeroUsize, time::Instant};

use futures_util::{StreamExt, stream};
use odb_clients::cloud_controller::InstanceGuid;
use odb_redaction::Chain;
use tokio_util::sync::CancellationToken;

use super::{
    instance::{Deleter, Error, Progress as DeletionProgress},
    selection::Chosen,
};
use crate::{
    Dependencies,
    progress::Progress,
    report::{Outcome, Row},
};

/// Deletes many instances.
pub(crate) struct Round {
    pub(crate) deleter: Deleter,
    pub(crate) dependencies: Dependencies,
    pub(crate) max_in_flight: NonZeroUsize,
    pub(crate) after_failure: AfterFailure,
    /// Cancelled when an error would affect all others, too.
    pub(crate) giving_up: CancellationToken,
}

/// How the errand treats an instance that cannot be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    /// It stays as it is.
    Keep,
    /// The platform forgets it.
    Purge,
}

impl Round {
    /// Tries all instances, and returns the outcome of each in their order.
    pub(crate) async fn run(&self, chosen: Vec<Chosen>) -> Vec<Row> {
        let progress = Progress::begin(
            &self.dependencies.console,
            "deleting",
            u64::try_from(chosen.len()).unwrap_or(u64::MAX),
        );
        let deletions = chosen
            .into_iter()
            .enumerate()
            .map(async |(location, chosen)| {
                let row = self.delete(chosen).await;
                progress.advance();
                (location, row)
            });
        // Not `buffered`, where one that takes its time holds up the others.
        let mut rows: Vec<_> = stream::iter(deletions)
            .buffer_unordered(self.max_in_flight.get())
            .collect()
            .await;
        rows.sort_unstable_by_key(|(location, _)| *location);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    async fn delete(&self, chosen: Chosen) -> Row {
        if self.giving_up.is_cancelled() || self.dependencies.stopping.is_cancelled() {
            return chosen.row(Outcome::NotReached);
        }
        let begun = Instant::now();
        let deleted = self.deleter.delete(&chosen.guid).await;
        let duration = Some(begun.elapsed());
        let guid = &chosen.guid;
        match deleted {
            Ok(()) => {
                self.say(&format!("Result: deleted service instance {guid}"));
                Row {
                    duration,
                    ..chosen.row(Outcome::Succeeded)
                }
            }
            Err(Error::Stopped {
                progress: DeletionProgress::NotBegun,
            }) => chosen.row(Outcome::NotReached),
            Err(Error::Stopped {
                progress: DeletionProgress::UnderWay,
            }) => {
                self.say(&format!("service instance {guid} is still being deleted"));
                chosen.row(Outcome::InProgress)
            }
            Err(error) => {
                self.say(&format!(
                    "Result: failed to delete service instance {guid}. {error}"
                ));
                if error.is_everybodys() {
                    self.giving_up.cancel();
                }
                let (outcome, cause) = self.after(guid, &error).await;
                Row {
                    cause: Some(cause),
                    duration,
                    ..chosen.row(outcome)
                }
            }
        }
    }

    /// The outcome of an instance that was not deleted, and the reason.
    async fn after(&self, guid: &InstanceGuid, error: &Error) -> (Outcome, String) {
        if self.after_failure == AfterFailure::Keep || error.is_everybodys() {
            return (Outcome::Failed, error.to_string());
        }
        if !error.is_the_end() {
            let cause = format!("{error} It was not purged: it has an operation in progress.");
            return (Outcome::Failed, cause);
        }
        match self.deleter.purge(guid).await {
            Ok(()) => {
                self.say(&format!(
                    "Result: purged service instance {guid} from the platform; its deployment may remain: orphan-deployments lists it"
                ));
                (Outcome::Purged, error.to_string())
            }
            Err(error) => {
                let cause = format!("{error} It could not be purged either: {}.", Chain(&error));
                (Outcome::Failed, cause)
            }
        }
    }

    fn say(&self, text: &str) {
        self.dependencies.console.say(text);
    }
}
