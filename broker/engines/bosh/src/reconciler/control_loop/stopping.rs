//! Requests that may still be on their way to the Director: until that is settled no further request is sent, so that
//! no errand starts twice. It is also the first stage of a delete that cuts another operation short: all tasks of that
//! operation end before the delete begins.
//!
//! A running task is the last one that the other operation's reconciler has sent. If all have ended, or there is none,
//! one more may be on its way: it is searched for until its absence is certain.

use odb_clients::{ServiceError, director::Deployment};
use odb_config::Timings;

use super::context::Context;
use crate::{
    reconciler::{
        next_step::{Previous, PreviousTask, Stage, TaskOutcome},
        observer::Observer,
        operation::{Begun, Operation},
    },
    wait::Absence,
};

/// A request whose submission may still arrive, and since when the Director has shown no sign of it.
#[derive(Debug)]
pub(super) struct Unconfirmed(Option<Absence>);

impl Unconfirmed {
    /// The reconciler of an interrupted operation may be stopped at any moment, perhaps during the submission of an
    /// errand.
    pub(super) fn of(operation: &Operation) -> Self {
        Self(match (operation.begun, &operation.record.cuts_short) {
            (Begun::Here, None) => None,
            (Begun::Here, Some(_)) | (Begun::Redirected(_) | Begun::Elsewhere, _) => {
                Some(Absence::default())
            }
        })
    }

    /// A request got no answer.
    pub(super) fn begin(&mut self) {
        self.0 = Some(Absence::default());
    }

    /// The work has been seen.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    /// Called after each read of the Director that found no running task.
    pub(super) fn remains(&mut self, observer: &Observer, timings: &Timings) -> bool {
        let Some(mut absence) = self.0 else {
            return false;
        };
        let is_over = is_over(&mut absence, observer, timings);
        self.0 = (!is_over).then_some(absence);
        !is_over
    }
}

/// Whether an unseen request will not arrive any more: the Director has answered without error for long enough.
pub(super) fn is_over(absence: &mut Absence, observer: &Observer, timings: &Timings) -> bool {
    absence.note_after(observer.answered_since()) >= timings.lost_answer
}

/// How far the stage is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stopping {
    /// The operation never came to a task.
    never_came: bool,
    /// The resources to delete are known.
    surveyed: bool,
}

impl Stopping {
    pub(super) fn previous(self, tasks: &[PreviousTask]) -> Previous<'_> {
        if self.never_came {
            Previous::AtRest
        } else {
            Previous::Tasks(tasks)
        }
    }

    /// The tasks of the interrupted operation. They no longer matter when the delete has its own task.
    pub(super) async fn tasks_of_previous(
        &self,
        context: &Context,
        observer: &mut Observer,
        own: &[TaskOutcome],
    ) -> Result<Vec<PreviousTask>, ServiceError> {
        match &context.operation.record.cuts_short {
            Some(cut) if own.is_empty() && !self.never_came => {
                observer.previous(&cut.context).await
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// The operation that is cut short never came to a task.
    pub(super) fn note_never_came(&mut self) {
        self.never_came = true;
    }

    /// What must be deleted is known only when every task has ended.
    pub(super) fn is_to_be_surveyed(self, context: &Context) -> bool {
        context.operation.record.cuts_short.is_some() && !self.surveyed
    }

    /// Skips stages without effect: errands need a successful deploy, a deletion an existing deployment.
    pub(super) async fn survey(
        &mut self,
        context: &Context,
        stages: &mut Vec<Stage>,
    ) -> Result<(), ServiceError> {
        match context.deployment().await? {
            Deployment::Deployed(_) => {}
            Deployment::NeverDeployed => {
                stages.retain(|stage| !matches!(stage, Stage::Errand(_)));
            }
            Deployment::Absent | Deployment::ForeignTeam => stages.truncate(1),
        }
        self.surveyed = true;
        Ok(())
    }
}
