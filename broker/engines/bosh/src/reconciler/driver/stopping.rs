//! What may still be on its way to the Director: as long as that is so nothing more is sent, and no errand is started twice.
//! And the first stage of a delete that cuts another operation short: everything of that operation has an end before anything
//! of the delete begins.
//!
//! A task that is found at work is the last thing that the other operation's driver has sent. Where all have ended, or
//! there is none, one more may be on its way: it is looked for until there is no doubt any more.

use odb_clients::{ServiceError, director::Deployment};
use tokio::time::sleep;

use super::{Driver, obstacle::Obstacle};
use crate::{
    reconciler::next_step::{Former, FormerTask, Judged, Stage},
    wait::Absence,
};

/// How far the stage is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stopping {
    /// The operation never came to a task.
    never_came: bool,
    /// It is known what there is to be deleted.
    surveyed: bool,
}

impl Stopping {
    pub(super) fn former(self, tasks: &[FormerTask]) -> Former<'_> {
        if self.never_came {
            Former::AtRest
        } else {
            Former::Tasks(tasks)
        }
    }
}

impl Driver {
    /// The tasks of the operation that is cut short. Once the delete has a task of its own they do not matter any more.
    pub(super) async fn look_at_former(
        &mut self,
        own: &[Judged],
    ) -> Result<Vec<FormerTask>, ServiceError> {
        match &self.operation.record.cuts_short {
            Some(cut) if own.is_empty() && !self.stopping.never_came => {
                self.observer.former(&cut.context).await
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// The first task of the operation that is cut short may still be on its way.
    pub(super) async fn await_former(&mut self) {
        self.tell(0);
        if self.is_in_doubt() {
            sleep(self.neighbours.timings.first_retry).await;
        } else {
            self.stopping.never_came = true;
        }
    }

    /// What there is to be deleted is known only when everything has stopped.
    pub(super) fn is_to_be_surveyed(&self) -> bool {
        self.operation.record.cuts_short.is_some() && !self.stopping.surveyed
    }

    /// Leaves out what makes no sense: errands need something that was deployed once, a deletion something that is there.
    pub(super) async fn survey(&mut self) -> Result<(), Obstacle> {
        match self.deployment().await? {
            Deployment::Deployed(_) => {}
            Deployment::NeverDeployed => {
                self.stages
                    .retain(|stage| !matches!(stage, Stage::Errand(_)));
            }
            Deployment::Absent | Deployment::ForeignTeam => self.stages.truncate(1),
        }
        self.stopping.surveyed = true;
        Ok(())
    }

    /// The first task may still be on its way, as long as none is known.
    pub(super) fn is_to_be_awaited(&self, absence: &mut Absence) -> bool {
        self.observer.newest().is_none() && !self.is_over(absence)
    }

    /// Asked after each look at the Director that has found nothing at work.
    pub(super) fn is_in_doubt(&mut self) -> bool {
        let Some(mut absence) = self.doubt else {
            return false;
        };
        let is_over = self.is_over(&mut absence);
        self.doubt = (!is_over).then_some(absence);
        !is_over
    }

    /// What has not been seen will not turn up any more: the Director has answered without fail for long enough.
    fn is_over(&self, absence: &mut Absence) -> bool {
        let seen_without = absence.note_after(self.observer.answered_since());
        seen_without >= self.neighbours.timings.lost_answer
    }
}
