//! The calls and tasks of an operation without faults.

use super::{
    operation::{Expected, Operation},
    promises,
    stage::Stage,
    target::Target,
    task_faults::Location,
};

/// The calls of an operation, and the places that its tasks come to.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) operation: Operation,
    pub(super) targets: Vec<Target>,
    pub(super) locations: Vec<Location>,
}

impl Recording {
    /// Carries an operation out.
    pub(super) async fn of(operation: Operation, stage: &mut Stage) -> Self {
        let subject = operation.prepare(stage).await;
        let deployment = format!("service-instance_{}", subject.instance);
        let before = stage.director.tasks_of(&deployment).await.len();
        stage.calls().await;
        let platform = stage.broker.platform().clone();
        let answer = platform.send(operation.request(&platform, &subject)).await;
        match operation.expected(&answer) {
            Expected::Accepted(token) => {
                let ended = platform.end_of_operation(&subject.instance, &token).await;
                assert_ne!(ended.state, "failed", "{operation}: {ended:?}");
            }
            Expected::Done => assert!(!operation.is_asynchronous(), "{operation}: {answer:?}"),
            Expected::Refused => panic!("{operation}: {answer:?}"),
        }
        let targets = Target::among(&stage.calls().await, operation.is_asynchronous());
        assert!(!targets.is_empty(), "{operation} sends no request");
        let mut locations = Vec::new();
        if operation.is_asynchronous() {
            let tasks = stage.director.tasks_of(&deployment).await;
            locations = locations_of(stage, &tasks[before..]).await;
        }
        promises::give_back(stage, operation, &subject).await;
        promises::expect_nothing_left(stage, &subject.instance).await;
        Self {
            operation,
            targets,
            locations,
        }
    }
}

/// The start, and each stage that has steps, once.
async fn locations_of(stage: &Stage, tasks: &[serde_json::Value]) -> Vec<Location> {
    let mut locations = vec![Location::Start];
    for task in tasks {
        let id = task["id"].as_u64().expect("a task has an id");
        let mut names = stage.director.stages_of(id).await;
        // One that is about a certain VM is called otherwise each time.
        names.retain(|name| !name.contains('/'));
        for name in names {
            let location = Location::Stage(name);
            if !locations.contains(&location) {
                locations.push(location);
            }
        }
    }
    locations
}
