//! A Go broker from the view of these errands: it has no `/mgmt/v1`, and returns configured answers.

use odb_stories::{Errand, ErrandConfiguration, ErrandRun, Foundation, StandIn};
use serde_json::{Value, json};

use super::{BOTH, RECREATE, UPGRADE, expect_summary, summary};

#[derive(Debug)]
pub(super) struct GoBroker(StandIn);

impl GoBroker {
    pub(super) async fn with(instances: &[&str]) -> Self {
        let broker = Self(StandIn::answering(404, "404 page not found\n").await);
        let row = |id: &&str| json!({ "service_instance_id": id, "plan_id": "plan", "space_guid": "space" });
        let list: Value = instances.iter().map(row).collect();
        broker.answers("GET /mgmt/service_instances", 200, &list.to_string());
        for id in instances {
            let begun = r#"{"BoshTaskID":7,"OperationType":"upgrade","Odd":true}"#;
            broker.triggers(id, 202, begun);
            broker.polled(id, 200, r#"{"state":"succeeded"}"#);
        }
        broker
    }

    pub(super) fn answers(&self, request: &str, status: u16, body: &str) {
        self.0.answers(request, status, body);
    }

    pub(super) fn answers_first(&self, request: &str, answers: &[(u16, &str)]) {
        self.0.answers_first(request, answers);
    }

    fn triggers(&self, id: &str, status: u16, body: &str) {
        self.answers(&format!("PATCH /mgmt/service_instances/{id}"), status, body);
    }

    fn polled(&self, id: &str, status: u16, body: &str) {
        let path = format!("GET /v2/service_instances/{id}/last_operation");
        self.answers(&path, status, body);
    }

    /// The request lines so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.0.request_lines()
    }

    pub(super) fn errand(&self, foundation: &Foundation, errand: &str) -> Errand {
        let file = ErrandConfiguration::of_broker(foundation, self.0.url(), "password")
            .without_cloud_controller()
            .with("/attempt_limit", json!(3));
        Errand::new(foundation, errand).configured(&file)
    }

    async fn run(&self, foundation: &Foundation, errand: &str, more: &[&str]) -> ErrandRun {
        self.errand(foundation, errand).with(more).run().await
    }
}

pub(super) async fn foundation() -> Foundation {
    Foundation::bare().start().await
}

#[tokio::test]
async fn the_errands_work_with_a_go_broker() {
    let foundation = foundation().await;
    let broker = GoBroker::with(&["i1"]).await;
    let run = broker.run(&foundation, UPGRADE, &[]).await.expect_status(0);
    expect_summary(&run, "successful operations: 1;");
    let requests = broker.requests();
    assert!(
        requests.contains(&"PATCH /mgmt/service_instances/i1?operation_type=upgrade".to_owned()),
        "{requests:?}"
    );
    let poll = requests.last().unwrap();
    assert!(poll.contains("Odd"), "unknown members are returned: {poll}");
}

#[tokio::test]
async fn every_answer_of_a_broker_has_its_outcome_and_its_text() {
    let foundation = foundation().await;
    let failed = |id: &str, text: &str| {
        format!("operation type: upgrade failed for service instance {id}: {text}")
    };
    for (status, body, account, text) in [
        (204, "", "skipped operations: 1;", None),
        (410, "", "orphans detected: 1;", None),
        (404, "", "operation could happen: 1;", None),
        (
            409,
            "",
            "which could not be processed: 1 [i1];",
            Some("The following instances could not be processed: i1".to_owned()),
        ),
        (
            500,
            r#"{"description":"no stemcell"}"#,
            "failed to process: 1 [i1]",
            Some(failed(
                "i1",
                "unexpected status code: 500. description: no stemcell",
            )),
        ),
        (
            500,
            "oops",
            "failed to process: 1 [i1]",
            Some(failed(
                "i1",
                "unexpected status code: 500. cannot parse upgrade response: 'oops'",
            )),
        ),
        (
            418,
            "teapot",
            "failed to process: 1 [i1]",
            Some(failed("i1", "unexpected status code: 418. body: teapot")),
        ),
    ] {
        let broker = GoBroker::with(&["i1"]).await;
        broker.triggers("i1", status, body);
        let run = broker.run(&foundation, UPGRADE, &[]).await;
        let run = run.expect_status(i32::from(text.is_some()));
        assert!(summary(&run).contains(account), "{status}: {run:?}");
        if let Some(text) = text {
            assert_eq!(run.last_text(), text, "{status}");
        }
    }
}

#[tokio::test]
async fn every_answer_to_a_poll_has_its_text() {
    let foundation = foundation().await;
    for (status, body, text) in [
        (
            200,
            r#"{"state":"failed","description":"out of disk"}"#,
            "[i1] Operation failed: bosh task id 7: out of disk",
        ),
        (
            200,
            r#"{"state":"strange"}"#,
            "[i1] unknown state from last operation: strange",
        ),
        (
            403,
            "{}",
            "[i1] error getting last operation: HTTP response status: 403 Forbidden",
        ),
    ] {
        let broker = GoBroker::with(&["i1"]).await;
        broker.polled("i1", status, body);
        let run = broker.run(&foundation, UPGRADE, &[]).await.expect_status(1);
        assert!(run.last_text().starts_with(text), "{status}: {run:?}");
    }
}

#[tokio::test]
async fn options_that_a_go_broker_does_not_support_are_rejected_before_any_change() {
    let foundation = foundation().await;
    for flags in [
        &["--continue"][..],
        &["--dry-run"],
        &["--health-gate"],
        &["--plan", "small"],
        &["--exclude", "i1"],
    ] {
        for errand in BOTH {
            let broker = GoBroker::with(&["i1"]).await;
            let run = broker
                .run(&foundation, errand, flags)
                .await
                .expect_status(1);
            let last = run.last_text();
            assert!(last.contains("this broker does not support"), "{last}");
            let requests = broker.requests();
            assert!(
                !requests.iter().any(|line| line.starts_with("PATCH")),
                "{requests:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_recreation_wants_to_know_the_directors_version() {
    let foundation = foundation().await;
    let broker = GoBroker::with(&["i1"]).await;
    let run = broker
        .run(&foundation, RECREATE, &[])
        .await
        .expect_status(1);
    run.expect_said_last("`bosh.url`");

    let director = GoBroker::with(&[]).await;
    for (status, info, wanted) in [
        (
            200,
            r#"{"version":"268.3.0 (00000000)"}"#,
            "Insufficient BOSH director version: \"268.3.0 (00000000)\"",
        ),
        (
            503,
            "",
            "an error occurred while talking to the BOSH director: got HTTP 503",
        ),
        (200, r#"{"version":"268.4.0 (00000000)"}"#, ""),
    ] {
        director.answers("GET /info", status, info);
        let file = ErrandConfiguration::of_broker(&foundation, broker.0.url(), "password")
            .without_cloud_controller()
            .with(
                "/bosh",
                json!({ "url": director.0.url(), "root_ca_cert": null }),
            );
        let run = Errand::new(&foundation, RECREATE)
            .configured(&file)
            .run()
            .await;
        if wanted.is_empty() {
            let _ = run.expect_status(0);
        } else {
            let run = run.expect_status(1);
            assert!(run.last_text().starts_with(wanted), "{run:?}");
        }
    }
}
