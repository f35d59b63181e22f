//! Every fault at every call, and at every step of the Director's tasks.

use super::{
    call_faults::{CallFault, Fault},
    promises,
    recording::Recording,
    sampling::{Sample, run_all},
    stage::Stage,
    table::Row,
    task_faults::{Failures, TaskFault},
};

/// How many cases a usual run takes.
const USUAL: usize = 54;
/// How many foundations are worked on at a time.
const STAGES: usize = 5;

#[tokio::test]
async fn whatever_an_upstream_does_nothing_is_lost_doubled_or_left_behind() {
    let mut stage = Stage::set_up().await;
    let recorded = stage.record_all().await;
    drop(stage);
    let cases = recorded.iter().flat_map(cases).collect();
    let sample = Sample::of(cases, USUAL, |case| row(case, None));

    let table = run_all(
        sample,
        STAGES,
        async |stage: &mut Stage, case: Case| {
            let row = match case {
                Case::Call(case) => case.run(stage).await,
                Case::Task(case) => case.run(stage).await,
            };
            promises::expect_no_secret_reported(stage).await;
            row
        },
        |case, reason| row(case, Some(reason)),
    )
    .await;

    table.conclude();
}

#[derive(Clone, Debug)]
enum Case {
    Call(CallFault),
    Task(TaskFault),
}

fn row(case: &Case, message: Option<String>) -> Row {
    match case {
        Case::Call(case) => case.row("", "", message),
        Case::Task(case) => case.row("", "", message),
    }
}

/// Each fault of a server at each call, and each fault of a task at each location.
fn cases(recording: &Recording) -> impl Iterator<Item = Case> {
    let operation = recording.operation;
    let calls = recording.targets.iter().flat_map(move |target| {
        Fault::ALL.map(|fault| {
            Case::Call(CallFault {
                operation,
                target: target.clone(),
                fault,
            })
        })
    });
    let tasks = recording.locations.iter().flat_map(move |location| {
        Failures::ALL.map(|failures| {
            Case::Task(TaskFault {
                operation,
                location: location.clone(),
                failures,
            })
        })
    });
    calls.chain(tasks)
}
