//! The event output of a task: its progress.

use serde::Deserialize;

use super::{Director, TaskId};
use crate::{
    http::{Call, StatusCode},
    service_error::ServiceError,
};

/// A part of a task's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChunk {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The byte from which to continue.
    pub next: u64,
}

/// A line of a task's events (`spec/contracts/director-api.md`, "Event lines").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A step began, progressed or ended.
    Step(Step),
    /// The task failed or was cancelled; the last line.
    Failure(Failure),
    /// Something worth knowing.
    Warning(Warning),
}

/// A step of a task. The steps of one stage run concurrently: stage, tags and index identify a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The stage of the step, such as `Updating instance`.
    pub stage: String,
    /// The subject of the stage, such as the instance group.
    pub tags: Vec<String>,
    /// The subject of the step, such as `redis/UUID (0) (canary)`.
    pub task: String,
    /// The step's number in the stage, from 1.
    pub index: u64,
    /// How many steps the stage has. It can be smaller than an index, and 0.
    pub total: u64,
    /// How far the step is.
    pub state: StepState,
    /// How far the step is, in percent: 0 to 100.
    pub progress: u8,
    /// The status, such as `executing drain`.
    pub status: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// How far a step is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It began.
    Started,
    /// It is in progress.
    InProgress,
    /// It ended well.
    Finished,
    /// It failed.
    Failed,
    /// A state that this client does not know.
    Unknown(String),
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The Director's code; 100 for errors without a code.
    pub code: u64,
    /// The Director's words, in full. For the operator only.
    pub message: String,
}

/// A warning of the Director.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The kind.
    pub kind: WarningKind,
    /// The Director's words.
    pub message: String,
}

/// The kind of a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A warning.
    Warning,
    /// Something that will go away.
    Deprecation,
    /// A sort that this client does not know.
    Unknown(String),
}

impl Director {
    /// The events of a task from a byte offset: 0, then [`EventChunk::next`] of the last chunk. Safe to repeat.
    ///
    /// Only complete lines are read, so it can be called while the task runs. Lines that are not events are skipped.
    #[tracing::instrument(name = "director.events", skip_all, fields(bosh.task.id = %task))]
    pub async fn events(
        &self,
        call: &Call,
        task: TaskId,
        from_byte: u64,
    ) -> Result<EventChunk, ServiceError> {
        let Some(answer) = self.event_output(call, task, from_byte).await? else {
            return Ok(EventChunk {
                events: Vec::new(),
                next: from_byte,
            });
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
        events: lines.filter_map(event).collect(),
        next: from_byte + complete as u64,
    }
}

fn event(line: &[u8]) -> Option<Event> {
    match serde_json::from_slice(line).ok()? {
        WireEvent::Failure { error } => Some(Event::Failure(Failure {
            code: error.code,
            message: error.message,
        })),
        WireEvent::Warning { kind, message } => Some(Event::Warning(Warning {
            kind: match kind.as_str() {
                "warning" => WarningKind::Warning,
                "deprecation" => WarningKind::Deprecation,
                _ => WarningKind::Unknown(kind),
            },
            message,
        })),
        WireEvent::Step(step) => Some(Event::Step(step.into())),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireEvent {
    Failure {
        error: WireError,
    },
    Warning {
        #[serde(rename = "type")]
        kind: String,
        message: String,
    },
    Step(WireStep),
}

#[derive(Deserialize)]
struct WireError {
    code: u64,
    message: String,
}

#[derive(Deserialize)]
struct WireStep {
    stage: String,
    #[serde(default)]
    tags: Vec<String>,
    task: String,
    index: u64,
    #[serde(default)]
    total: u64,
    state: String,
    #[serde(default)]
    progress: f64,
    #[serde(default)]
    data: WireData,
}

#[derive(Default, Deserialize)]
struct WireData {
    status: Option<String>,
    error: Option<String>,
}

impl From<WireStep> for Step {
    fn from(wire: WireStep) -> Self {
        let state = match wire.state.as_str() {
            "started" => StepState::Started,
            "in_progress" => StepState::InProgress,
            "finished" => StepState::Finished,
            "failed" => StepState::Failed,
            _ => StepState::Unknown(wire.state),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "brought into 0 to 100 first"
        )]
        let progress = wire.progress.clamp(0.0, 100.0) as u8;
        Self {
            stage: wire.stage,
            tags: wire.tags,
            task: wire.task,
            index: wire.index,
            total: wire.total,
            state,
            progress,
            status: wire.data.status,
            error: wire.data.error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str = r#"{"time":1,"stage":"Updating instance","tags":["srv"],"total":1,"task":"srv/d9 (0)","index":1,"state":"started","progress":0}"#;
    const FAILED: &str = r#"{"time":1,"stage":"Creating missing vms","tags":[],"total":0,"task":"srv/d9 (0)","index":3,"state":"failed","progress":100,"data":{"error":"no room"}}"#;
    const FAILURE: &str = r#"{"time":2,"error":{"code":100,"message":"no room"}}"#;
    const WARNING_LINE: &str = r#"{"time":3,"type":"deprecation","message":"old"}"#;

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
    fn steps_failures_and_warnings_are_distinguished_and_noise_is_skipped() {
        let text = format!("{FAILED}\nnoise\n\n{{\"a\":1}}\n{WARNING_LINE}\n{FAILURE}\n");

        let chunk = chunk(text.as_bytes(), 0);

        assert_eq!(chunk.next, text.len() as u64);
        let [
            Event::Step(step),
            Event::Warning(warning),
            Event::Failure(failure),
        ] = &chunk.events[..]
        else {
            panic!("{:?}", chunk.events);
        };
        assert_eq!((&step.state, step.progress), (&StepState::Failed, 100));
        assert_eq!((step.index, step.total), (3, 0));
        assert_eq!(step.error.as_deref(), Some("no room"));
        assert_eq!(warning.kind, WarningKind::Deprecation);
        assert_eq!((failure.code, failure.message.as_str()), (100, "no room"));
    }
}
