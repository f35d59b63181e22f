//! This broker replaces a Go broker with operations in progress, of which only the tokens and the Director's state are
//! known.

use odb_stories::{BrokerConfiguration, Foundation, Order, client_definition, new_id};
use serde_json::json;

use super::{
    PLAIN,
    begun::{Begun, Location, belongings, deletes, errands_of, leave_belongings, with_secret},
    fail, foundation,
    go_broker::{Errands, GoBroker, Reading},
    history_of, hold, is_held,
};

/// Everything that the instance of an operation may have beside its deployment.
fn with_everything(foundation: &Foundation) -> BrokerConfiguration<'_> {
    foundation
        .broker()
        .with_secure_manifests()
        .with_client_definition(client_definition())
        // An errand may still be on its way when a broker is stopped.
        .with_timing("lost_answer_in_seconds", 1)
}

#[tokio::test]
async fn what_a_go_broker_has_begun_is_carried_to_its_end_from_wherever_it_is() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let mut operations = Begun::all();
    let mut creations = Vec::new();
    for operation in &operations {
        leave_belongings(&foundation, &operation.instance).await;
        if operation.kind != "create" {
            let creation = go
                .create(&operation.instance, &with_secret(), Errands::Unset)
                .await;
            creations.push((operation.instance.clone(), creation));
        }
    }
    for (instance, creation) in &creations {
        assert_eq!(go.ends(instance, creation).await, Reading::Succeeded);
    }
    for operation in &mut operations {
        if operation.location == Location::FirstTaskRuns {
            let held = hold(&foundation, &operation.instance).await;
            operation.begin(&go).await;
            is_held(&foundation, held).await;
        } else {
            operation.begin(&go).await;
        }
    }
    for operation in &operations {
        operation.carry(&go, &foundation).await;
    }

    let mut broker = with_everything(&foundation).start().await;
    let platform = broker.platform().clone();
    for restarted in [false, true] {
        for operation in &operations {
            if [Location::FirstTaskRuns, Location::SecondTaskRuns].contains(&operation.location) {
                let poll = platform
                    .last_operation(&operation.instance, &operation.token)
                    .await;
                let state = poll.expect_status(200).json()["state"].clone();
                assert_eq!(state, "in progress", "{}", operation.reported());
            }
        }
        if !restarted {
            broker.kill();
            broker.start_again().await;
        }
    }
    foundation.control().clear_task_faults().await;

    for operation in &operations {
        let reported = operation.reported();
        let instance = &operation.instance;
        let ended = platform.end_of_operation(instance, &operation.token).await;
        assert_eq!(ended.state, "succeeded", "{reported}: {ended:?}");
        assert_eq!(
            history_of(&foundation, instance).await,
            operation.history(),
            "{reported}"
        );
        let there = belongings(&foundation, instance).await;
        if deletes(operation.kind) {
            assert_eq!(there, Vec::<&str>::new(), "{reported}");
        } else {
            assert_eq!(there, ["config", "secret", "client"], "{reported}");
        }
    }
}

/// Failing steps, and the users' messages.
const FAILURES: [(&str, Errands<'_>, Location, &str); 11] = {
    let (unset, after) = (Errands::Unset, Errands::Of(&["health-check"]));
    let before = Errands::Of(&["cleanup-data"]);
    let (first, second) = (Location::FirstTaskRuns, Location::SecondTaskRuns);
    let (created, updated) = ("Instance provisioning failed", "Instance update failed");
    let (upgraded, deleted) = ("Failed for bosh task: ", "Instance deletion failed");
    [
        ("create", unset, first, created),
        ("create", after, second, created),
        ("update", unset, first, updated),
        ("update", after, second, updated),
        ("upgrade", unset, first, upgraded),
        ("upgrade", after, second, upgraded),
        ("recreate", after, first, "Instance recreate failed"),
        ("delete", unset, first, deleted),
        ("delete", before, first, deleted),
        ("delete", before, second, deleted),
        (
            "force-delete",
            before,
            second,
            "Instance forced deletion failed",
        ),
    ]
};

#[tokio::test]
async fn what_has_failed_under_a_go_broker_is_reported_as_it_would_have_reported_it() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let mut all = FAILURES
        .map(|(kind, errands, location, begins)| (Begun::of(kind, errands, location), begins));
    for (begun, _) in &all {
        leave_belongings(&foundation, &begun.instance).await;
        begun.make_instance(&go, PLAIN).await;
    }
    for (begun, _) in &mut all {
        if begun.location == Location::FirstTaskRuns {
            fail(&foundation, &begun.instance).await;
        }
        begun.begin(&go).await;
        if begun.location == Location::SecondTaskRuns {
            begun
                .reads(&go, |reading| *reading != Reading::InProgress)
                .await;
            fail(&foundation, &begun.instance).await;
            go.polls(&begun.instance, &begun.token).await;
        }
        begun
            .reads(&go, |reading| *reading == Reading::Failed)
            .await;
    }
    let broker = with_everything(&foundation).start().await;
    let platform = broker.platform();

    for (begun, begins) in &all {
        let history = history_of(&foundation, &begun.instance).await;
        let ended = platform
            .end_of_operation(&begun.instance, &begun.token)
            .await;
        let reported = begun.reported();
        assert_eq!(ended.state, "failed", "{reported}: {ended:?}");
        let description = ended.last_description();
        assert!(description.starts_with(begins), "{reported}: {description}");
        let afterwards = history_of(&foundation, &begun.instance).await;
        assert_eq!(afterwards, history, "{reported}: nothing more is begun");
        if deletes(begun.kind) {
            let again = platform.deprovision(&begun.instance).await.accepted();
            let ended = platform.end_of_operation(&begun.instance, &again).await;
            assert_eq!(ended.state, "succeeded", "{reported}: {ended:?}");
        }
    }
}

#[tokio::test]
async fn a_forced_deletion_of_a_go_broker_goes_on_after_its_errand_has_failed() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let kind = "force-delete";
    let mut begun = Begun::of(kind, errands_of(kind), Location::FirstTaskEnded);
    begun.make_instance(&go, PLAIN).await;
    fail(&foundation, &begun.instance).await;
    begun.begin(&go).await;
    begun
        .reads(&go, |reading| *reading == Reading::Deletes)
        .await;

    let broker = with_everything(&foundation).start().await;
    broker
        .platform()
        .succeeds(&begun.instance, &begun.token)
        .await;
    let history = history_of(&foundation, &begun.instance).await;
    assert_eq!(
        history,
        [
            "create deployment: done",
            "run errand cleanup-data: error",
            "delete deployment: done"
        ]
    );
}

/// Tokens of release 0.20 name one errand, and have no list.
#[tokio::test]
async fn tokens_from_before_there_were_lists_of_errands_are_carried_on() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let mut operations = Vec::new();
    for (kind, member) in [
        ("create", "PostDeployErrand"),
        ("delete", "PreDeleteErrand"),
    ] {
        let mut begun = Begun::of(kind, errands_of(kind), Location::FirstTaskEnded);
        leave_belongings(&foundation, &begun.instance).await;
        begun.make_instance(&go, PLAIN).await;
        begun.begin(&go).await;
        let mut token: serde_json::Value = serde_json::from_str(&begun.token).unwrap();
        let errand = token["Errands"][0]["Name"].clone();
        token[member] = json!({ "Name": errand });
        token.as_object_mut().unwrap().remove("Errands");
        begun.token = token.to_string();
        begun
            .reads(&go, |reading| *reading != Reading::InProgress)
            .await;
        operations.push(begun);
    }
    let broker = with_everything(&foundation).start().await;

    for begun in operations {
        let platform = broker.platform();
        let ended = platform
            .end_of_operation(&begun.instance, &begun.token)
            .await;
        assert_eq!(ended.state, "succeeded", "{}: {ended:?}", begun.reported());
        let history = history_of(&foundation, &begun.instance).await;
        assert_eq!(history, begun.history(), "{}", begun.reported());
    }
}

#[tokio::test]
async fn an_operation_begun_by_a_go_broker_blocks_others_before_its_first_poll() {
    let foundation = foundation().await;
    let go = GoBroker::on(&foundation);
    let instance = new_id();
    let held = hold(&foundation, &instance).await;
    let token = go
        .create(&instance, PLAIN, Errands::Of(&["health-check"]))
        .await;
    is_held(&foundation, held).await;
    let broker = foundation.broker().start().await;
    let platform = broker.platform();

    for refused in [
        platform.update(&instance, &Order::small()).await,
        platform.deprovision(&instance).await,
    ] {
        assert_eq!(refused.expect_status(422).error(), "ConcurrencyError");
    }
    platform
        .provision(&instance, &Order::small())
        .await
        .expect_status(409);
    let poll = platform.last_operation(&instance, &token).await;
    assert_eq!(poll.expect_status(200).json()["state"], "in progress");
    let deletion = platform.deprovision(&instance).await.accepted();
    foundation.control().clear_task_faults().await;

    platform.succeeds(&instance, &deletion).await;
    let left = foundation.director().deployments().await;
    assert_eq!(left, Vec::<String>::new());
}
