//! Why a task has failed, in one line for the operator: the task, the Director's words or the errand's, and the last
//! event.

use std::fmt::Write as _;

use odb_clients::director::{ErrandResult, Event, Task, TaskId, TaskState};
use odb_redaction::{Redaction, redact};

use crate::reconciler::narrative::{LatestStep, instance_names::InstanceNames};

/// The longest last line of an errand's output that is reported.
const LONGEST_LINE: usize = 500;

/// How a failed task ended.
#[derive(Clone, Debug)]
pub(crate) struct BadEnd {
    state: TaskState,
    result: Option<String>,
    errands: Vec<FailedErrand>,
}

#[derive(Clone, Debug)]
struct FailedErrand {
    errand: String,
    group: String,
    instance: String,
    exit_code: i64,
    last_line: String,
}

impl BadEnd {
    /// The end of a task, with the results of its errand if it ran one.
    pub(crate) fn of(task: &Task, results: &[ErrandResult]) -> Self {
        let failed = results.iter().filter(|result| !result.succeeded());
        Self {
            state: task.state.clone(),
            result: task.result.clone(),
            errands: failed
                .map(|result| FailedErrand {
                    errand: result.errand.clone(),
                    group: result.group.clone(),
                    instance: result.instance.clone(),
                    exit_code: result.exit_code,
                    last_line: last_line(&result.stderr),
                })
                .collect(),
        }
    }

    /// For example: `task 12: the errand health-check exited with 1 on redis-server/0: no route to host; last event:
    /// Running errand: redis-server/0 - done`. Of the event log nothing may be known.
    pub(crate) fn describe(&self, task: TaskId, events: &[Event]) -> String {
        let mut names = InstanceNames::default();
        let events = names.report_events(events);
        let mut steps = LatestStep::default();
        steps.absorb(&events);
        let mut reported = format!("task {task}");
        if let Some(failure) = steps.failure() {
            let _ = write!(reported, ": {}", redact(failure));
        } else if self.errands.is_empty() {
            let _ = write!(reported, " ended in the state `{}`", self.state);
            match &self.result {
                Some(result) => {
                    let _ = write!(reported, ": {}", redact(&names.replace_in(result)));
                }
                None => reported.push_str(" and does not say why"),
            }
        }
        for (location, failed) in self.errands.iter().enumerate() {
            let instance = names.replace_in(&format!("{}/{}", failed.group, failed.instance));
            let _ = write!(
                reported,
                "{} the errand {} exited with {} on {instance}",
                if location == 0 { ":" } else { ";" },
                failed.errand,
                failed.exit_code
            );
            if !failed.last_line.is_empty() {
                let _ = write!(reported, ": {}", failed.last_line);
            }
        }
        if let Some(event) = steps.text() {
            let _ = write!(reported, "; last event: {}", redact(event));
        }
        reported
    }
}

/// The last line with text, masked. All lines before are read: a secret may span several.
fn last_line(output: &str) -> String {
    let mut redaction = Redaction::default();
    let lines = output.lines().map(|line| redaction.line(line).into_owned());
    let last = lines.filter(|line| !line.trim().is_empty()).last();
    let last = last.unwrap_or_default();
    last.trim().chars().take(LONGEST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use odb_clients::director::{Failure, Step, StepState};

    use super::*;

    const UUID: &str = "d9de9ef9-8587-4d5c-bf92-d2d98c5582db";

    fn task(state: TaskState, result: Option<&str>) -> Task {
        Task {
            id: TaskId::new(12),
            state,
            description: "create deployment".to_owned(),
            started_at: None,
            result: result.map(str::to_owned),
            user: None,
            deployment: None,
            context: None,
        }
    }

    fn step(stage: &str) -> Event {
        Event::Step(Step {
            stage: stage.to_owned(),
            tags: Vec::new(),
            task: format!("redis-server/{UUID} (0)"),
            index: 1,
            total: 1,
            state: StepState::InProgress,
            status: Some("starting jobs".to_owned()),
        })
    }

    fn reported(task: &Task, results: &[ErrandResult], events: &[Event]) -> String {
        BadEnd::of(task, results).describe(task.id, events)
    }

    #[test]
    fn of_a_task_whose_process_was_killed_the_last_event_is_reported() {
        let killed = task(TaskState::Error, None);
        assert_eq!(
            reported(&killed, &[], &[step("Updating instance")]),
            "task 12 ended in the state `error` and does not say why; last event: Updating instance: redis-server/0 - starting jobs"
        );
        assert_eq!(
            reported(&task(TaskState::Timeout, None), &[], &[]),
            "task 12 ended in the state `timeout` and does not say why"
        );
    }

    #[test]
    fn the_directors_words_come_first_and_without_secrets() {
        let failure = Event::Failure(Failure {
            code: 450_001,
            message: format!("'redis-server/{UUID} (0)' refused password=hunter2"),
        });
        let reported = reported(
            &task(TaskState::Error, Some("cut…")),
            &[],
            &[step("Updating instance"), failure],
        );
        assert!(
            reported.starts_with("task 12: 'redis-server/0' refused"),
            "{reported}"
        );
        assert!(!reported.contains("hunter2"), "{reported}");
        assert!(
            reported.contains("; last event: Updating instance"),
            "{reported}"
        );
    }

    #[test]
    fn of_an_errand_exit_code_and_last_line_are_reported() {
        let result = |exit_code, stderr: &str| ErrandResult {
            group: "redis-server".to_owned(),
            instance: UUID.to_owned(),
            errand: "health-check".to_owned(),
            exit_code,
            stdout: "not this".to_owned(),
            stderr: stderr.to_owned(),
        };
        let done = task(TaskState::Done, Some("0 succeeded, 1 errored, 0 canceled"));
        let results = [
            result(0, "fine"),
            result(7, "connecting\npassword: hunter2\nno route to host\n\n"),
        ];
        assert_eq!(
            reported(&done, &results, &[step("Running errand")]),
            "task 12: the errand health-check exited with 7 on redis-server/0: no route to host; last event: Running errand: \
             redis-server/0 - starting jobs"
        );
        let secret = reported(&done, &[result(1, "password: hunter2")], &[]);
        assert!(!secret.contains("hunter2"), "{secret}");
        // No text has its index.
        assert!(secret.contains("on redis-server:"), "{secret}");
    }
}
