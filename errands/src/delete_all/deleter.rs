//! How service instances are deleted: the steps of `spec/contracts/errands.md` §5, and what to do about other clients,
//! lost answers and bindings. The rollout engine decides when an instance has its turn.

use std::{
    cell::Cell,
    collections::{BTreeSet, VecDeque},
    fmt::Display,
    time::Duration,
};

use odb_clients::{
    ServiceError,
    cloud_controller::{
        BindingGuid, CfBinding, CfJob, CfLastOperation, CloudController, Deletion as Requested,
        InstanceGuid, JobGuid, JobState,
    },
    http::{Call, Deadline},
};
use odb_config::errands::Deletion;
use odb_redaction::Chain;
use odb_rollout::{Health, Location, PollResponse, TriggerResponse};
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    rules::{
        Again, Ending, Error, Next, again, ending, ending_of_failed_job, is_answer, is_under_way,
        next, passes, word,
    },
    selection::Chosen,
};
use crate::{Dependencies, runner::Requests};

/// The time for one read request, including retries.
const REQUEST: Duration = Duration::from_mins(2);
/// The shortest pause between two polls: even with an interval of 0 the errand does not load the Cloud Controller.
pub(super) const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause before something is tried again, however long the polling interval.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long the Cloud Controller may leave every request unanswered before requests stop waiting.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);
/// How many rejections without an operation in progress an instance gets before its deletion fails.
const MOST_REJECTIONS: u32 = 5;

pub(super) struct Deleter<'a> {
    pub(super) controller: &'a CloudController,
    dependencies: &'a Dependencies,
    pub(super) config: &'a Deletion,
    limit: Duration,
    /// The platform forgets an instance that cannot be deleted.
    purges: bool,
    /// Cancelled when an error would affect all other instances, too.
    giving_up: CancellationToken,
    /// When the Cloud Controller last answered any request.
    last_answer: Cell<Instant>,
    tasks: Vec<Mutex<Task>>,
}

pub(super) struct Task {
    pub(super) instance: InstanceGuid,
    /// The end of its time, which begins with its first request.
    deadline: Option<Deadline>,
    /// The activity to report when the time is used up.
    activity: String,
    /// How often it was refused without a reason that shows.
    rejections: u32,
    has_reported_waiting: bool,
    /// The bindings of one list that are still to be deleted.
    pub(super) bindings: VecDeque<CfBinding>,
    /// Bindings that were reported as deleted since they were listed.
    pub(super) deleted: BTreeSet<BindingGuid>,
    /// A job that deletes a binding.
    pub(super) binding_job: Option<(CfBinding, JobGuid)>,
    /// The pause before the first poll.
    offset: Option<Duration>,
    /// The job that deletes the instance. Without one, only the instance itself shows the end.
    job: Option<JobGuid>,
    is_own: bool,
    /// Why the deletion has failed, until the instance is purged.
    failure: Option<Error>,
    purged: Option<String>,
}

/// Why a step does not lead to the next one.
pub(super) enum Break {
    /// It is tried again after this pause.
    Later(Duration),
    Failed(Error),
}

impl From<Error> for Break {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Task {
    fn of(instance: InstanceGuid) -> Self {
        Self {
            instance,
            deadline: None,
            activity: "its bindings still existed".to_owned(),
            rejections: 0,
            has_reported_waiting: false,
            bindings: VecDeque::new(),
            deleted: BTreeSet::new(),
            binding_job: None,
            offset: None,
            job: None,
            is_own: false,
            failure: None,
            purged: None,
        }
    }

    /// Counts a rejection. A few without a visible reason are allowed.
    pub(super) fn count_rejection(&mut self, error: impl FnOnce() -> Error) -> Result<(), Error> {
        self.rejections += 1;
        if self.rejections < MOST_REJECTIONS {
            Ok(())
        } else {
            Err(error())
        }
    }

    /// A pause is cut at the end of the instance's time.
    fn within_time(&self, pause: Duration) -> Duration {
        let remaining = self.deadline.map(Deadline::remaining);
        remaining.map_or(pause, |remaining| pause.min(remaining))
    }
}

impl<'a> Deleter<'a> {
    pub(super) fn new(
        controller: &'a CloudController,
        dependencies: &'a Dependencies,
        config: &'a Deletion,
        limit: Duration,
        purges: bool,
        chosen: &[Chosen],
    ) -> Self {
        let tasks = chosen
            .iter()
            .map(|chosen| Mutex::new(Task::of(chosen.guid.clone())));
        Self {
            controller,
            dependencies,
            config,
            limit,
            purges,
            giving_up: dependencies.stopping.child_token(),
            last_answer: Cell::new(Instant::now()),
            tasks: tasks.collect(),
        }
    }

    /// Ends the run: the operator's signal, or an error that affects all instances.
    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.giving_up
    }

    /// Why each instance was purged, or why it was about to be when the run ended.
    pub(super) fn into_failures(self) -> impl Iterator<Item = (Option<String>, Option<Error>)> {
        let tasks = self.tasks.into_iter().map(Mutex::into_inner);
        tasks.map(|task| (task.purged, task.failure))
    }

    /// Deletes the bindings and requests the deletion. Returns whether it is under way; otherwise the instance is gone.
    async fn begin(&self, task: &mut Task) -> Result<bool, Break> {
        if let Some(failure) = task.failure.take() {
            return Err(failure.into());
        }
        self.go_on(task)?;
        self.delete_bindings(task).await?;
        let instance = &task.instance;
        let next = match self.last_operation(instance).await? {
            Ok(None) => return Ok(false),
            Ok(Some(last)) => next(last.last_operation.as_ref()),
            // The client has retried already when there is no answer, so the deletion request decides.
            Err(_) => {
                self.say(format_args!(
                    "could not retrieve information about service instance {instance}, will try to delete"
                ));
                Next::Delete
            }
        };
        let requested = match next {
            Next::Wait(kind) => {
                let word = word(&kind);
                if !task.has_reported_waiting {
                    task.has_reported_waiting = true;
                    self.say(format_args!(
                        "service instance {instance} has an operation of type '{word}' in progress, will be deleted when that has ended"
                    ));
                }
                task.activity = format!("Unexpected operation type: '{word}', which had not ended");
                return Err(Break::Later(self.polling_pause()));
            }
            Next::Follow => {
                self.say(format_args!(
                    "service instance {instance} is being deleted, will skip sending the delete request"
                ));
                None
            }
            Next::Delete => Some(self.request_deletion(task).await?),
        };
        if requested == Some(Requested::Done) {
            return Ok(false);
        }
        task.is_own = requested.is_some();
        task.offset = requested
            .is_some()
            .then_some(self.config.polling_initial_offset);
        task.job = match requested {
            Some(Requested::Job(job)) => Some(job),
            _ => None,
        };
        self.say(format_args!(
            "Waiting for service instance {} to be deleted",
            task.instance
        ));
        "its deletion had not ended yet".clone_into(&mut task.activity);
        Ok(true)
    }

    async fn request_deletion(&self, task: &mut Task) -> Result<Requested, Break> {
        self.go_on(task)?;
        self.say(format_args!("Deleting service instance {}", task.instance));
        "its deletion had not started".clone_into(&mut task.activity);
        let request = call();
        let requested = self.controller.delete_instance(&request, &task.instance);
        let error = match self.note_answer(requested.await) {
            Ok(requested) => return Ok(requested),
            Err(error) => error,
        };
        if !error.is_shared() {
            return Err(self.after_rejection(task, error, Error::Refused).await);
        }
        let spaces = self.controller.shared_spaces(&call(), &task.instance).await;
        for space in self.expect(&task.instance, self.note_answer(spaces))? {
            self.go_on(task)?;
            let instance = &task.instance;
            self.say(format_args!(
                "Unsharing service instance {instance} from space {space}"
            ));
            let unshared = self.controller.unshare(&call(), instance, &space).await;
            self.expect(instance, self.note_answer(unshared))?;
        }
        task.count_rejection(|| Error::Refused(Box::new(error)))?;
        Err(Break::Later(Duration::ZERO))
    }

    /// How a deletion that is under way has ended.
    async fn end(&self, task: &mut Task) -> Result<Ending, Break> {
        self.go_on(task)?;
        if let Some(offset) = task.offset.take().filter(|offset| !offset.is_zero()) {
            return Err(Break::Later(offset));
        }
        if let Some(guid) = &task.job {
            match self.job(&task.instance, guid).await? {
                // The Cloud Controller does not know it any more: the instance shows the end.
                None => task.job = None,
                Some(CfJob { state, errors, .. }) => {
                    return match state {
                        JobState::Complete => Ok(Ending::Gone),
                        JobState::Failed => match ending_of_failed_job(&errors) {
                            Ending::Failed(error) => self.ending_beside_job(task, error).await,
                            ending => Ok(ending),
                        },
                        JobState::Processing | JobState::Polling | JobState::Unknown(_) => {
                            Err(Break::Later(self.polling_pause()))
                        }
                    };
                }
            }
        }
        let last = self.last_operation(&task.instance).await?;
        match self.expect(&task.instance, last)? {
            None => Ok(Ending::Gone),
            Some(last) => ending(last).ok_or(Break::Later(self.polling_pause())),
        }
    }

    /// A job that has failed may have been overtaken by another one, which is at it or has done it.
    async fn ending_beside_job(&self, task: &Task, error: Error) -> Result<Ending, Break> {
        Ok(match self.last_operation(&task.instance).await? {
            Ok(None) => Ending::Gone,
            Ok(Some(last)) if next(last.last_operation.as_ref()) == Next::Follow => {
                Ending::Refused(Again::Busy, error.to_string())
            }
            Ok(Some(_)) | Err(_) => Ending::Failed(error),
        })
    }

    async fn last_operation(
        &self,
        instance: &InstanceGuid,
    ) -> Result<Result<Option<CfLastOperation>, ServiceError>, Break> {
        let call = call();
        let read = self.controller.last_operation(&call, instance);
        self.unless_stopped(read).await
    }

    /// A job, if the Cloud Controller knows it (still).
    pub(super) async fn job(
        &self,
        instance: &InstanceGuid,
        job: &JobGuid,
    ) -> Result<Option<CfJob>, Break> {
        let call = call();
        match self.unless_stopped(self.controller.job(&call, job)).await? {
            Err(error) if error.is_not_found() => Ok(None),
            found => self.expect(instance, found).map(Some),
        }
    }

    /// Sends a request that changes nothing, so that an interrupt drops it.
    pub(super) async fn unless_stopped<T>(
        &self,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<Result<T, ServiceError>, Break> {
        let answer = self.dependencies.unless_stopped(request).await;
        let answer = answer.map_err(|_| Break::Later(self.retry_pause()))?;
        Ok(self.note_answer(answer))
    }

    pub(super) fn note_answer<T>(
        &self,
        answer: Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        if answer.as_ref().err().is_none_or(is_answer) {
            self.last_answer.set(Instant::now());
        }
        answer
    }

    /// A meaningful answer. Without one the step is repeated.
    pub(super) fn expect<T>(
        &self,
        instance: &InstanceGuid,
        answer: Result<T, ServiceError>,
    ) -> Result<T, Break> {
        answer.map_err(|error| {
            if passes(&error) {
                self.unanswered(instance, error)
            } else {
                Error::Refused(Box::new(error)).into()
            }
        })
    }

    /// Repeats a step without an answer, unless there has been none to any request for a long time.
    fn unanswered(&self, instance: &InstanceGuid, cause: ServiceError) -> Break {
        let silence = self.last_answer.get().elapsed();
        if silence > LONGEST_SILENCE {
            let cause = Box::new(cause);
            return Error::Silence { silence, cause }.into();
        }
        self.say(format_args!(
            "service instance {instance}: {}; retrying",
            Chain(&cause)
        ));
        Break::Later(self.retry_pause())
    }

    /// After a request that changed nothing, or whose effect is unknown.
    pub(super) async fn after_rejection(
        &self,
        task: &mut Task,
        error: ServiceError,
        into_error: impl FnOnce(Box<ServiceError>) -> Error,
    ) -> Break {
        match again(&error) {
            Again::Never => return into_error(Box::new(error)).into(),
            Again::Unanswered => return self.unanswered(&task.instance, error),
            Again::Busy => {}
            Again::InTheWay => {
                let last = match self.last_operation(&task.instance).await {
                    Ok(last) => last,
                    Err(stopped) => return stopped,
                };
                let explains_itself = last.is_ok_and(|last| {
                    last.is_none_or(|last| is_under_way(last.last_operation.as_ref()))
                });
                if !explains_itself
                    && let Err(error) = task.count_rejection(|| into_error(Box::new(error)))
                {
                    return error.into();
                }
            }
        }
        Break::Later(self.retry_pause())
    }

    /// Ends a step if the run ends or the instance's time is used up.
    pub(super) fn go_on(&self, task: &mut Task) -> Result<(), Break> {
        if self.giving_up.is_cancelled() {
            return Err(Break::Later(self.retry_pause()));
        }
        let after = self.limit;
        let deadline = task.deadline.get_or_insert_with(|| Deadline::after(after));
        if deadline.has_passed() {
            let activity = task.activity.clone();
            return Err(Error::GaveUp { after, activity }.into());
        }
        Ok(())
    }

    /// Reports a failure, and purges the instance where that is wanted. Returns the cause, unless it was purged.
    async fn failed(&self, task: &mut Task, error: Error) -> Result<(), String> {
        let instance = &task.instance;
        self.say(format_args!(
            "Result: failed to delete service instance {instance}. {error}"
        ));
        if error.is_of_all() {
            self.giving_up.cancel();
        }
        if !self.purges || error.is_of_all() {
            return Err(error.to_string());
        }
        if !error.is_the_end() {
            return Err(format!(
                "{error} It was not purged: it has an operation in progress."
            ));
        }
        let purged = self.controller.purge_instance(&call(), instance).await;
        purged.map_err(|purge| {
            format!("{error} It could not be purged either: {}.", Chain(&purge))
        })?;
        self.say(format_args!(
            "Result: purged service instance {instance} from the platform; its deployment may remain: orphan-deployments lists it"
        ));
        task.purged = Some(error.to_string());
        Ok(())
    }

    fn say_deleted(&self, task: &Task) {
        self.say(format_args!(
            "Result: deleted service instance {}",
            task.instance
        ));
    }

    pub(super) fn retry_pause(&self) -> Duration {
        self.config
            .polling_interval
            .clamp(SHORTEST_PAUSE, LONGEST_RETRY)
    }

    fn polling_pause(&self) -> Duration {
        self.config.polling_interval.max(SHORTEST_PAUSE)
    }

    pub(super) fn say(&self, text: impl Display) {
        self.dependencies.console.log(text);
    }
}

impl Requests for Deleter<'_> {
    async fn trigger(&self, location: Location, _is_repeat: bool) -> TriggerResponse {
        let task = &mut *self.tasks[location].lock().await;
        match self.begin(task).await {
            Ok(true) => TriggerResponse::Accepted(None),
            Ok(false) => {
                self.say_deleted(task);
                TriggerResponse::Succeeded
            }
            Err(Break::Later(pause)) => TriggerResponse::Later(task.within_time(pause)),
            Err(Break::Failed(error)) => match self.failed(task, error).await {
                Ok(()) => TriggerResponse::Succeeded,
                Err(cause) => TriggerResponse::Failed(cause),
            },
        }
    }

    async fn poll(&self, location: Location) -> PollResponse {
        let task = &mut *self.tasks[location].lock().await;
        let error = match self.end(task).await {
            Ok(Ending::Gone) => {
                self.say_deleted(task);
                return PollResponse::Succeeded;
            }
            // A failed deletion that another client began is no attempt of ours.
            Ok(Ending::Failed(error)) if !task.is_own => {
                self.say(format_args!("service instance {}: {error}", task.instance));
                return PollResponse::Again(Duration::ZERO);
            }
            Ok(Ending::Refused(again, reason)) => {
                let counted = match again {
                    Again::Busy => Ok(()),
                    _ => task.count_rejection(|| Error::Failed(reason)),
                };
                match counted {
                    Ok(()) => return PollResponse::Again(task.within_time(self.retry_pause())),
                    Err(error) => error,
                }
            }
            Err(Break::Later(pause)) => return PollResponse::Later(task.within_time(pause)),
            Ok(Ending::Failed(error)) | Err(Break::Failed(error)) => error,
        };
        // An interrupt drops polls, but no request that changes something.
        if self.purges && error.is_the_end() && !error.is_of_all() {
            task.failure = Some(error);
            return PollResponse::Again(Duration::ZERO);
        }
        match self.failed(task, error).await {
            Ok(()) => PollResponse::Succeeded,
            Err(cause) => PollResponse::Senseless(cause),
        }
    }

    /// Deletions have no health gate.
    async fn examine(&self, _location: Location) -> Health {
        Health::Gone
    }
}

pub(super) fn call() -> Call {
    Call::within(REQUEST)
}
