//! Follows an operation to its end: the Cloud Controller's job first, then what the broker says about the resource.

use std::time::{Duration, Instant};

use thiserror::Error;

use super::arguments::{Polling, Waiting};
use super::client::{Change, Client};
use super::exchange::ClientError;
use super::screen::{Progress, Screen};
use super::wire::{ApiError, Job, JobOperation, JobState, LastOperation, Operated};

/// The sandbox is near and has nothing else to do; the cf command line asks every 3 s.
const INTERVAL: Duration = Duration::from_millis(250);

/// The state of an operation when a command stops polling it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Complete,
    /// The broker works on it. Only for those who did not want to wait.
    InProgress,
}

/// Why an operation did not come to a good end.
#[derive(Debug, Error)]
pub(super) enum JobError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("{description}")]
    Failed {
        operation: JobOperation,
        description: String,
    },
    #[error("the operation has not ended after {} s", after.as_secs())]
    TimedOut { after: Duration },
}

/// Polls a change as long as the arguments require, and prints its steps.
pub(super) async fn follow(
    client: &mut Client,
    screen: &mut Screen,
    change: Change,
    waiting: &Waiting,
) -> Result<Outcome, JobError> {
    let until = if waiting.wait {
        Until::Ended
    } else {
        Until::WithBroker
    };
    watch(client, screen, change, until, waiting.polling).await
}

/// Follows a change to its end, as commands about brokers always do.
pub(super) async fn follow_to_end(
    client: &mut Client,
    screen: &mut Screen,
    change: Change,
    polling: Polling,
) -> Result<(), JobError> {
    watch(client, screen, change, Until::Ended, polling)
        .await
        .map(|_| ())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The operation has succeeded or failed.
    Ended,
    /// The broker has accepted it; cf CLI v8 goes no further without `--wait`.
    WithBroker,
}

async fn watch(
    client: &mut Client,
    screen: &mut Screen,
    change: Change,
    until: Until,
    polling: Polling,
) -> Result<Outcome, JobError> {
    let job = match change {
        Change::Done => return Ok(Outcome::Complete),
        Change::Started(job) => job,
    };
    let started = Instant::now();
    let mut progress = screen.progress(started);
    let mut warned = 0;
    loop {
        let now: Job = client.job(&job).await?;
        for warning in now.warnings.iter().skip(warned) {
            progress.step(&format!("warning: {}", warning.detail));
        }
        warned = warned.max(now.warnings.len());
        let operation = last_operation(client, &now).await?;
        let ended = matches!(now.state, JobState::Complete | JobState::Failed);
        // An operation that has ended while the job is still running is the previous one.
        if until == Until::Ended && operation.has_ended() == ended {
            report(&mut progress, &operation);
        }
        match now.state {
            JobState::Complete => return Ok(Outcome::Complete),
            JobState::Failed => {
                let description = description(&now.errors, &operation);
                return Err(JobError::Failed {
                    operation: now.operation,
                    description,
                });
            }
            JobState::Polling if until == Until::WithBroker => return Ok(Outcome::InProgress),
            JobState::Polling | JobState::Processing => {}
        }
        if started.elapsed() > polling.timeout {
            return Err(JobError::TimedOut {
                after: polling.timeout,
            });
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Reads the last operation of the resource. A resource that does not exist has none.
async fn last_operation(client: &mut Client, job: &Job) -> Result<LastOperation, ClientError> {
    let Some(link) = job.operated() else {
        return Ok(LastOperation::default());
    };
    match client.get_link::<Operated>(link).await {
        Ok(resource) => Ok(resource.last_operation),
        Err(error) if error.is_not_found() => Ok(LastOperation::default()),
        Err(error) => Err(error),
    }
}

fn report(progress: &mut Progress<'_>, operation: &LastOperation) {
    let state = operation.to_string();
    match operation.description() {
        Some(description) => progress.step(&format!("{state}: {description}")),
        None if state.is_empty() => {}
        None => progress.step(&state),
    }
}

/// The Cloud Controller's words. They lack the broker's when an asynchronous binding failed.
fn description(errors: &[ApiError], operation: &LastOperation) -> String {
    let mut sentences: Vec<&str> = errors.iter().map(|error| error.detail.as_str()).collect();
    if let Some(said) = operation.description()
        && !sentences.iter().any(|sentence| sentence.contains(said))
    {
        sentences.push(said);
    }
    if sentences.is_empty() {
        "the operation failed without a reason".to_owned()
    } else {
        sentences.join("; ")
    }
}
