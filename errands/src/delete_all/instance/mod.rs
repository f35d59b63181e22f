//! How one service instance is deleted: the steps of `spec/contracts/errands.md` §5, and what to do about other
//! clients, lost answers and bindings.
//!
//! | file | contents |
//! | --- | --- |
//! | `bindings` | deletes its bindings |
//! | `following` | follows a deletion to its end |
//! | `timeout` | time limits and retries |
//! | `rules` | what an answer means |
//! | `error` | why an instance is not deleted |

mod bindings;
mod error;
mod following;
mod rules;
mod timeout;

use std::{fmt::Display, sync::Mutex, time::Duration};

use odb_clients::{
    ServiceError,
    cloud_controller::{CfLastOperation, CfOperationKind, CloudController, Deletion, InstanceGuid},
    http::Deadline,
};
use tokio::time::Instant;

pub(crate) use error::{Error, Progress};

use crate::Dependencies;
use rules::{Again, Next, next, word};
use timeout::call;

/// Deletes instances, a limited number at a time.
pub(crate) struct Deleter {
    cloud_controller: CloudController,
    dependencies: Dependencies,
    pace: Pace,
    /// When the Cloud Controller last answered any request.
    heard: Mutex<Instant>,
}

/// When is looked, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// From the request to the first look.
    pub(crate) initial_offset: Duration,
    /// Between two looks.
    pub(crate) interval: Duration,
    /// The time for one instance.
    pub(crate) limit: Duration,
}

/// The deletion of one instance.
struct Task<'d> {
    deleter: &'d Deleter,
    instance: &'d InstanceGuid,
    deadline: Deadline,
    progress: Progress,
    /// The activity to report when the time is used up.
    activity: String,
    /// How often it was refused without a reason that shows.
    rejections: u32,
    has_reported_waiting: bool,
}

/// How a deletion that was followed has ended.
enum Ending {
    Gone,
    Failed(Error),
    /// The broker rejected the request for now, with a message.
    Refused(Again, String),
}

impl Deleter {
    pub(crate) fn new(
        cloud_controller: CloudController,
        dependencies: Dependencies,
        pace: Pace,
    ) -> Self {
        Self {
            cloud_controller,
            dependencies,
            pace,
            heard: Mutex::new(Instant::now()),
        }
    }

    /// Deletes an instance and waits for the end.
    pub(crate) async fn delete(&self, instance: &InstanceGuid) -> Result<(), Error> {
        let mut task = Task {
            deleter: self,
            instance,
            deadline: Deadline::after(self.pace.limit),
            progress: Progress::NotBegun,
            activity: "its bindings still existed".to_owned(),
            rejections: 0,
            has_reported_waiting: false,
        };
        task.run().await
    }

    /// Has the platform forget an instance that cannot be deleted.
    pub(crate) async fn purge(&self, instance: &InstanceGuid) -> Result<(), ServiceError> {
        self.cloud_controller
            .purge_instance(&call(), instance)
            .await
    }
}

impl Task<'_> {
    async fn run(&mut self) -> Result<(), Error> {
        loop {
            self.delete_bindings().await?;
            let begun = match self.next_step().await? {
                None => return Ok(()),
                Some(Next::Wait(kind)) => {
                    self.wait_for(&kind).await?;
                    continue;
                }
                Some(Next::Follow) => {
                    self.say(format_args!(
                        "service instance {} is being deleted, will skip sending the delete request",
                        self.instance
                    ));
                    None
                }
                Some(Next::Delete) => match self.ask_for_deletion().await? {
                    Some(begun) => Some(begun),
                    None => continue,
                },
            };
            let is_own = begun.is_some();
            match self.follow(begun).await? {
                Ending::Gone => return Ok(()),
                Ending::Failed(error) if is_own => return Err(error),
                // A failed deletion that another client began is no attempt of ours.
                Ending::Failed(error) => {
                    self.say(format_args!("service instance {}: {error}", self.instance));
                }
                Ending::Refused(again, reason) => {
                    self.count_rejection(again, || Error::Failed { reason })?;
                    self.pause(self.deleter.retry_pause()).await?;
                }
            }
            self.progress = Progress::NotBegun;
        }
    }

    /// Reads the instance; `None` when it is gone. The platform client has retried already when there is no answer, so
    /// the deletion request decides then.
    async fn next_step(&mut self) -> Result<Option<Next>, Error> {
        if let Ok(prior_result) = self.look().await? {
            return Ok(prior_result.map(|prior_result| next(prior_result.last_operation.as_ref())));
        }
        self.say(format_args!(
            "could not retrieve information about service instance {}, will try to delete",
            self.instance
        ));
        Ok(Some(Next::Delete))
    }

    /// Reads the instance's last operation.
    async fn look(&self) -> Result<Result<Option<CfLastOperation>, ServiceError>, Error> {
        self.must_go_on()?;
        let controller = &self.deleter.cloud_controller;
        let call = call();
        let prior_result = controller.last_operation(&call, self.instance);
        let prior_result = self.unless_stopped(prior_result).await?;
        self.deleter.observe(&prior_result);
        Ok(prior_result)
    }

    /// Waits while another operation on the instance is in progress.
    async fn wait_for(&mut self, kind: &CfOperationKind) -> Result<(), Error> {
        let word = word(kind);
        if !self.has_reported_waiting {
            self.has_reported_waiting = true;
            self.say(format_args!(
                "service instance {} has an operation of type '{word}' in progress, will be deleted when that has ended",
                self.instance
            ));
        }
        self.activity = format!("Unexpected operation type: '{word}', which had not ended");
        self.pause(self.deleter.polling_pause()).await
    }

    /// Requests the deletion; `None` if the instance must be read again.
    async fn ask_for_deletion(&mut self) -> Result<Option<Deletion>, Error> {
        self.must_go_on()?;
        self.say(format_args!("Deleting service instance {}", self.instance));
        "its deletion had not started".clone_into(&mut self.activity);
        let controller = &self.deleter.cloud_controller;
        let begun = controller.delete_instance(&call(), self.instance).await;
        let silence = self.deleter.observe(&begun);
        match begun {
            Ok(begun) => {
                self.progress = Progress::UnderWay;
                Ok(Some(begun))
            }
            Err(error) if error.is_shared() => {
                self.count_rejection(Again::InTheWay, || Error::Refused(Box::new(error)))?;
                self.unshare().await?;
                Ok(None)
            }
            Err(error) => {
                self.after_rejection(error, silence, Error::Refused).await?;
                Ok(None)
            }
        }
    }

    fn say(&self, text: impl Display) {
        self.deleter.dependencies.console.say(text);
    }
}
