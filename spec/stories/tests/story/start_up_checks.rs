//! Upstreams are checked before the first request is accepted, and all errors are reported at once.

use std::path::Path;

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
async fn one_start_reports_five_errors_of_all_upstreams() {
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
            .with(
                "/broker/tls/cert_file",
                garbage.display().to_string().into(),
            ),
    )
    .await;

    assert_eq!(
        codes(&said),
        ["ODB-1102", "ODB-1104", "ODB-1106", "ODB-1110", "ODB-1111"],
        "{said}"
    );
    expect_reported(
        &said,
        "ODB-1102",
        &["Director", "`bosh.authentication`", "invalid_client"],
    );
    expect_reported(&said, "ODB-1111", &["260.5.0", "261", "lifecycle errands"]);
    expect_reported(&said, "ODB-1104", &["3.94.0", "3.95", "none", "2.57"]);
    expect_reported(
        &said,
        "ODB-1110",
        &["`cf.uaa.authentication`", "invalid_client"],
    );
    expect_reported(&said, "ODB-1106", &["broker.pem", "`broker.tls`"]);
    assert!(!said.contains("not-the-secret"), "{said}");
    expect_no_secrets(&foundation, &said);
}

#[tokio::test]
async fn every_upstream_that_cannot_be_reached_is_reported_at_once() {
    let foundation = Foundation::start().await;
    let no_user = "https://127.0.0.1:9";

    let said = failing_start(
        &foundation,
        foundation
            .broker()
            .with("/bosh/url", no_user.into())
            .with("/cf/url", no_user.into())
            .with("/cf/uaa/url", "https://127.0.0.1:10".into())
            .with_secure_bindings()
            .with("/credhub/api_url", "https://127.0.0.1:11".into()),
    )
    .await;

    assert_eq!(
        codes(&said),
        ["ODB-1101", "ODB-1103", "ODB-1103", "ODB-1120"],
        "{said}"
    );
    expect_reported(
        &said,
        "ODB-1120",
        &["https://127.0.0.1:11", "`credhub.api_url`"],
    );
    expect_reported(&said, "ODB-1101", &[no_user, "`bosh.url`"]);
    expect_reported(&said, "ODB-1103", &[no_user, "`cf.url`"]);
    expect_reported(&said, "ODB-1103", &["https://127.0.0.1:10", "`cf.uaa.url`"]);
    expect_no_secrets(&foundation, &said);
}

#[tokio::test]
async fn rejected_credentials_prevent_the_start() {
    let foundation = Foundation::start().await;
    for (pointer, code) in [
        (DIRECTOR_SECRET, "ODB-1102"),
        (CLOUD_CONTROLLER_SECRET, "ODB-1110"),
        ("/credhub/client_secret", "ODB-1121"),
    ] {
        let wrong = foundation
            .broker()
            .with_secure_bindings()
            .with(pointer, "not-the-secret".into());

        let said = failing_start(&foundation, wrong).await;

        assert_eq!(codes(&said), [code], "{said}");
        assert!(!said.contains("not-the-secret"), "{said}");
    }
}

#[tokio::test]
async fn how_new_the_director_has_to_be_is_a_matter_of_the_configuration() {
    let errand = json!({ "name": "health-check" });
    let colocated = json!({ "name": "health-check", "instances": ["redis-server/0"] });
    for (version, errands, fault) in [
        ("256.0.0 (00000000)", json!({}), Some("257")),
        ("1.3261.4.0 (00000000)", json!({}), Some("257")),
        ("nonsense", json!({}), Some("nonsense")),
        ("1.3262.4.0 (00000000)", json!({}), None),
        ("260.5.0 (00000000)", json!({}), None),
        (
            "260.5.0 (00000000)",
            json!({ "pre_delete": [errand] }),
            Some("261"),
        ),
        ("262.3 (00000000)", json!({ "post_deploy": [errand] }), None),
        (
            "262.3 (00000000)",
            json!({ "post_deploy": [colocated] }),
            Some("263"),
        ),
        (
            "263.0.0 (00000000)",
            json!({ "post_deploy": [colocated] }),
            None,
        ),
    ] {
        let foundation = Foundation::start().await;
        pretend_director_version(&foundation, version).await;
        let configuration = foundation.broker().with_lifecycle_errands(&errands);
        if let Some(reported) = fault {
            let said = failing_start(&foundation, configuration).await;
            assert_eq!(codes(&said), ["ODB-1111"], "{said}");
            expect_reported(&said, "ODB-1111", &[version, reported]);
        } else {
            let broker = configuration.start().await;
            broker.platform().catalog().await.expect_status(200);
            let log = broker.log();
            let warned = log.iter().any(|line| line.mentions("ODB-1111"));
            let is_before_context_ids =
                ["1.3262.4.0 (00000000)", "260.5.0 (00000000)"].contains(&version);
            assert_eq!(warned, is_before_context_ids, "{version}");
        }
    }
}

#[tokio::test]
async fn plans_with_dns_addresses_need_a_director_that_gives_them() {
    let entry =
        json!([{ "name": "a", "link_provider": "redis", "instance_group": "redis-server" }]);
    for (version, is_enough) in [
        ("266.11.0 (00000000)", false),
        ("266.12.0 (00000000)", true),
        ("267.5.0 (00000000)", false),
        ("267.6.0 (00000000)", true),
    ] {
        let foundation = Foundation::start().await;
        pretend_director_version(&foundation, version).await;
        let configuration = foundation.broker().with_dns_bindings(&entry);
        if is_enough {
            let broker = configuration.start().await;
            broker.platform().catalog().await.expect_status(200);
        } else {
            let said = failing_start(&foundation, configuration).await;
            assert_eq!(codes(&said), ["ODB-1111"], "{said}");
            let reported = [version, "`binding_with_dns`", "266.12", "267.6"];
            expect_reported(&said, "ODB-1111", &reported);
        }
    }
}

#[tokio::test]
async fn a_certificate_of_its_own_that_cannot_be_used_is_reported_with_its_file() {
    let foundation = Foundation::start().await;
    let key = foundation.folder().join("foundation/broker.key");
    assert!(Path::new(&key).exists());
    for (pointer, file, why) in [
        (
            "/broker/tls/cert_file",
            "/nowhere/broker.crt",
            "/nowhere/broker.crt",
        ),
        (
            "/broker/tls/cert_file",
            key.to_str().unwrap(),
            "no usable PEM block",
        ),
        ("/broker/tls/key_file", "/etc/passwd", "no usable PEM block"),
    ] {
        let wrong = foundation.broker().with(pointer, file.into());

        let said = failing_start(&foundation, wrong).await;

        assert_eq!(codes(&said), ["ODB-1106"], "{said}");
        expect_reported(&said, "ODB-1106", &[file, why]);
    }
}

#[tokio::test]
async fn a_plan_in_use_may_not_go_unless_checks_are_skipped_and_quotas_count_all_the_same() {
    let foundation = Foundation::start().await;
    let mut broker = foundation.broker().start().await;
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
    let token = broker.platform().deprovision(&instance).await.accepted();
    let ended = broker.platform().end_of_operation(&instance, &token).await;
    assert_eq!(ended.state, "succeeded", "{ended:?}");
    control.clear_faults().await;
    assert_eq!(foundation.director().configs().await, Vec::<Value>::new());
    assert_eq!(
        foundation.director().deployments().await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_client_that_may_only_look_is_warned_of_before_there_are_orders() {
    const SECRET: &str = "the-lookers-secret";
    let looker = json!([{ "id": "looker", "secret": SECRET, "authorities": ["bosh.read"] }]);
    let foundation = Foundation::setup()
        .with_clients(looker, json!([]))
        .start()
        .await;
    let client = json!({ "uaa": { "client_credentials": { "client_id": "looker", "client_secret": SECRET } } });
    let configuration = foundation.broker().with("/bosh/authentication", client);

    let file = configuration.write("looking.yml").display().to_string();
    let mut check = foundation.broker_process(&["check", "--online", "--config", &file]);
    assert_eq!(check.exit(TIMEOUT).await.code(), Some(0));
    let said = everything(&check);
    let reported = [
        "warning: `bosh.authentication`",
        "may only look",
        "bosh.teams.TEAM.admin",
    ];
    expect_reported(&said, "[ODB-1124]", &reported);

    let broker = configuration.start().await;
    let log = broker.log();
    let warned = log.iter().filter(|line| line.mentions("ODB-1124"));
    assert_eq!(warned.count(), 1, "{log:#?}");
}

#[tokio::test]
async fn a_uaa_that_is_none_is_distinguished_from_one_that_does_not_know_us() {
    let foundation = Foundation::start().await;
    let nothing_there = answer("cf-uaa", "/oauth/token", 404, "");
    foundation.control().set_fault(&nothing_there).await;

    let said = failing_start(&foundation, foundation.broker()).await;

    assert_eq!(codes(&said), ["ODB-1103"], "{said}");
    expect_reported(&said, "ODB-1103", &["`cf.uaa.url`", "404 Not Found"]);
    assert!(!said.contains("``"), "{said}");
}
