//! The event log of a task (`spec/contracts/director-api.md`, "Event lines").

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use super::{
    OutputType, TaskFailure, Tasks,
    faults::{Arrival, TaskFaults, Traveller},
};

/// Writes the event log of one task. Its steps are where injected faults can take effect.
#[derive(Clone)]
pub(in crate::director) struct EventLog {
    tasks: Arc<Tasks>,
    faults: Arc<TaskFaults>,
    task: Traveller,
}

/// A group of steps, such as the instances of a group being updated.
#[derive(Clone)]
pub(in crate::director) struct Stage {
    log: EventLog,
    name: String,
    tags: Vec<String>,
    total: usize,
}

/// One step of a stage, which has been started.
pub(in crate::director) struct Step {
    stage: Stage,
    task: String,
    index: usize,
}

#[derive(Serialize)]
struct StepLine<'a> {
    time: i64,
    stage: &'a str,
    tags: &'a [String],
    total: usize,
    task: &'a str,
    index: usize,
    state: StepState,
    progress: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<StepData<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum StepState {
    Started,
    InProgress,
    Finished,
    Failed,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum StepData<'a> {
    Status(&'a str),
    Error(&'a str),
}

#[derive(Serialize)]
struct WarningLine<'a> {
    time: i64,
    #[serde(rename = "type")]
    kind: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct ErrorLine {
    time: i64,
    error: ErrorBody,
}

#[derive(Serialize)]
struct ErrorBody {
    code: u32,
    message: String,
}

impl EventLog {
    pub(in crate::director) fn new(
        tasks: Arc<Tasks>,
        faults: Arc<TaskFaults>,
        task: Traveller,
    ) -> Self {
        Self {
            tasks,
            faults,
            task,
        }
    }

    /// A place of the task that is no step: what is armed for it happens.
    pub(in crate::director) async fn pass(&self, location: Arrival<'_>) -> Result<(), TaskFailure> {
        self.faults.meet(&self.task, location).await
    }

    /// A stage without tags.
    pub(in crate::director) fn stage(&self, name: impl Into<String>, total: usize) -> Stage {
        self.tagged_stage(name, None, total)
    }

    pub(in crate::director) fn tagged_stage(
        &self,
        name: impl Into<String>,
        tag: Option<&str>,
        total: usize,
    ) -> Stage {
        Stage {
            log: self.clone(),
            name: name.into(),
            tags: tag.map(str::to_owned).into_iter().collect(),
            total,
        }
    }

    /// The last line of a task that failed or was cancelled.
    pub(in crate::director) fn failure(&self, failure: &TaskFailure) {
        self.write(&ErrorLine {
            time: now(),
            error: ErrorBody {
                code: failure.code(),
                message: failure.to_string(),
            },
        });
    }

    /// A warning without effect.
    pub(in crate::director) fn warning(&self, message: &str) {
        self.write(&WarningLine {
            time: now(),
            kind: "warning",
            message,
        });
    }

    fn write(&self, line: &impl Serialize) {
        let line = serde_json::to_string(line).expect("lines are texts and numbers");
        self.tasks
            .write_line(self.task.task, OutputType::Event, &line);
    }
}

impl Stage {
    /// Starts a step. Indexes count from one. It may be held up here, or fail before anything is done.
    pub(in crate::director) async fn begin(
        &self,
        task: impl Into<String>,
        index: usize,
    ) -> Result<Step, TaskFailure> {
        let step = self.start(task, index);
        match step.pass(None).await {
            Ok(()) => Ok(step),
            Err(failure) => step.end(Err(failure)),
        }
    }

    /// Starts a step without injected faults.
    pub(in crate::director) fn start(&self, task: impl Into<String>, index: usize) -> Step {
        let step = Step {
            stage: self.clone(),
            task: task.into(),
            index,
        };
        step.write(StepState::Started, 0, None);
        step
    }
}

impl Step {
    /// Says how far the step is, in percent, and what is being done. It may be held up here, or fail.
    pub(in crate::director) async fn reach(
        &self,
        percent: u8,
        status: &str,
    ) -> Result<(), TaskFailure> {
        self.progress(percent, status);
        self.pass(Some(status)).await
    }

    /// Says how far the step is, in percent, and what is being done.
    pub(in crate::director) fn progress(&self, percent: u8, status: &str) {
        self.write(
            StepState::InProgress,
            percent,
            Some(StepData::Status(status)),
        );
    }

    /// Ends the step as its outcome says, and passes the outcome on.
    pub(in crate::director) fn end<T>(
        self,
        outcome: Result<T, TaskFailure>,
    ) -> Result<T, TaskFailure> {
        match &outcome {
            Ok(_) => self.write(StepState::Finished, 100, None),
            Err(failure) => {
                let error = failure.to_string();
                self.write(StepState::Failed, 100, Some(StepData::Error(&error)));
            }
        }
        outcome
    }

    async fn pass(&self, status: Option<&str>) -> Result<(), TaskFailure> {
        let location = Arrival::Step {
            stage: &self.stage.name,
            task: &self.task,
            status,
        };
        self.stage.log.pass(location).await
    }

    fn write(&self, state: StepState, progress: u8, data: Option<StepData<'_>>) {
        self.stage.log.write(&StepLine {
            time: now(),
            stage: &self.stage.name,
            tags: &self.stage.tags,
            total: self.stage.total,
            task: &self.task,
            index: self.index,
            state,
            progress,
            data,
        });
    }
}

fn now() -> i64 {
    Timestamp::now().as_second()
}
