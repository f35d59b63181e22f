//! Asynchronous jobs of the Cloud Controller (`spec/contracts/platform-apis.md`, section 3.4).

use std::fmt;

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderName, LOCATION};
use serde::{Deserialize, Deserializer};
use tokio::time::sleep;
use url::Url;

use super::{CloudController, JobGuid, is_lasting_error_of_broker};
use crate::{
    connection::{Answered, Connection},
    http::{Call, StatusCode, cut},
    service_error::{FailureKind, Result},
};

const WARNINGS: HeaderName = HeaderName::from_static("x-cf-warnings");

/// The Cloud Controller's codes for errors that the request did not cause: an unspecified failure at a broker,
/// unavailability, a failed, rejected or malformed synchronisation (also when a router does not know the broker yet), a
/// job timeout.
const TRANSIENT: [u64; 6] = [10001, 10015, 270_020, 270_021, 270_022, 290_006];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It has been carried out.
    Done {
        /// Warnings for the operator.
        warnings: Vec<String>,
    },
    /// It is being carried out: [`CloudController::finished`] waits for its end.
    Job(JobGuid),
}

/// A job at the moment of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CfJob {
    /// Such as `service_broker.delete`.
    #[serde(default)]
    pub operation: String,
    pub state: JobState,
    /// Why it has failed, the cause first.
    #[serde(default)]
    pub errors: Vec<CfError>,
    /// For the operator.
    #[serde(default, deserialize_with = "details")]
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum JobState {
    /// The Cloud Controller is at it, or will be.
    Processing,
    /// The broker is at it.
    Polling,
    Complete,
    Failed,
    /// A newer Cloud Controller is at it.
    #[serde(untagged)]
    Unknown(String),
}

/// The Cloud Controller's error.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CfError {
    /// `spec/contracts/platform-apis.md`, section 3.2
    pub code: Option<u64>,
    /// Such as `CF-UnableToPerform`; empty if there is none. 2 KiB at most, as the detail.
    #[serde(default, deserialize_with = "text")]
    pub title: String,
    #[serde(default, deserialize_with = "text")]
    pub detail: String,
}

impl CloudController {
    #[tracing::instrument(name = "cloud_controller.job", skip_all, fields(%job))]
    pub async fn job(&self, call: &Call, job: &JobGuid) -> Result<CfJob> {
        let connection = self.connection();
        let url = connection.address(&["v3", "jobs", job.as_str()], &[]);
        connection.read_at(call, url).await
    }

    /// Waits until a job has ended, and returns its warnings. The pauses between two polls grow with
    /// [`Limits`](crate::http::Limits); the deadline of the call ends the wait. A failed poll does not affect the job.
    ///
    /// # Errors
    ///
    /// [`FailureKind::JobFailed`] when the job has failed, [`FailureKind::OutOfTime`] when the deadline comes first:
    /// the job continues then.
    pub async fn finished(&self, call: &Call, accepted: Accepted) -> Result<Vec<String>> {
        let guid = match accepted {
            Accepted::Done { warnings } => return Ok(warnings),
            Accepted::Job(guid) => guid,
        };
        let mut pauses = self.connection().pauses();
        loop {
            let failures = match self.job(call, &guid).await {
                Ok(job) => match job.state {
                    JobState::Complete => return Ok(job.warnings),
                    JobState::Failed => {
                        let kind = FailureKind::JobFailed {
                            job: guid.clone(),
                            operation: job.operation,
                            errors: job.errors,
                        };
                        return Err(self.connection().failure(path_of(&guid), kind));
                    }
                    JobState::Processing | JobState::Polling | JobState::Unknown(_) => None,
                },
                Err(error) if error.is_transient() => Some(error),
                Err(error) => return Err(error),
            };
            let pause = pauses.next().unwrap_or_default();
            if pause >= call.deadline.remaining() {
                let kind = FailureKind::OutOfTime { sent: true };
                return Err(
                    failures.unwrap_or_else(|| self.connection().failure(path_of(&guid), kind))
                );
            }
            sleep(pause).await;
        }
    }
}

/// The result of an accepted request.
pub(super) fn accepted(connection: &Connection, written: &Answered) -> Result<Accepted> {
    if written.status() != StatusCode::ACCEPTED {
        return Ok(Accepted::Done {
            warnings: warnings(written),
        });
    }
    let location = written.header(&LOCATION);
    let url = location.and_then(|location| connection.page(location));
    let guid = url.as_ref().and_then(job_of);
    match guid.and_then(|guid| guid.parse().ok()) {
        Some(guid) => Ok(Accepted::Job(guid)),
        None => Err(written.lacks("address of a job")),
    }
}

/// The last segment of `…/v3/jobs/GUID`.
fn job_of(url: &Url) -> Option<&str> {
    let mut segments = url.path_segments()?.rev();
    let guid = segments.next()?;
    (segments.next()? == "jobs").then_some(guid)
}

/// `X-Cf-Warnings`: URL-encoded texts with commas between them.
fn warnings(written: &Answered) -> Vec<String> {
    let texts = written.header(&WARNINGS).unwrap_or_default().split(',');
    let texts = texts.map(str::trim).filter(|text| !text.is_empty());
    texts
        .map(|text| {
            // Older ones encode a space as in a form.
            let text = text.replace('+', " ");
            cut(&percent_decode_str(&text).decode_utf8_lossy())
        })
        .collect()
}

fn path_of(job: &JobGuid) -> String {
    format!("/v3/jobs/{job}")
}

impl CfError {
    pub(crate) fn is_transient(&self) -> bool {
        self.code.is_some_and(|code| TRANSIENT.contains(&code))
            && !is_lasting_error_of_broker(self.code, &self.title, &self.detail)
    }
}

impl fmt::Display for CfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: `{}`", self.title, self.detail)
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| cut(&text))
}

fn details<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    struct Warning {
        #[serde(deserialize_with = "text")]
        detail: String,
    }
    let warnings = Vec::<Warning>::deserialize(deserializer)?;
    Ok(warnings.into_iter().map(|warning| warning.detail).collect())
}
