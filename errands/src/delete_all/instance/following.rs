//! A deletion is followed to its end.

use odb_clients::cloud_controller::{Deletion, JobGuid, JobState};

use super::{
    Ending, Error, Progress, Task,
    rules::{Again, Next, ending, ending_of_failed_job, next},
    timeout::call,
};

/// The result of polling a job.
enum JobLook {
    /// It has ended, or not yet.
    Known(Option<Ending>),
    /// The Cloud Controller does not know it any more.
    Forgotten,
}

impl Task<'_> {
    /// Waits for the end of a deletion: one of this errand, or of another client (`None`).
    pub(super) async fn follow(&mut self, begun: Option<Deletion>) -> Result<Ending, Error> {
        if begun == Some(Deletion::Done) {
            return Ok(Ending::Gone);
        }
        self.progress = Progress::UnderWay;
        self.say(format_args!(
            "Waiting for service instance {} to be deleted",
            self.instance
        ));
        "its deletion had not ended yet".clone_into(&mut self.activity);
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
                Some(Ending::Failed(error)) if job.is_some() => {
                    return self.ending_beside_job(error).await;
                }
                Some(ending) => return Ok(ending),
                None => self.pause(self.deleter.polling_pause()).await?,
            }
        }
    }

    /// A job that has failed may have been overtaken by another one, which is at it or has done it.
    async fn ending_beside_job(&self, error: Error) -> Result<Ending, Error> {
        Ok(match self.look().await? {
            Ok(None) => Ending::Gone,
            Ok(Some(prior_result))
                if next(prior_result.last_operation.as_ref()) == Next::Follow =>
            {
                Ending::Refused(Again::Busy, error.to_string())
            }
            Ok(Some(_)) | Err(_) => Ending::Failed(error),
        })
    }

    async fn look_at_job(&self, job: &JobGuid) -> Result<JobLook, Error> {
        let call = call();
        let found = self.deleter.cloud_controller.job(&call, job);
        let found = self.unless_stopped(found).await?;
        let silence = self.deleter.observe(&found);
        match found {
            Ok(found) => Ok(JobLook::Known(match found.state {
                JobState::Complete => Some(Ending::Gone),
                JobState::Failed => Some(ending_of_failed_job(&found.errors)),
                JobState::Processing | JobState::Polling | JobState::Unknown(_) => None,
            })),
            Err(error) if error.is_not_found() => Ok(JobLook::Forgotten),
            Err(error) => {
                self.must_pass(error, silence)?;
                Ok(JobLook::Known(None))
            }
        }
    }

    async fn look_at_instance(&self) -> Result<Option<Ending>, Error> {
        let controller = &self.deleter.cloud_controller;
        let call = call();
        let prior_result = controller.last_operation(&call, self.instance);
        let prior_result = self.unless_stopped(prior_result).await?;
        let silence = self.deleter.observe(&prior_result);
        match prior_result {
            Ok(None) => Ok(Some(Ending::Gone)),
            Ok(Some(prior_result)) => Ok(ending(prior_result)),
            Err(error) => {
                self.must_pass(error, silence)?;
                Ok(None)
            }
        }
    }
}
