//! The broker is killed at every call.

use std::fmt;

use odb_stories::eventually;
use serde_json::json;

use super::{
    operation::{Operation, Subject},
    promises,
    recording::Recording,
    sampling::{Sample, run_all},
    stage::Stage,
    table::Row,
    target::{Part, Target},
};
use crate::TIMEOUT;

/// How many cases a usual run takes.
const USUAL: usize = 16;
/// How many foundations are worked on at a time.
const STAGES: usize = 4;

#[tokio::test]
async fn whenever_the_broker_is_killed_nothing_is_lost_doubled_or_left_behind() {
    let mut stage = Stage::set_up().await;
    let recorded = stage.record_all().await;
    drop(stage);
    let cases = recorded.iter().flat_map(cases).collect();
    let sample = Sample::of(cases, USUAL, |case: &Case| case.row("", None));

    let table = run_all(
        sample,
        STAGES,
        async |stage: &mut Stage, case: Case| {
            let row = case.run(stage).await;
            promises::expect_no_secret_reported(stage).await;
            row
        },
        |case, reason| case.row("", Some(reason)),
    )
    .await;

    table.conclude();
}

/// Both moments of each call, and both things that the platform may do afterwards.
fn cases(recording: &Recording) -> impl Iterator<Item = Case> {
    let operation = recording.operation;
    recording.targets.iter().flat_map(move |target| {
        let moments = [Moment::Before, Moment::After].into_iter();
        let cases =
            moments.flat_map(|moment| [Then::Repeat, Then::Delete].map(|then| (moment, then)));
        cases
            // A reconciler is running once all is submitted: no repetition is needed.
            .filter(|(_, then)| target.part == Part::Request || *then == Then::Delete)
            .map(move |(moment, then)| Case {
                operation,
                target: target.clone(),
                moment,
                then,
            })
    })
}

/// When the broker dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The upstream has not seen the call, and never will.
    Before,
    /// It has done what was asked, and the answer is not there yet.
    After,
}

/// The platform's reaction when nothing had been submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Repeat,
    Delete,
}

#[derive(Clone, Debug)]
struct Case {
    operation: Operation,
    target: Target,
    moment: Moment,
    then: Then,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "killed before",
            Self::After => "killed after",
        })
    }
}

impl Case {
    async fn run(&self, stage: &mut Stage) -> Row {
        let subject = self.operation.prepare(stage).await;
        let deployment = format!("service-instance_{}", subject.instance);
        let tasks = stage.director.tasks_of(&deployment).await.len();

        let was_made = self.kill_in_the_middle(stage, &subject).await;
        stage.broker.start_again().await;

        let submitted = stage.director.tasks_of(&deployment).await.len() > tasks;
        let end = if self.operation.is_asynchronous() && submitted {
            self.expect_completion(stage, &subject.instance).await;
            let warning = if was_made {
                ""
            } else {
                ", the call was not made"
            };
            format!("completed unaided{warning}")
        } else if self.then == Then::Repeat {
            let repeated = promises::repeat(stage, self.operation, &subject).await;
            format!("repeated: {repeated}")
        } else {
            "deleted".to_owned()
        };
        promises::expect_once(stage, self.operation, &subject).await;
        promises::give_back(stage, self.operation, &subject).await;
        promises::expect_nothing_left(stage, &subject.instance).await;
        self.row(&end, None)
    }

    /// Sends the request and kills the broker while the call is held. A reconciler's look may not be made at all, and
    /// then it is killed at the end of the operation.
    async fn kill_in_the_middle(&self, stage: &mut Stage, subject: &Subject) -> bool {
        let moment = match self.moment {
            Moment::Before => "before",
            Moment::After => "after",
        };
        let hold = json!({ "kind": "hold", "moment": moment });
        let hold = self.target.struck_by(&hold, Some(1));
        let hold = stage.control.set_fault(&hold).await.id;
        if self.moment == Moment::Before {
            // When it is not held any more it does not get through.
            let drop = self.target.struck_by(&json!({ "kind": "drop" }), Some(1));
            stage.control.set_fault(&drop).await;
        }
        let request = self.operation.request(stage.broker.platform(), subject);
        let request = tokio::task::spawn_local(request.send());
        let was_made = eventually("the call is made", TIMEOUT, async || {
            let set = stage.control.fault(hold).await;
            if set.holds > 0 {
                return Ok(true);
            }
            if !self.target.is_a_look() || !request.is_finished() {
                return Err(format!("{set:?}"));
            }
            let record = stage.director.record(&subject.instance).await;
            let has_ended = record.is_none_or(|record| !record["outcome"].is_null());
            if has_ended {
                Ok(false)
            } else {
                Err(format!("{set:?}"))
            }
        })
        .await;
        stage.broker.kill();
        // The answer may have been there already.
        let _ = request.await.expect("it is not cancelled");
        stage.control.clear_faults().await;
        was_made
    }

    /// The operation ends without a poll.
    async fn expect_completion(&self, stage: &Stage, instance: &str) {
        if self.operation == Operation::Deprovision {
            return promises::expect_nothing_left(stage, instance).await;
        }
        let director = &stage.director;
        eventually("the operation record has an outcome", TIMEOUT, async || {
            let record = director.record(instance).await;
            match &record {
                Some(record) if record["outcome"]["state"] == "succeeded" => Ok(()),
                record => Err(format!("{record:?}, {:?}", director.history().await)),
            }
        })
        .await;
    }

    fn row(&self, end: &str, message: Option<String>) -> Row {
        Row {
            operation: self.operation.to_string(),
            call: self.target.to_string(),
            event: self.moment.to_string(),
            answer: String::new(),
            end: end.to_owned(),
            message,
        }
    }
}
