//! Upstreams are checked before the first request is accepted, and all errors are reported at once.

use odb_stories::{BrokerConfiguration, Foundation, Order, new_id};
use serde_json::{Value, json};

use crate::{
    TIMEOUT,
    start_up::{everything, expect_no_secrets},
};

const DIRECTOR_SECRET: &str = "/bosh/authentication/uaa/client_credentials/client_secret";
const CLOUD_CONTROLLER_SECRET: &str = "/cf/uaa/authentication/client_credentials/client_secret";

/// The output of a broker that cannot start.
pub(crate) async fn failing_start(
    foundation: &Foundation,
    configuration: BrokerConfiguration<'_>,
) -> String {
    let file = configuration.write("failing.yml").display().to_string();
    let mut broker = foundation.broker_process(&["serve", "--config", &file]);
    let status = broker.exit(TIMEOUT).await;
    let said = everything(&broker);
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

/// Fails the test unless one line has all of this.
fn expect_reported(said: &str, code: &str, texts: &[&str]) {
    let reports = |line: &str| line.contains(code) && texts.iter().all(|text| line.contains(text));
    assert!(said.lines().any(reports), "{code} {texts:?}:\n{said}");
}

fn codes(said: &str) -> Vec<&str> {
    let mut codes: Vec<_> = said
        .match_indices("ODB-1")
        .filter_map(|(at, _)| said.get(at..at + "ODB-nnnn".len()))
        .collect();
    codes.sort_unstable();
    codes
}

/// Makes the Director report another version.
async fn pretend_director_version(foundation: &Foundation, version: &str) {
    let mut info = foundation.director().info().await;
    info["version"] = version.into();
    let fault = json!({
        "server": "director",
        "requests": { "path": "/info" },
        "effect": {
            "kind": "answer", "status": 200, "headers": { "Content-Type": "application/json" }, "body": info.to_string(),
        },
    });
    foundation.control().set_fault(&fault).await;
}

fn answer(server: &str, path: &str, status: u16, body: &str) -> Value {
    json!({
        "server": server,
        "requests": { "path": path },
        "effect": { "kind": "answer", "status": status, "body": body },
    })
}

#[tokio::test]
async fn one_start_reports_six_errors_of_all_upstreams() {
    let foundation = Foundation::start().await;
    pretend_director_version(&foundation, "260.5.0 (00000000)").await;
    let root = json!({ "links": { "cloud_controller_v3": { "meta": { "version": "3.94.0" } } } });
    let control = foundation.control();
    control
        .set_fault(&answer("cloud-controller", "/", 200, &root.to_string()))
        .await;
    let garbage = foundation.folder().join("broker.pem");
    std::fs::write(&garbage, "this is no certificate").unwrap();

    let said = failing_start(
        &foundation,
        foundation
            .broker()
            .with(DIRECTOR_SECRET, "not-the-secret".into())
            .with(CLOUD_CONTROLLER_SECRET, "not-the-secret".into())
            .with_secure_bindings()
            .with("/credhub/client_secret", "not-the-secret".into())
            .with(
                "/broker/tls/cert_file",
                garbage.display().to_string().into(),
            ),
    )
    .await;

    assert_eq!(
        codes(&said),
        [
            "ODB-1102", "ODB-1104", "ODB-1106", "ODB-1110", "ODB-1111", "ODB-1121"
        ],
        "{said}"
    );
    expect_reported(
        &said,
        "ODB-1102",
        &[
            "Director",
            "`bosh.authentication.uaa.client_credentials`",
            "invalid_client",
        ],
    );
    expect_reported(&said, "ODB-1111", &["260.5.0", "261", "lifecycle errands"]);
    expect_reported(&said, "ODB-1104", &["3.94.0", "3.95", "none", "2.57"]);
    expect_reported(
        &said,
        "ODB-1110",
        &[
            "Cloud Controller",
            "`cf.uaa.authentication.client_credentials`",
            "invalid_client",
        ],
    );
    expect_reported(&said, "ODB-1106", &["broker.pem", "`broker.tls`"]);
    expect_reported(&said, "ODB-1121", &["CredHub", "`credhub.client_secret`"]);
    assert!(!said.contains("not-the-secret"), "{said}");
    expect_no_secrets(&foundation, &said);
}

#[tokio::test]
async fn a_plan_in_use_may_not_go_unless_checks_are_skipped_and_quotas_count_anyway() {
    let (foundation, mut broker) = Foundation::setup().start_with_broker().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    cf.run(&["create-service", "redis", "small", "cache", "--wait"])
        .await
        .succeeded();
    broker.stop().await;

    let said = failing_start(&foundation, foundation.broker().without_plan("small")).await;
    assert_eq!(codes(&said), ["ODB-1105"], "{said}");
    expect_reported(
        &said,
        "ODB-1105",
        &["`small`", "1 service instances", "put it back"],
    );

    let without_plan = foundation
        .broker()
        .without_plan("small")
        .with("/broker/disable_cf_startup_checks", true.into());
    let mut broker = without_plan.start().await;
    broker.platform().catalog().await.expect_status(200);
    broker.stop().await;

    let with_limit = foundation
        .broker()
        .with_plan_limit(1)
        .with("/broker/disable_cf_startup_checks", true.into());
    let broker = with_limit.start().await;
    let refused = broker
        .platform()
        .provision(&new_id(), &Order::small())
        .await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[tokio::test]
async fn with_checks_skipped_a_cloud_controller_may_come_later_than_the_broker() {
    let foundation = Foundation::start().await;
    let control = foundation.control();
    control
        .set_fault(&answer("cloud-controller", "/**", 500, "not yet"))
        .await;
    let checked = foundation.broker().with_plan_limit(1);
    let said = failing_start(&foundation, checked.clone()).await;
    assert_eq!(codes(&said), ["ODB-1103"], "{said}");

    let unchecked = checked.with("/broker/disable_cf_startup_checks", true.into());
    let broker = unchecked.start().await;
    let (platform, order) = (broker.platform(), Order::small());
    let early = platform.provision(&new_id(), &order).await;
    assert!(
        early.status >= 500,
        "without a count no order is accepted: {early:?}"
    );
    control.clear_faults().await;

    platform.provision(&new_id(), &order).await.accepted();
    let second = platform.provision(&new_id(), &order).await;
    assert_eq!(second.status, 403, "{second:?}");
}

#[tokio::test]
async fn the_right_to_configs_is_tried_without_a_trace() {
    let foundation = Foundation::start().await;

    let broker = foundation.broker().start().await;

    foundation.director().expect_untouched().await;
    assert!(!broker.log().iter().any(|line| line.mentions("ODB-1112")));
    let calls = foundation.control().broker_calls(0).await;
    let tried = calls
        .iter()
        .find(|call| call.path == "/configs" && call.method == "POST");
    assert_eq!(tried.and_then(|call| call.status), Some(412), "{calls:#?}");
}

#[tokio::test]
async fn without_the_right_to_configs_the_log_says_what_shrinks_and_orders_work() {
    let foundation = Foundation::start().await;
    let rejection =
        json!({ "code": 600_000, "description": "Require one of the scopes: bosh.admin" });
    let control = foundation.control();
    control
        .set_fault(&answer("director", "/configs", 401, &rejection.to_string()))
        .await;

    let broker = foundation.broker().start().await;

    let log = broker.log();
    let reported: Vec<_> = log
        .iter()
        .filter(|line| line.mentions("ODB-1112"))
        .collect();
    assert_eq!(reported.len(), 1, "{reported:#?}");
    assert!(
        reported[0].mentions("no operation is recorded"),
        "{reported:#?}"
    );
    assert!(
        reported[0].mentions("bosh.teams.TEAM.admin"),
        "{reported:#?}"
    );
    let (instance, order) = (new_id(), Order::small());
    broker
        .platform()
        .provision_to_the_end(&instance, &order)
        .await;
    broker.platform().delete_to_the_end(&instance).await;
    control.clear_faults().await;
    assert_eq!(foundation.director().configs().await, Vec::<Value>::new());
    assert!(foundation.director().deployments().await.is_empty());
}

#[tokio::test]
async fn a_client_that_may_only_read_is_warned_of_and_the_broker_starts() {
    const SECRET: &str = "the-readers-secret";
    let reader = json!([{ "id": "reader", "secret": SECRET, "authorities": ["bosh.read"] }]);
    let foundation = Foundation::setup()
        .with_clients(reader, json!([]))
        .start()
        .await;
    let client = json!({ "uaa": { "client_credentials": { "client_id": "reader", "client_secret": SECRET } } });
    let configuration = foundation.broker().with("/bosh/authentication", client);

    let broker = configuration.start().await;

    broker.platform().catalog().await.expect_status(200);
    let log = broker.log();
    let warnings = log.iter().filter(|line| line.mentions("ODB-1124"));
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{log:#?}");
    for text in ["client `reader` may only read", "bosh.teams.TEAM.admin"] {
        assert!(warnings[0].mentions(text), "{warnings:#?}");
    }
}
