//! The programs that create and delete topics, and how they are run.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use odb_process::{Capture, ChildProcess, Outcome, ProcessError};

use crate::topic_name::TopicName;

/// Where the job `admin_tools` of the service release puts them on the broker's VM.
const DEFAULT_CREATOR: &str = "/var/vcap/packages/topic_manager/topic_creator";
const DEFAULT_DELETER: &str = "/var/vcap/packages/topic_manager/topic_deleter";

const CREATOR_VARIABLE: &str = "TOPIC_CREATOR_COMMAND";
const DELETER_VARIABLE: &str = "TOPIC_DELETER_COMMAND";

/// Three of them in a row, which is the most that a binding takes, fit into what a platform waits.
const DEFAULT_LIMIT: Duration = Duration::from_secs(15);
const LIMIT_VARIABLE: &str = "TOPIC_COMMAND_TIMEOUT_IN_SECONDS";

/// A broker's request has at most 55 s for the complete call.
const LONGEST_LIMIT: u64 = 50;

/// The commands' stderr when a topic exists or is missing.
const EXISTS: &str = "kafka.common.TopicExistsException";

/// How much of a command's output the operator sees, in characters.
const REPORTED: usize = 1000;

/// The programs that create and delete topics. Each is called with the addresses of ZooKeeper and the topic's name.
#[derive(Debug)]
pub(crate) struct TopicCommands {
    creator: PathBuf,
    deleter: PathBuf,
    limit: Duration,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TopicError {
    #[error("topic `{topic}` exists")]
    Exists { topic: TopicName },
    #[error("topic `{topic}` does not exist")]
    NotFound { topic: TopicName },
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

impl TopicCommands {
    /// Those that the environment names, else those of the service release.
    pub(crate) fn from_environment() -> anyhow::Result<Self> {
        let named = |value: Option<OsString>, default: &str| {
            value
                .filter(|value| !value.is_empty())
                .map_or_else(|| PathBuf::from(default), PathBuf::from)
        };
        Ok(Self {
            creator: named(env::var_os(CREATOR_VARIABLE), DEFAULT_CREATOR),
            deleter: named(env::var_os(DELETER_VARIABLE), DEFAULT_DELETER),
            limit: limit(env::var_os(LIMIT_VARIABLE))?,
        })
    }

    pub(crate) fn create(&self, zookeeper: &str, topic: &TopicName) -> Result<(), TopicError> {
        self.run("create", &self.creator, zookeeper, topic, |stderr| {
            stderr.contains(EXISTS).then(|| TopicError::Exists {
                topic: topic.clone(),
            })
        })
    }

    pub(crate) fn delete(&self, zookeeper: &str, topic: &TopicName) -> Result<(), TopicError> {
        let missing = format!("Topic {topic} does not exist on ZK path");
        self.run("delete", &self.deleter, zookeeper, topic, |stderr| {
            stderr.contains(&missing).then(|| TopicError::NotFound {
                topic: topic.clone(),
            })
        })
    }

    fn run(
        &self,
        action: &str,
        program: &Path,
        zookeeper: &str,
        topic: &TopicName,
        known_failure: impl FnOnce(&str) -> Option<TopicError>,
    ) -> Result<(), TopicError> {
        let ended = run(program, &[zookeeper, topic.as_str()], self.limit).with_context(|| {
            format!(
                "it is not known whether topic `{topic}` is there after an attempt to {action} it"
            )
        })?;
        if ended.status.success() {
            return Ok(());
        }
        Err(known_failure(&ended.stderr).unwrap_or_else(|| {
            let (program, status, said) = (program.display(), ended.status, said(&ended));
            let error = anyhow!(
                "could not {action} topic `{topic}`: `{program}` ended with {status}; {said}"
            );
            error.into()
        }))
    }
}

fn limit(value: Option<OsString>) -> anyhow::Result<Duration> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(DEFAULT_LIMIT);
    };
    let seconds = value.to_str().and_then(|text| text.parse().ok());
    seconds
        .filter(|seconds| (1..=LONGEST_LIMIT).contains(seconds))
        .map(Duration::from_secs)
        .with_context(|| {
            format!("environment variable `{LIMIT_VARIABLE}` must be a whole number from 1 to {LONGEST_LIMIT}")
        })
}

/// The end of the command's output, which has the reason.
fn said(ended: &Ended) -> String {
    let texts = [ended.stdout.trim(), ended.stderr.trim()];
    let text = texts.join("\n");
    let text = text.trim();
    if text.is_empty() {
        return "it said nothing".to_owned();
    }
    let skipped = text.chars().count().saturating_sub(REPORTED);
    let end: String = text.chars().skip(skipped).collect();
    format!("it said: {end}")
}

/// How much of each stream is kept, in bytes. The rest is dropped.
const KEPT: usize = 64 * 1024;

/// How a program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end, or kills it when `limit` has passed. Nothing that it started in its process group
/// outlives the call.
pub(crate) fn run(program: &Path, arguments: &[&str], limit: Duration) -> anyhow::Result<Ended> {
    let mut command = Command::new(program);
    command.args(arguments);
    let (mut stdout, mut stderr) = (Capture::first(KEPT), Capture::first(KEPT));
    let ended = ChildProcess::new(command, Instant::now() + limit).run(&mut stdout, &mut stderr);
    let program = program.display();
    match ended.map(|ended| ended.outcome) {
        Ok(Outcome::Exited(status)) => Ok(Ended {
            status,
            stdout: stdout.into_text(),
            stderr: stderr.into_text(),
        }),
        // Output does not end it, and no caller cancels it, so it was the time limit.
        Ok(_) => bail!(
            "`{program}` had not ended after {} s and was killed",
            limit.as_secs()
        ),
        Err(ProcessError::Start(error)) => {
            Err(error).with_context(|| format!("could not start `{program}`"))
        }
        Err(ProcessError::Follow(error)) => {
            Err(error).with_context(|| format!("could not follow `{program}`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn both_streams_and_the_status_are_reported() {
        let script = "echo out; echo err >&2; exit 3";
        let ended = run(Path::new("bash"), &["-c", script], LIMIT).unwrap();
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_does_not_end_or_is_not_there_is_named() {
        let error = run(Path::new("sleep"), &["1000"], Duration::from_secs(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sleep` had not ended after 1 s and was killed"
        );
        let error = run(Path::new("/does/not/exist"), &[], LIMIT).unwrap_err();
        assert_eq!(error.to_string(), "could not start `/does/not/exist`");
    }
}
