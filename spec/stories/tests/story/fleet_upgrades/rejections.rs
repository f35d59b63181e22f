//! The run cannot begin.

use odb_stories::Errand;
use serde_json::{Value, json};

use super::{BOTH, Fleet, UPGRADE};

#[tokio::test]
async fn the_file_is_held_against_what_the_go_errands_want() {
    let fleet = Fleet::of(1).await;
    for (pointer, value, right) in [
        (
            "/broker_api/url",
            json!(""),
            "the brokerUsername, brokerPassword and brokerUrl are required to function",
        ),
        (
            "/broker_api/authentication/basic/password",
            Value::Null,
            "the brokerUsername, brokerPassword and brokerUrl are required to function",
        ),
        (
            "/polling_interval",
            json!(0),
            "the pollingInterval must be greater than zero",
        ),
        (
            "/attempt_interval",
            json!(0),
            "the attemptInterval must be greater than zero",
        ),
        (
            "/attempt_limit",
            json!(-1),
            "the attempt limit must be greater than zero",
        ),
        (
            "/max_in_flight",
            Value::Null,
            "the max in flight must be greater than zero",
        ),
        (
            "/canaries",
            json!(-1),
            "the number of canaries cannot be negative",
        ),
        (
            "/run",
            json!({ "max_failures": "many" }),
            "give a number of instances such as `5`, or a percentage from `0%` to `100%`",
        ),
    ] {
        for errand in BOTH {
            let file = fleet.file().with(pointer, value.clone());
            let run = fleet.run(errand, &file).await.expect_status(1);
            assert!(run.last_text().ends_with(right), "{pointer}: {run:?}");
        }
    }
    assert_eq!(fleet.deployments_of(0).await, 0);
}

#[tokio::test]
async fn the_file_has_to_be_given_and_to_be_there() {
    let fleet = Fleet::of(0).await;
    for errand in BOTH {
        let run = Errand::by_its_name(&fleet.foundation, errand).run().await;
        let run = run.expect_status(1);
        assert_eq!(run.last_text(), "-configPath must be given as argument");
        let run = Errand::new(&fleet.foundation, errand).with(&["--config", "nowhere.yml"]);
        let run = run.run().await.expect_status(1);
        assert_eq!(
            run.last_text(),
            "open nowhere.yml: no such file or directory"
        );
    }
}

#[tokio::test]
async fn without_a_list_nothing_is_touched() {
    let fleet = Fleet::of(1).await;
    let file = fleet.file().with(
        "/broker_api/authentication/basic/password",
        json!("not-the-password"),
    );
    for errand in BOTH {
        let run = fleet.run(errand, &file).await.expect_status(1);
        let wanted = if errand == UPGRADE {
            "error listing service instances: failed to get service instances with status code: 401"
        } else {
            "could not read the version of the BOSH director from the broker: HTTP response status: 401"
        };
        assert!(run.last_text().starts_with(wanted), "{run:?}");
        assert!(!run.stderr.contains("FINISHED PROCESSING"));
        assert!(
            !run.stderr.contains("not-the-password"),
            "no password is printed: {run:?}"
        );
    }
    assert_eq!(fleet.deployments_of(0).await, 0);
}
