//! The checks at the end, for every case.

use std::collections::BTreeMap;

use odb_stories::{BrokerCall, LogLine, ProcessTable, Response, eventually};

use super::{
    operation::{Expected, Operation, Subject},
    stage::Stage,
};
use crate::TIMEOUT;

/// Deletes everything that an operation was about, as a platform does that retries, even if the binding does not exist.
pub(super) async fn give_back(stage: &Stage, operation: Operation, subject: &Subject) {
    let platform = stage.broker.platform();
    if operation.binds() {
        let unbound = platform.unbind(&subject.instance, &subject.binding).await;
        assert!([200, 410].contains(&unbound.status), "{unbound:?}");
    }
    let instance = &subject.instance;
    eventually("the instance is deleted", TIMEOUT, async || {
        let answer = platform.deprovision(instance).await;
        match Operation::Deprovision.expected(&answer) {
            Expected::Accepted(token) => {
                let ended = platform.end_of_operation(instance, &token).await;
                if ended.state == "failed" {
                    return Err(format!("{ended:?}"));
                }
                Ok(())
            }
            Expected::Done => Ok(()),
            Expected::Refused if is_busy(&answer) => Err(format!("{answer:?}")),
            Expected::Refused => panic!("the delete is refused: {answer:?}"),
        }
    })
    .await;
}

/// Repeats the request until it has a final result. Returns the outcome of the operation.
pub(super) async fn repeat(stage: &Stage, operation: Operation, subject: &Subject) -> String {
    let platform = stage.broker.platform();
    eventually("the repeat is answered well", TIMEOUT, async || {
        let answer = platform.send(operation.request(platform, subject)).await;
        match operation.expected(&answer) {
            Expected::Accepted(token) => {
                let ended = platform.end_of_operation(&subject.instance, &token).await;
                assert_ne!(ended.state, "failed", "the repeat has failed: {ended:?}");
                Ok(ended.state)
            }
            Expected::Done => Ok(answer.status.to_string()),
            // The word for busy on the management API.
            Expected::Refused if operation == Operation::Recreate && answer.status == 409 => {
                Err(format!("{answer:?}"))
            }
            Expected::Refused if is_busy(&answer) => Err(format!("{answer:?}")),
            Expected::Refused => panic!("the repeat is refused: {answer:?}"),
        }
    })
    .await
}

/// Something of the instance is still in progress, or the machine was too busy for the few seconds of a request here.
/// Platforms repeat such a request.
fn is_busy(answer: &Response) -> bool {
    answer.status == 429 || answer.status == 422 && answer.error() == "ConcurrencyError"
}

/// No order was deployed twice, and no step of an operation was begun twice.
pub(super) async fn expect_once(stage: &Stage, operation: Operation, subject: &Subject) {
    let deployment = format!("service-instance_{}", subject.instance);
    let tasks = stage.director.tasks_of(&deployment).await;
    let mut begun: BTreeMap<(String, String), usize> = BTreeMap::new();
    for task in &tasks {
        let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
        // It waited for the lock until its timeout, and did nothing.
        if text("result").starts_with("Failed to acquire lock") {
            continue;
        }
        *begun
            .entry((text("context_id"), text("description")))
            .or_default() += 1;
    }
    for ((context, description), times) in &begun {
        assert_eq!(
            *times, 1,
            "`{description}` of the operation `{context}` was begun {times} times: {tasks:#?}"
        );
    }
    let deployed = begun
        .keys()
        .filter(|(_, description)| description == "create deployment")
        .count();
    assert!(
        deployed <= operation.deployments(),
        "the instance was deployed {deployed} times: {tasks:#?}"
    );
}

/// No deployment, config, operation record, credential or UAA client of a deleted instance is there any more.
pub(super) async fn expect_nothing_left(stage: &Stage, instance: &str) {
    let director = &stage.director;
    eventually("nothing is left", TIMEOUT, async || {
        let mut left = director.deployments().await;
        left.extend(director.configs().await.iter().map(ToString::to_string));
        left.extend(stage.clients.ids().await);
        left.retain(|text| text.contains(instance));
        left.extend(stage.runtime_credhub.names_like(instance).await);
        // The Director's own variables stay behind: the broker's client may only read them.
        let mut secrets = stage.bosh_credhub.names_like(instance).await;
        secrets.retain(|name| name.starts_with("/odb/"));
        left.extend(secrets);
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:#?}"))
        }
    })
    .await;
}

/// The operator finds under the request's id which call has failed: one of these.
pub(super) fn expect_named(stage: &Stage, answer: &Response, calls: &[&BrokerCall]) {
    let lines = stage.broker.log_of_request(&answer.request_id());
    let is_named = |call: &&BrokerCall| {
        let name = format!("{} {}", call.method, call.path);
        lines.iter().any(|line| {
            let in_words = line.mentions(&name);
            let in_fields = line.field("method") == Some(call.method.as_str())
                && line.field("path") == Some(call.path.as_str());
            line.is_warning_or_worse() && (in_words || in_fields)
        })
    };
    let named = calls.iter().any(is_named);
    let lines: Vec<String> = lines.iter().map(LogLine::text).collect();
    assert!(named, "no line names one of {calls:#?}: {lines:#?}");
}

/// No secret is readable: not in the log, the errors, the metrics, nor on a command line.
pub(super) async fn expect_no_secret_reported(stage: &Stage) {
    let secrets = stage.secrets().await;
    let broker = &stage.broker;
    let log: Vec<String> = broker.log().iter().map(LogLine::text).collect();
    secrets.expect_none_in("the log", &log.join("\n"));
    secrets.expect_none_in("an error", &broker.platform().rejections());
    secrets.expect_none_in("a metric", &broker.metrics().await.text);
    for process in ProcessTable::look().family_of(broker.id()) {
        secrets.expect_none_in("a command line", &process.command_line);
    }
}
