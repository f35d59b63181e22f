//! What an operation takes when nothing happens to it.

use super::{
    operation::{Operation, Verdict},
    promises,
    stage::Stage,
    target::Target,
    task_faults::Place,
};

/// The calls of an operation, and the places that its tasks come to.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) operation: Operation,
    pub(super) targets: Vec<Target>,
    pub(super) places: Vec<Place>,
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
        match operation.verdict(&answer) {
            Verdict::Accepted(token) => {
                let ended = platform.end_of_operation(&subject.instance, &token).await;
                assert_ne!(ended.state, "failed", "{operation}: {ended:?}");
            }
            Verdict::Done => assert!(!operation.is_asynchronous(), "{operation}: {answer:?}"),
            Verdict::Refused => panic!("{operation}: {answer:?}"),
        }
        let targets = Target::among(&stage.calls().await, operation.is_asynchronous());
        assert!(!targets.is_empty(), "{operation} asks nobody");
        let mut places = Vec::new();
        if operation.is_asynchronous() {
            let tasks = stage.director.tasks_of(&deployment).await;
            places = places_of(stage, &tasks[before..]).await;
        }
        promises::give_back(stage, operation, &subject).await;
        promises::expect_nothing_left(stage, &subject.instance).await;
        Self {
            operation,
            targets,
            places,
        }
    }
}

/// The start, and each stage that has steps, once.
async fn places_of(stage: &Stage, tasks: &[serde_json::Value]) -> Vec<Place> {
    let mut places = vec![Place::Start];
    for task in tasks {
        let id = task["id"].as_u64().expect("a task has an id");
        let mut names = stage.director.stages_of(id).await;
        // One that is about a certain VM is called otherwise each time.
        names.retain(|name| !name.contains('/'));
        for name in names {
            let place = Place::Stage(name);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}
