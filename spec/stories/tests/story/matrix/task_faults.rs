//! Faults of a task of the Director.

use std::fmt;

use serde_json::{Value, json};

use super::{
    operation::{Expected, Operation},
    promises,
    stage::Stage,
    table::Row,
};

/// The Director's message for a failed step.
const CAUSE: &str = "no more room on the host";

/// The location at which the first task gets its fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// A worker has taken it, and it has no lock yet.
    Start,
    /// The first step of this stage.
    Stage(String),
}

/// The effect on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failures {
    Fails,
    LosesItsWorker,
}

/// A fault at a location.
#[derive(Clone, Debug)]
pub(super) struct TaskFault {
    pub(super) operation: Operation,
    pub(super) location: Location,
    pub(super) failures: Failures,
}

impl Failures {
    pub(super) const ALL: [Self; 2] = [Self::Fails, Self::LosesItsWorker];

    /// In the words of the sandbox.
    fn effect(self) -> Value {
        match self {
            Self::Fails => json!({ "kind": "fail", "code": 100, "message": CAUSE }),
            Self::LosesItsWorker => json!({ "kind": "kill_worker" }),
        }
    }
}

impl Location {
    fn json(&self) -> Value {
        match self {
            Self::Start => json!({ "place": "start" }),
            Self::Stage(stage) => json!({ "place": "step", "stage": stage }),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start of the task"),
            Self::Stage(stage) => write!(f, "stage \"{stage}\""),
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fails => "fails",
            Self::LosesItsWorker => "loses its worker",
        })
    }
}

impl TaskFault {
    pub(super) async fn run(&self, stage: &mut Stage) -> Row {
        let subject = self.operation.prepare(stage).await;
        let fault = json!({
            "deployment": format!("service-instance_{}", subject.instance),
            "at": self.location.json(),
            "effect": self.failures.effect(),
        });
        stage.control.set_task_fault(&fault).await;
        let platform = stage.broker.platform().clone();

        let answer = platform
            .send(self.operation.request(&platform, &subject))
            .await;
        let Expected::Accepted(token) = self.operation.expected(&answer) else {
            panic!("the task is not begun: {answer:?}");
        };
        let ended = platform.end_of_operation(&subject.instance, &token).await;

        let armed = stage.control.task_faults().await;
        assert!(armed.is_empty(), "no task came there: {armed:?}");
        assert_eq!(ended.state, "failed", "{ended:?}");
        let quoted = format!("broker-request-id: {}", answer.request_id());
        let last = ended.last_description();
        // The description of an upgrade has the task, which the operator's errands print.
        let names_task = last.contains("bosh task: ");
        assert!(last.contains(&quoted) || names_task, "{last}");
        if self.failures == Failures::Fails {
            let reported = stage.broker.log_of_request(&answer.request_id());
            assert!(
                reported.iter().any(|line| line.mentions(CAUSE)),
                "{reported:#?}"
            );
        }
        let mut end = ended.state;
        // An instance whose creation failed can only be deleted.
        if !self.operation.provisions() {
            let repeated = promises::repeat(stage, self.operation, &subject).await;
            end = format!("{end}, repeated: {repeated}");
        }
        promises::expect_once(stage, self.operation, &subject).await;
        promises::give_back(stage, self.operation, &subject).await;
        promises::expect_nothing_left(stage, &subject.instance).await;
        self.row(&answer.status.to_string(), &end, None)
    }

    pub(super) fn row(&self, answer: &str, end: &str, message: Option<String>) -> Row {
        Row {
            operation: self.operation.to_string(),
            call: self.location.to_string(),
            event: self.failures.to_string(),
            answer: answer.to_owned(),
            end: end.to_owned(),
            message,
        }
    }
}
