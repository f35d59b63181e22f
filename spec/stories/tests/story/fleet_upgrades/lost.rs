//! Answers get lost, or come from a router without a route to the broker. The broker is a stand-in with configured
//! answers, which makes the time of the loss exact.

use serde_json::{Value, json};

use super::{
    BOTH, UPGRADE, expect_summary,
    go_broker::{GoBroker, foundation},
};

const RUN: &str = "POST /mgmt/v1/runs";
const ENTRY: &str = "GET /mgmt/v1/service_instances/i1";
const TRIGGER: &str = "PATCH /mgmt/service_instances/i1";
const POLL: &str = "GET /v2/service_instances/i1/last_operation";

const RUN_BEGAN: &str = "2026-01-01T12:00:00Z";
const EARLIER: &str = "2026-01-01T11:00:00Z";
const LATER: &str = "2026-01-01T12:00:01Z";

/// The inventory entry of the instance after this last operation.
fn entry(kind: &str, state: &str, began: &str) -> String {
    let request = match began {
        LATER => "f2f2e4d2-8f0f-4f8e-9f54-0e1d5f4b7c10",
        _ => "0e1d5f4b-8f0f-4f8e-9f54-f2f2e4d27c10",
    };
    json!({
        "service_instance_id": "i1", "plan_id": "plan", "space_guid": "space", "deployment": "present",
        "owner": "this_broker",
        "operation": {
            "kind": kind, "state": state, "began": began, "request": request, "description": "no",
            "token": { "BoshTaskID": 7, "OperationType": kind },
        },
    })
    .to_string()
}

/// A broker that records runs.
async fn broker(errand: &str) -> GoBroker {
    let broker = GoBroker::with(&["i1"]).await;
    let run = json!({
        "id": "9d6c1d2e-54b1-4b3c-9f2a-0f6d1c2b3a4d", "kind": kind(errand), "began": RUN_BEGAN, "target": "abc",
    });
    broker.answers(RUN, 201, &run.to_string());
    broker.answers(
        "GET /mgmt/v1/director",
        200,
        r#"{"version":"282.1.0","can_recreate":true}"#,
    );
    broker
}

fn kind(errand: &str) -> &'static str {
    if errand == UPGRADE {
        "upgrade"
    } else {
        "recreate"
    }
}

fn triggers(broker: &GoBroker) -> usize {
    let requests = broker.requests();
    let triggers = requests.iter().filter(|line| line.starts_with(TRIGGER));
    triggers.count()
}

/// The broker performs the requested operation although its answer is cut; a second request gets the answer that the
/// instance is busy.
#[tokio::test]
async fn what_has_begun_although_its_answer_was_lost_is_not_begun_again_when_the_broker_is_busy_with_it()
 {
    let foundation = foundation().await;
    for errand in BOTH {
        let broker = broker(errand).await;
        let before = entry("create", "succeeded", EARLIER);
        let at_it = entry(kind(errand), "in progress", LATER);
        // Looked at before it is asked for, again when the answer was lost, and when the broker is busy.
        broker.answers(ENTRY, 200, &entry(kind(errand), "succeeded", LATER));
        broker.answers_first(ENTRY, &[(200, &before), (200, &before), (200, &at_it)]);
        broker.answers_first(TRIGGER, &[(503, ""), (409, "")]);

        let run = broker.errand(&foundation, errand).run().await;

        let run = run.expect_status(0);
        expect_summary(&run, "successful operations: 1;");
        assert_eq!(triggers(&broker), 2, "{:#?}", broker.requests());
        let polls = broker.requests();
        let polls = polls.iter().filter(|line| line.starts_with(POLL));
        assert_eq!(polls.count(), 1, "it is watched to its end");
    }
}

/// The broker reports that it is busy if it has no time to report the start.
#[tokio::test]
async fn what_has_begun_although_the_broker_said_busy_is_not_begun_again() {
    let foundation = foundation().await;
    for errand in BOTH {
        let broker = broker(errand).await;
        let before = entry("create", "succeeded", EARLIER);
        broker.answers(ENTRY, 200, &entry(kind(errand), "succeeded", LATER));
        broker.answers_first(ENTRY, &[(200, &before), (200, &before)]);
        broker.answers_first(TRIGGER, &[(409, "")]);

        let run = broker.errand(&foundation, errand).run().await;

        let run = run.expect_status(0);
        expect_summary(&run, "successful operations: 1;");
        assert_eq!(triggers(&broker), 1, "{:#?}", broker.requests());
    }
}

#[tokio::test]
async fn what_is_in_the_way_of_an_operation_does_not_count_as_it() {
    let foundation = foundation().await;
    for errand in BOTH {
        for (of_another, began) in [(kind(errand), EARLIER), ("update", LATER)] {
            let broker = broker(errand).await;
            let before = entry("create", "succeeded", EARLIER);
            let in_the_way = entry(of_another, "in progress", began);
            let is_there_from_the_first = began == EARLIER;
            let first = if is_there_from_the_first {
                &in_the_way
            } else {
                &before
            };
            broker.answers(ENTRY, 200, &entry(of_another, "succeeded", began));
            broker.answers_first(ENTRY, &[(200, first), (200, &in_the_way)]);
            broker.answers_first(TRIGGER, &[(409, "")]);

            let run = broker.errand(&foundation, errand).run().await;

            let _ = run.expect_status(0);
            assert_eq!(triggers(&broker), 2, "{:#?}", broker.requests());
        }
    }
}

/// A broker behind a router that has no route to it for a moment, and which cannot record runs.
#[tokio::test]
async fn a_router_that_does_not_know_the_broker_for_a_moment_does_not_make_it_a_go_broker() {
    let foundation = foundation().await;
    let broker = GoBroker::with(&["i1"]).await;
    broker.answers(ENTRY, 200, &entry("create", "succeeded", EARLIER));
    broker.answers_first(
        ENTRY,
        &[(404, "404 Not Found: Requested route does not exist.")],
    );
    // Repeated only where it can be looked up what has become of it.
    broker.answers_first(TRIGGER, &[(503, "")]);

    let run = broker.errand(&foundation, UPGRADE).run().await;

    let run = run.expect_status(0);
    expect_summary(&run, "successful operations: 1;");
}

#[tokio::test]
async fn an_instance_that_is_gone_while_it_is_watched_fails_no_run() {
    let foundation = foundation().await;
    let broker = broker(UPGRADE).await;
    let gone: Value = json!({ "description": "there is no such instance", "code": "ODB-2009" });
    broker.answers(ENTRY, 404, &gone.to_string());
    broker.answers_first(ENTRY, &[(200, &entry("create", "succeeded", EARLIER))]);
    broker.answers(POLL, 410, "{}");

    let run = broker.errand(&foundation, UPGRADE).run().await;

    let run = run.expect_status(0);
    expect_summary(&run, "operation could happen: 1;");
}
