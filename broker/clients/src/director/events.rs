//! The event output of a task: its progress.

use reqwest::header::RANGE;
use serde::{Deserialize, Deserializer};

use super::{Director, TaskId};
use crate::{
    http::{Call, StatusCode},
    service_error::Result,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChunk {
    /// Oldest first.
    pub events: Vec<Event>,
    /// The byte from which to continue.
    pub next: u64,
}

/// A line of a task's events (`spec/contracts/director-api.md`, "Event lines"). Warnings are left out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Event {
    /// The task failed or was cancelled; the last line.
    Failure(#[serde(deserialize_with = "failure")] Failure),
    Step(Step),
}

/// A step of a task. The steps of one stage run concurrently: stage, tags and index identify a step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Step {
    /// Such as `Updating instance`.
    pub stage: String,
    /// The subject of the stage, such as the instance group.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The subject of the step, such as `redis/UUID (0) (canary)`.
    pub task: String,
    /// The step's number in the stage, from 1.
    pub index: u64,
    /// How many steps the stage has. It can be smaller than an index, and 0.
    #[serde(default)]
    pub total: u64,
    pub state: StepState,
    /// Such as `executing drain`.
    #[serde(default, rename = "data", deserialize_with = "status")]
    pub status: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Started,
    InProgress,
    Finished,
    Failed,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Failure {
    /// The Director's code; 100 for errors without a code.
    pub code: u64,
    /// The Director's words, in full. For the operator only.
    pub message: String,
}

impl Director {
    /// The events of a task from a byte offset: 0, then [`EventChunk::next`] of the last chunk.
    ///
    /// Only complete lines are read, so it can be called while the task runs. Lines that are not events are skipped.
    #[tracing::instrument(name = "director.events", skip_all, fields(bosh.task.id = task.number()))]
    pub async fn events(&self, call: &Call, task: TaskId, from_byte: u64) -> Result<EventChunk> {
        let range = format!("bytes={from_byte}-")
            .try_into()
            .expect("digits are fit for a header");
        let request = self.output(task, "event").header(RANGE, range);
        let answer = match self.0.send(call, request).await {
            // Nothing is there from that byte on.
            Err(error) if error.status() == Some(StatusCode::RANGE_NOT_SATISFIABLE) => {
                return Ok(EventChunk {
                    events: Vec::new(),
                    next: from_byte,
                });
            }
            answer => answer?,
        };
        let whole = answer.bytes();
        let part = if answer.status() == StatusCode::PARTIAL_CONTENT {
            whole
        } else {
            // All of it came: a proxy may drop the wish for a part.
            let skipped = usize::try_from(from_byte).unwrap_or(usize::MAX);
            whole.get(skipped..).unwrap_or_default()
        };
        Ok(chunk(part, from_byte))
    }
}

fn chunk(bytes: &[u8], from_byte: u64) -> EventChunk {
    let complete = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let lines = bytes[..complete].split(|byte| *byte == b'\n');
    EventChunk {
        // Warnings and noise are no events.
        events: lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect(),
        next: from_byte + complete as u64,
    }
}

fn failure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Failure, D::Error> {
    #[derive(Deserialize)]
    struct Line {
        error: Failure,
    }
    Ok(Line::deserialize(deserializer)?.error)
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Data {
        status: Option<String>,
    }
    Ok(Data::deserialize(deserializer)?.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str = r#"{"time":1,"stage":"Updating instance","tags":["srv"],"total":1,"task":"srv/d9 (0)","index":1,"state":"started","progress":0}"#;
    const FAILED: &str = r#"{"time":1,"stage":"Creating missing vms","tags":[],"total":0,"task":"srv/d9 (0)","index":3,"state":"failed","progress":100,"data":{"error":"no room"}}"#;
    const FAILURE: &str = r#"{"time":2,"error":{"code":100,"message":"no room"}}"#;
    const WARNING: &str = r#"{"time":3,"type":"deprecation","message":"old"}"#;

    #[test]
    fn a_half_written_line_is_left_for_the_next_time() {
        let text = format!("{STARTED}\n{}", &FAILURE[..20]);

        let first = chunk(text.as_bytes(), 7);

        assert_eq!(first.events.len(), 1);
        assert_eq!(first.next, 7 + STARTED.len() as u64 + 1);
        assert_eq!(
            chunk(&FAILURE.as_bytes()[..20], first.next).next,
            first.next
        );
    }

    #[test]
    fn steps_and_failures_are_distinguished_and_warnings_and_noise_are_skipped() {
        let text = format!("{FAILED}\nnoise\n\n{{\"a\":1}}\n{WARNING}\n{FAILURE}\n");

        let chunk = chunk(text.as_bytes(), 0);

        assert_eq!(chunk.next, text.len() as u64);
        let [Event::Step(step), Event::Failure(failure)] = &chunk.events[..] else {
            panic!("{:?}", chunk.events);
        };
        assert_eq!((&step.state, &step.status), (&StepState::Failed, &None));
        assert_eq!((step.index, step.total), (3, 0));
        assert_eq!((failure.code, failure.message.as_str()), (100, "no room"));
    }
}
