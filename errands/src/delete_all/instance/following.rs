//! A deletion is followed to its end.

use odb_clients::cloud_controller::{Deletion, JobGuid, JobState};

use super::{
    Ending, Fault, Progress, Task,
    rules::{Again, Next, ending, ending_of_failed_job, next},
    timeout::call,
};

/// What a look at a job has shown.
enum JobLook {
    /// It has ended, or not yet.
    Known(Option<Ending>),
    /// The Cloud Controller does not know it any more.
    Forgotten,
}

impl Task<'_> {
    /// Waits until a deletion has ended: what was begun here, or by somebody else (`None`).
    pub(super) async fn follow(&mut self, begun: Option<Deletion>) -> Result<Ending, Fault> {
        if begun == Some(Deletion::Done) {
            return Ok(Ending::Gone);
        }
        self.progress = Progress::UnderWay;
        self.say(format_args!(
            "Waiting for service instance {} to be deleted",
            self.instance
        ));
        "its deletion had not ended".clone_into(&mut self.doing);
        if begun.is_some() {
            self.pause(self.deleter.pace.initial_offset).await?;
        }
        let mut job = match begun {
            Some(Deletion::Job(job)) => Some(job),
            Some(Deletion::UnderWay | Deletion::Done) | None => None,
        };
        loop {
            let ending = match &job {
                None => self.look_at_instance().await?,
                Some(guid) => match self.look_at_job(guid).await? {
                    JobLook::Known(ending) => ending,
                    JobLook::Forgotten => {
                        job = None;
                        continue;
                    }
                },
            };
            match ending {
                Some(Ending::Failed(fault)) if job.is_some() => {
                    return self.ending_beside_job(fault).await;
                }
                Some(ending) => return Ok(ending),
                None => self.pause(self.deleter.polling_pause()).await?,
            }
        }
    }

    /// A job that has failed may have been overtaken by another one, which is at it or has done it.
    async fn ending_beside_job(&self, fault: Fault) -> Result<Ending, Fault> {
        Ok(match self.look().await? {
            Ok(None) => Ending::Gone,
            Ok(Some(standing)) if next(standing.last_operation.as_ref()) == Next::Follow => {
                Ending::Refused(Again::Busy, fault.to_string())
            }
            Ok(Some(_)) | Err(_) => Ending::Failed(fault),
        })
    }

    async fn look_at_job(&self, job: &JobGuid) -> Result<JobLook, Fault> {
        let call = call();
        let found = self.deleter.cloud_controller.job(&call, job);
        let found = self.unless_stopped(found).await?;
        let silence = self.deleter.hear(&found);
        match found {
            Ok(found) => Ok(JobLook::Known(match found.state {
                JobState::Complete => Some(Ending::Gone),
                JobState::Failed => Some(ending_of_failed_job(&found.faults)),
                JobState::Processing | JobState::Polling | JobState::Unknown(_) => None,
            })),
            Err(error) if error.is_not_found() => Ok(JobLook::Forgotten),
            Err(error) => {
                self.must_pass(error, silence)?;
                Ok(JobLook::Known(None))
            }
        }
    }

    async fn look_at_instance(&self) -> Result<Option<Ending>, Fault> {
        let controller = &self.deleter.cloud_controller;
        let call = call();
        let standing = controller.standing(&call, self.instance);
        let standing = self.unless_stopped(standing).await?;
        let silence = self.deleter.hear(&standing);
        match standing {
            Ok(None) => Ok(Some(Ending::Gone)),
            Ok(Some(standing)) => Ok(ending(standing)),
            Err(error) => {
                self.must_pass(error, silence)?;
                Ok(None)
            }
        }
    }
}
