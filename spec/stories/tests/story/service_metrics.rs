//! `collect-service-metrics` (`spec/contracts/errands.md` §8, its weakness 11.3 #3 fixed).

use odb_stories::{Errand, ErrandConfiguration, ErrandRun, Foundation, Secrets, StandIn};
use serde_json::{Value, json};
use tempfile::TempDir;

const ERRAND: &str = "collect-service-metrics";

const PASSWORD: &str = "hunter2-hunter2";

const METRICS: &str =
    r#"[ {"key":"/on-demand-broker/redis/total_instances","value":3,"unit":"count"} ]"#;

/// Asks a broker as the release's script does, flags and all.
async fn collect(folder: &TempDir, url: &str) -> ErrandRun {
    Errand::alone_by_its_name(folder.path(), ERRAND)
        .with(&["-brokerUsername", "broker", "-brokerPassword", PASSWORD])
        .with(&["-brokerUrl", url, "-brokerCACert", ""])
        .with(&["-disableTLSCertificateVerification=false"])
        .run()
        .await
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn metrics_are_handed_on_as_the_broker_has_written_them() {
    let (folder, broker) = (folder(), StandIn::answering(200, METRICS).await);
    for body in [METRICS, "[]"] {
        broker.answer(200, body);
        let run = collect(&folder, broker.url()).await.expect_status(0);
        assert_eq!(run.output, body);
        assert_eq!(run.stderr, "");
    }
    let request = broker.requests().pop().unwrap().to_lowercase();
    assert!(
        request.starts_with("get /mgmt/metrics http/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("\r\nauthorization: basic "), "{request}");
}

/// The Go errand makes an empty list of a 500, and metrics of whatever comes with a 401 or a 404.
#[tokio::test]
async fn what_is_no_list_of_metrics_is_never_printed_and_the_status_says_whether_to_come_back() {
    let (folder, broker) = (folder(), StandIn::answering(200, "").await);
    for (status, body, expected) in [
        (500, "", 10),
        (502, "<html>bad gateway</html>", 10),
        (503, "", 10),
        (504, "[]", 10),
        (401, "Not authorized", 1),
        (403, "[]", 1),
        (404, "404 page not found", 1),
        (302, "[]", 1),
        (200, "<html>log in here</html>", 1),
        (200, r#"{"key":"not a list"}"#, 1),
        (200, "[", 1),
        (200, "", 1),
        (200, "null", 1),
    ] {
        broker.answer(status, body);
        let run = collect(&folder, broker.url()).await.expect_status(expected);
        assert_eq!(run.output, "", "{status} {body}");
        let text = run.last_text();
        assert!(text.starts_with("error collecting metrics: "), "{text}");
        assert!(
            status == 200 || text.contains(&status.to_string()),
            "{text}"
        );
        Secrets::default()
            .and("the broker's password", PASSWORD)
            .expect_none_in("stderr", &run.stderr);
    }
}

#[tokio::test]
async fn a_broker_that_cannot_be_reached_may_be_back_later() {
    let folder = folder();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);

    let run = collect(&folder, &url).await.expect_status(10);

    assert_eq!(run.output, "");
    run.expect_said_last("no connection");
}

#[tokio::test]
async fn no_password_is_needed_on_the_command_line() {
    let (folder, broker) = (folder(), StandIn::answering(200, METRICS).await);
    let by_variable = Errand::alone(folder.path(), ERRAND)
        .with(&["--brokerUrl", broker.url(), "--brokerUsername", "broker"])
        .with_variable("ODB_BROKER_PASSWORD", PASSWORD);
    by_variable.run().await.expect_status(0);

    let file = folder.path().join("metrics.yml");
    let basic = json!({ "username": "broker", "password": PASSWORD });
    let config = json!({
        "broker_api": { "url": broker.url(), "authentication": { "basic": basic } },
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let by_file = Errand::alone(folder.path(), ERRAND);
    let by_file = by_file.with(&["--config", &file.display().to_string()]);
    by_file.run().await.expect_status(0);

    let asked = broker.requests();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1]);
}

#[tokio::test]
async fn an_address_that_is_none_or_missing_is_reported() {
    let folder = folder();
    for (flags, expected) in [
        (&[][..], "give --config FILE, or -brokerUrl"),
        (&["-brokerUrl", "ftp://broker"], "-brokerUrl is not valid"),
        (&["-brokerUrl", "http://"], "-brokerUrl is not valid"),
        (
            &["-brokerUrl", "https://broker", "-brokerCACert", "no PEM"],
            "cannot be used",
        ),
        (
            &["--config", "/nowhere.yml"],
            "open /nowhere.yml: no such file or directory",
        ),
    ] {
        let errand = Errand::alone(folder.path(), ERRAND).with(flags);
        let run = errand.run().await.expect_status(1);
        run.expect_said_last(expected);
        assert_eq!(run.output, "");
    }
}

#[tokio::test]
async fn the_metrics_of_a_real_broker_are_those_of_its_offering() {
    let foundation = Foundation::bare().start().await;
    let broker = foundation.broker().with_plan_limit(5).start().await;
    let configuration = ErrandConfiguration::of(&foundation, &broker);
    let errand = || Errand::new(&foundation, ERRAND).configured(&configuration);

    // The platform knows no plan yet, which may change.
    let run = errand().run().await.expect_status(10);
    assert_eq!(run.output, "");

    foundation.cf().register(&broker).await;
    let metrics = errand().run().await.expect_status(0).json();

    let value = |key: &str| {
        let found = metrics.as_array().unwrap();
        let found = found.iter().find(|metric| metric["key"] == key);
        found.unwrap_or_else(|| panic!("{metrics}"))["value"].clone()
    };
    for key in [
        "/on-demand-broker/redis/small/total_instances",
        "/on-demand-broker/redis/large/total_instances",
        "/on-demand-broker/redis/total_instances",
    ] {
        assert_eq!(value(key), 0, "{key}");
    }
    assert_eq!(value("/on-demand-broker/redis/small/quota_remaining"), 5);
    let units: Vec<&Value> = metrics.as_array().unwrap().iter().collect();
    assert!(
        units.iter().all(|metric| metric["unit"] == "count"),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_broker_with_an_untrusted_certificate_gets_no_password() {
    let (foundation, broker) = Foundation::bare().start_with_broker().await;
    let errand = || {
        Errand::by_its_name(&foundation, ERRAND)
            .with(&["-brokerUrl", broker.url(), "-brokerUsername", "broker"])
            .with(&["-brokerPassword", broker.password()])
    };

    let run = errand().run().await.expect_status(1);
    run.expect_said_last("the TLS handshake failed");

    let authority = foundation.authority();
    let known = errand().with(&["-brokerCACert", &authority]).run().await;
    known.expect_status(10);

    let unverified = errand().with(&["-disableTLSCertificateVerification"]);
    let run = unverified.run().await.expect_status(10);
    run.expect_said("certificates are not verified");
}
