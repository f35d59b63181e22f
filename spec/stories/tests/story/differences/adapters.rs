//! The output of adapters.

use std::fs;

use odb_stories::{Foundation, LogLine, Order, new_id};
use serde_json::json;

use super::exposing;
use crate::history_of_an_order;

/// 31: with `expose_operational_errors` users read whatever a broken adapter had printed.
#[tokio::test]
async fn a_garbled_answer_of_an_adapter_is_never_shown() {
    let foundation = Foundation::start().await;
    let adapter = foundation
        .adapters()
        .script("echo 'hunter2 {'; echo 'password: hunter2' >&2");
    let broker = exposing(&foundation).with_adapter(&adapter).start().await;

    let refused = broker
        .platform()
        .provision(&new_id(), &Order::small())
        .await;

    let reported = refused.expect_status(500).description();
    assert!(
        reported.contains("it is not JSON"),
        "the cause is reported: {reported}"
    );
    assert!(!reported.contains("hunter2"), "{reported}");
    let log = broker.log();
    let mentioned = log.iter().find(|line| line.mentions("hunter2"));
    assert!(mentioned.is_none(), "{mentioned:?}");
}

/// A failing adapter's stderr is for operators only, even if users see causes.
#[tokio::test]
async fn the_stderr_of_a_failing_adapter_is_never_shown_to_users() {
    let foundation = Foundation::start().await;
    let adapter = foundation
        .adapters()
        .script("echo 'no secret for db.internal' >&2; exit 1");
    let broker = exposing(&foundation).with_adapter(&adapter).start().await;

    let refused = broker
        .platform()
        .provision(&new_id(), &Order::small())
        .await;

    let reported = refused.expect_status(500).description();
    assert!(reported.contains("with exit status: 1"), "{reported}");
    assert!(!reported.contains("db.internal"), "{reported}");
    let log = broker.log_of_request(&refused.request_id());
    let is_cause = |line: &LogLine| line.mentions("ODB-3003") && line.mentions("db.internal");
    assert!(log.iter().any(is_cause), "{log:#?}");
}

/// 31: what an adapter says to users was passed on at any length.
#[tokio::test]
async fn a_talkative_adapter_is_cut_short() {
    let foundation = Foundation::start().await;
    let adapter = foundation
        .adapters()
        .script("echo 'Choose another name.'; head -c 200000 /dev/zero | tr '\\0' x; exit 1");
    let broker = foundation.broker().with_adapter(&adapter).start().await;

    let refused = broker
        .platform()
        .provision(&new_id(), &Order::small())
        .await;

    let reported = refused.expect_status(500).description();
    assert!(reported.starts_with("Choose another name."), "{reported}");
    assert!(reported.len() < 4096, "{} bytes", reported.len());
}

/// Users click on one and read the other.
#[tokio::test]
async fn what_an_adapter_shows_to_users_is_an_address_and_one_line() {
    let foundation = Foundation::start().await;
    let adapter = foundation.adapters().script(
        r#"read_input
case $call in
  dashboard-url) echo '{"dashboard_url":"javascript:alert(1)"}';;
  create-binding) printf 'Choose\n\033[31manother  name.\a'; exit 1;;
  *) as_redis;;
esac"#,
    );
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let (platform, instance) = (broker.platform(), new_id());

    let ordered = platform.provision(&instance, &Order::small()).await;
    assert_eq!(ordered.json()["dashboard_url"], serde_json::Value::Null);
    let token = ordered.accepted();
    platform.succeeds(&instance, &token).await;
    let log = broker.log();
    assert!(log.iter().any(|line| line.mentions("dashboard_url")));
    assert!(!log.iter().any(|line| line.mentions("alert(1)")));

    let refused = platform.bind(&instance, &new_id()).await;
    assert_eq!(
        refused.expect_status(500).description(),
        "Choose [31manother name."
    );
}

/// 13: a dashboard was asked for when the deployment was under way, and its failure reported as that of the order.
#[tokio::test]
async fn an_order_or_a_change_whose_dashboard_fails_changes_nothing() {
    let foundation = Foundation::start().await;
    let director = foundation.director();
    let adapter = foundation.adapters().script(
        r"read_input
if [[ $call == dashboard-url && ! -e $folder/dashboards ]]; then exit 1; fi
as_redis",
    );
    let dashboards = foundation.folder().join("dashboards");
    let broker = foundation.broker().with_adapter(&adapter).start().await;
    let (platform, instance) = (broker.platform(), new_id());
    let change = Order::small().with_parameters(json!({ "maxclients": 100 }));

    let ordered = platform.provision(&instance, &Order::small()).await;
    ordered.expect_status(500);
    director.expect_untouched().await;

    fs::write(&dashboards, "").unwrap();
    platform.create(&instance).await;
    fs::remove_file(&dashboards).unwrap();
    let before = director.configs().await;
    let changed = platform.update(&instance, &change).await;
    changed.expect_status(500);
    assert_eq!(director.history().await, history_of_an_order(&instance));
    assert_eq!(director.configs().await, before);
}
