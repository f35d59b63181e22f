//! The adapter misbehaves: the user reads what to do, the operator finds the cause, nothing has changed.

use odb_stories::{Broker, Foundation, LogLine, Order, Response, new_id};

#[tokio::test]
async fn an_adapter_that_crashes_is_the_operators_business() {
    expect_cause_for_operator("kill -SEGV $$", "signal: 11").await;
}

#[tokio::test]
async fn an_adapter_that_prints_garbage_is_the_operators_business() {
    let refused = expect_cause_for_operator("echo 'hunter2 {'", "it is not JSON").await;

    // The output of an adapter may contain secrets.
    let log: String = refused.broker.log().iter().map(LogLine::text).collect();
    assert!(!log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn an_adapter_that_prints_nothing_is_the_operators_business() {
    expect_cause_for_operator("exit 0", "it is empty").await;
}

#[tokio::test]
async fn an_adapter_that_prints_100_megabytes_is_stopped() {
    let script = r"head -c 100000000 /dev/zero | tr '\0' x";
    expect_cause_for_operator(script, "printed more than 8 MiB").await;
}

#[tokio::test]
async fn an_adapter_that_fails_without_a_word_is_the_operators_business() {
    let script = "echo 'the template is missing' >&2; exit 1";
    expect_cause_for_operator(script, "the template is missing").await;
}

#[tokio::test]
async fn an_adapter_that_knows_no_manifests_is_the_operators_business() {
    expect_cause_for_operator("exit 10", "generate-manifest").await;
}

#[tokio::test]
async fn a_manifest_for_another_deployment_is_not_deployed() {
    let script = "read_input; as_redis | sed 's/service-instance_/foreign-/g'";
    expect_cause_for_operator(script, "is named `foreign-").await;
}

#[tokio::test]
async fn a_manifest_that_is_no_yaml_is_not_deployed() {
    let script = r#"echo '{"manifest": "name: [", "secrets": {}, "configs": {}}'"#;
    expect_cause_for_operator(script, "manifest cannot be read").await;
}

#[tokio::test]
async fn a_user_reads_exactly_what_the_adapter_says_to_users() {
    let refused =
        refused("echo '  Choose fewer than 100 clients. '; echo internals >&2; exit 1").await;

    refused.answer.expect_status(500);
    assert_eq!(
        refused.answer.description(),
        "Choose fewer than 100 clients."
    );
    let reported = refused.broker.log_of_request(&refused.answer.request_id());
    assert!(
        reported.iter().any(|line| line.mentions("internals")),
        "{reported:#?}"
    );
}

#[tokio::test]
async fn what_an_adapter_prints_does_not_leave_secrets_in_the_log() {
    let password = new_id();
    for script in [
        // Text that looks like a secret in a message for the user.
        format!("printf 'it failed\\nadmin_password: {password}\\n'; exit 1"),
        format!("printf '{{\"client_secret\": \"{password}\"}}'; exit 7"),
        format!("echo 'token={password}' >&2; exit 1"),
        // Text that looks like an answer.
        format!(r#"echo '{{"manifest": {{"a": "{password}"}}}}'"#),
        format!(r#"echo '{{"manifest": "a: [{password}"}}'"#),
        format!(r#"echo '{{"manifest": "name: a"}} {password}'"#),
        format!("echo 'name: {password}'"),
    ] {
        let refused = refused(&script).await;

        refused.answer.expect_status(500);
        let log: String = refused.broker.log().iter().map(LogLine::text).collect();
        assert!(!log.contains(&password), "{script}: {log}");
    }
}

struct Refused {
    broker: Broker,
    answer: Response,
    instance: String,
    // Last, for the broker runs on it.
    _foundation: Foundation,
}

/// An order that an adapter with this script does not survive. Nothing may have come of it.
async fn refused(script: &str) -> Refused {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(script);
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let instance = new_id();

    let answer = broker
        .platform()
        .provision(&instance, &Order::small())
        .await;

    foundation.director().expect_untouched().await;
    Refused {
        broker,
        answer,
        instance,
        _foundation: foundation,
    }
}

/// The user gets the contact and the id to quote; the operator finds `cause` under that id.
async fn expect_cause_for_operator(script: &str, cause: &str) -> Refused {
    let refused = refused(script).await;
    let answer = &refused.answer;
    let request = answer.request_id();

    let quoted = format!(
        "There was a problem completing your request. Please ask your operator for help and quote the following. \
         service: redis, service-instance-guid: {}, broker-request-id: {request}, operation: create",
        refused.instance
    );
    assert_eq!(answer.expect_status(500).description(), quoted);
    let reported = refused.broker.log_of_request(&request);
    assert!(
        reported.iter().any(|line| line.mentions(cause)),
        "{reported:#?}"
    );
    refused
}
