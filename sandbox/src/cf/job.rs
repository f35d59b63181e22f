//! Follows an operation to its end: the Cloud Controller's job first, then what the broker says about the resource.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::{
    Cf,
    arguments::{Polling, Waiting},
    client::{ApiError, Change, Client, ClientError},
    output::Progress,
};

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

#[derive(Debug, Deserialize)]
struct Job {
    operation: JobOperation,
    state: JobState,
    #[serde(default)]
    errors: Vec<ApiError>,
    #[serde(default)]
    warnings: Vec<Warning>,
    #[serde(default)]
    links: BTreeMap<String, Link>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum JobOperation {
    #[serde(rename = "service_instance.create")]
    CreateInstance,
    #[serde(rename = "service_instance.delete")]
    DeleteInstance,
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum JobState {
    Processing,
    Polling,
    Complete,
    Failed,
}

#[derive(Debug, Deserialize)]
struct Warning {
    detail: String,
}

#[derive(Debug, Deserialize)]
struct Link {
    href: String,
}

/// The last operation of a service instance or a binding; nothing where it is not known. Displayed as `create in
/// progress`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LastOperation {
    #[serde(rename = "type")]
    kind: Option<String>,
    state: Option<String>,
    description: Option<String>,
}

impl LastOperation {
    pub(super) fn of(resource: &Value) -> Self {
        Self::deserialize(&resource["last_operation"]).unwrap_or_default()
    }

    /// Whether the broker is done with it.
    fn has_ended(&self) -> bool {
        matches!(self.state.as_deref(), Some("succeeded" | "failed"))
    }

    pub(super) fn description(&self) -> Option<&str> {
        let text = self.description.as_deref().map(str::trim);
        text.filter(|text| !text.is_empty())
    }
}

impl fmt::Display for LastOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(kind), Some(state)) = (self.kind.as_deref(), self.state.as_deref()) else {
            return Ok(());
        };
        let kind = match kind {
            "create" | "update" | "delete" => kind,
            _ => "operation",
        };
        let state = match state {
            "initial" => "accepted",
            "in progress" | "succeeded" | "failed" => state,
            _ => "in an unknown state",
        };
        write!(f, "{kind} {state}")
    }
}

/// Polls a change as long as the arguments require, and prints its steps.
pub(super) async fn follow(
    cf: &mut Cf<'_>,
    change: Change,
    waiting: &Waiting,
) -> Result<Outcome, JobError> {
    watch(cf, change, waiting.wait, waiting.polling).await
}

/// Follows a change to its end, as commands about brokers always do.
pub(super) async fn follow_to_end(
    cf: &mut Cf<'_>,
    change: Change,
    polling: Polling,
) -> Result<(), JobError> {
    watch(cf, change, true, polling).await.map(drop)
}

/// Without `to_the_end` it stops when the broker has accepted the operation, as cf CLI v8 does.
async fn watch(
    cf: &mut Cf<'_>,
    change: Change,
    to_the_end: bool,
    polling: Polling,
) -> Result<Outcome, JobError> {
    let Change::Started(job) = change else {
        return Ok(Outcome::Complete);
    };
    let started = Instant::now();
    let mut progress = cf.screen.progress(started);
    let mut warned = 0;
    loop {
        let now: Job = cf.client.get_link(&job).await?;
        for warning in now.warnings.iter().skip(warned) {
            progress.step(&format!("warning: {}", warning.detail));
        }
        warned = warned.max(now.warnings.len());
        let operation = last_operation(&mut cf.client, &now).await?;
        let ended = matches!(now.state, JobState::Complete | JobState::Failed);
        // An operation that has ended while the job is still running is the previous one.
        if to_the_end && operation.has_ended() == ended {
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
            JobState::Polling if !to_the_end => return Ok(Outcome::InProgress),
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

/// Reads the last operation of the service instance or binding. A resource that does not exist has none.
async fn last_operation(client: &mut Client, job: &Job) -> Result<LastOperation, ClientError> {
    let kinds = [
        "service_instances",
        "service_instance",
        "service_credential_binding",
    ];
    let Some(link) = kinds.iter().find_map(|kind| job.links.get(*kind)) else {
        return Ok(LastOperation::default());
    };
    match client.get_link::<Value>(&link.href).await {
        Ok(resource) => Ok(LastOperation::of(&resource)),
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
    if let Some(description) = operation.description()
        && !sentences
            .iter()
            .any(|sentence| sentence.contains(description))
    {
        sentences.push(description);
    }
    if sentences.is_empty() {
        "the operation failed without a reason".to_owned()
    } else {
        sentences.join("; ")
    }
}
