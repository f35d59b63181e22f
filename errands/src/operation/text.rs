//! An operation for people.

use std::fmt::Write as _;

use odb_api_types::management::{OperationState, OperationStatus, StageState, StepStatus};

use crate::console::harmless;

/// All that is known of an operation, stage by stage.
pub fn whole(reported: &OperationStatus) -> String {
    let mut text = headline(reported);
    let width = reported
        .stages
        .iter()
        .map(|stage| stage.name.to_string().chars().count())
        .max()
        .unwrap_or_default();
    for stage in &reported.stages {
        let (state, name) = (stage.state.to_string(), stage.name.to_string());
        let mut line = format!("  {state:<8} {name:<width$}");
        if let Some(task) = stage.task {
            let _ = write!(line, "  task {task}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
        for step in &stage.steps {
            let _ = writeln!(text, "             {}", of_steps(step));
        }
        if let Some(error) = &stage.error {
            let _ = writeln!(text, "             error: {error}");
        }
    }
    let _ = writeln!(text, "{}", reported.description);
    harmless(&text)
}

pub(super) fn at_work(reported: &OperationStatus) -> String {
    let mut stages = reported.stages.iter();
    let Some(stage) = stages.find(|stage| stage.state == StageState::Running) else {
        return reported.description.clone();
    };
    let mut line = stage.name.to_string();
    if let Some(task) = stage.task {
        let _ = write!(line, " (task {task})");
    }
    if reported.cancelled {
        line.push_str(", being cancelled");
    }
    if let Some(step) = stage.steps.last() {
        let _ = write!(line, ": {}", of_steps(step));
    }
    line
}

fn headline(reported: &OperationStatus) -> String {
    let kind = reported
        .kind
        .map_or_else(|| "operation".to_owned(), |kind| kind.to_string());
    let state = match reported.state {
        OperationState::InProgress => "in progress",
        OperationState::Succeeded => "succeeded",
        OperationState::Failed => "failed",
    };
    let mut line = format!(
        "{kind} of service instance {}: {state}",
        reported.service_instance_id
    );
    if reported.cancelled {
        line.push_str(", cancelled");
    }
    if let Some(began) = reported.began {
        let _ = write!(line, ", began {}", began.strftime("%Y-%m-%dT%H:%M:%SZ"));
    }
    if let Some(request) = &reported.request {
        let _ = write!(line, ", request {request}");
    }
    line.push('\n');
    line
}

fn of_steps(step: &StepStatus) -> String {
    let StepStatus {
        stage,
        done,
        total,
        current,
    } = step;
    match current {
        Some(current) => format!("{stage} {done}/{total}: {current}"),
        None => format!("{stage} {done}/{total}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reported() -> OperationStatus {
        serde_json::from_value(json!({
            "service_instance_id": "i1",
            "kind": "upgrade",
            "state": "in progress",
            "began": "2026-11-21T17:00:00.123Z",
            "request": "6a7b8c9d-0000-4000-8000-000000000000",
            "description": "Instance upgrade in progress (step 1 of 2, deploying)",
            "stages": [
                { "name": "deploy", "state": "running", "task": 42, "steps": [
                    { "stage": "Preparing deployment", "done": 1, "total": 1 },
                    {
                        "stage": "Updating instance redis-server",
                        "done": 2,
                        "total": 3,
                        "current": "redis-server/2 - starting\u{1b}[31m jobs"
                    }
                ]},
                { "name": "errand health-check", "state": "waiting" },
            ],
        }))
        .unwrap()
    }

    #[test]
    fn an_operator_reads_the_stages_and_their_steps() {
        insta::assert_snapshot!(whole(&reported()), @r"
        upgrade of service instance i1: in progress, began 2026-11-21T17:00:00Z, request 6a7b8c9d-0000-4000-8000-000000000000
          running  deploy               task 42
                     Preparing deployment 1/1
                     Updating instance redis-server 2/3: redis-server/2 - starting\u{1b}[31m jobs
          waiting  errand health-check
        Instance upgrade in progress (step 1 of 2, deploying)
        ");
    }

    #[test]
    fn a_follower_reads_the_progress_in_a_line() {
        let mut reported = reported();
        reported.stages[0].steps[1].current = Some("redis-server/2".to_owned());
        assert_eq!(
            at_work(&reported),
            "deploy (task 42): Updating instance redis-server 2/3: redis-server/2"
        );
        reported.cancelled = true;
        reported.stages[0].steps.clear();
        assert_eq!(at_work(&reported), "deploy (task 42), being cancelled");
        reported.stages[0].state = StageState::Done;
        assert_eq!(at_work(&reported), reported.description);
    }

    #[test]
    fn what_has_failed_says_why() {
        let mut reported = reported();
        reported.state = OperationState::Failed;
        reported.cancelled = true;
        reported.began = None;
        reported.stages.truncate(1);
        reported.stages[0].state = StageState::Failed;
        reported.stages[0].steps.clear();
        reported.stages[0].error = Some("no disk space left".to_owned());
        insta::assert_snapshot!(whole(&reported), @r"
        upgrade of service instance i1: failed, cancelled, request 6a7b8c9d-0000-4000-8000-000000000000
          failed   deploy  task 42
                     error: no disk space left
        Instance upgrade in progress (step 1 of 2, deploying)
        ");
    }
}
