//! The broker starts, or says everything that is wrong with its configuration or its command line.

use odb_stories::{Foundation, Process};
use serde_json::json;

use crate::TIMEOUT;

#[tokio::test]
async fn a_configuration_with_five_errors_is_rejected_with_all_five_and_their_locations() {
    let foundation = Foundation::start().await;
    let release = json!([{ "name": "redis-example-service", "version": "latest", "jobs": [] }]);
    let file = foundation
        .broker()
        .with("/broker/port", 70000.into())
        .with("/bosh/url", "".into())
        .with("/service_adapter/path", "/nowhere/adapter".into())
        .with("/service_deployment/releases", release)
        .with("/service_catalog/plan_updatable", "perhaps".into())
        .write("broker.yml");
    let file = file.display().to_string();

    let mut broker = foundation.broker_process(&["serve", "--config", &file]);
    let status = broker.exit(TIMEOUT).await;

    assert_eq!(status.code(), Some(1));
    let said = everything(&broker);
    let text = std::fs::read_to_string(&file).unwrap();
    let bosh = text.find("\"bosh\"").unwrap();
    for (key, location) in [
        ("broker.port", text.find("70000").unwrap()),
        ("bosh.url", bosh + text[bosh..].find("\"url\"").unwrap()),
        (
            "service_adapter.path",
            text.find("/nowhere/adapter").unwrap(),
        ),
        (
            "service_deployment.releases[0].version",
            text.find("latest").unwrap(),
        ),
        (
            "service_catalog.plan_updatable",
            text.find("perhaps").unwrap(),
        ),
    ] {
        let line = text[..location].lines().count();
        let (key, location) = (format!("`{key}`"), format!("{file}:{line}:"));
        let reported = |text: &&str| text.contains(&key) && text.contains(&location);
        assert!(
            said.lines().any(|line| reported(&line)),
            "{key} at {location}:\n{said}"
        );
    }
    let faults = said.lines().filter(|line| line.contains("ODB-1002"));
    assert_eq!(faults.count(), 5, "{said}");
    expect_no_secrets(&foundation, &said);
}

#[tokio::test]
async fn the_go_brokers_command_lines_start_it() {
    let foundation = Foundation::start().await;
    for command_line in [
        "-configFilePath FILE",
        "-configFilePath=FILE",
        "--configFilePath FILE",
        "--configFilePath=FILE",
    ] {
        let configuration = foundation.broker().with_command_line(command_line);
        let mut broker = configuration.start().await;

        broker.platform().catalog().await.expect_status(200);
        assert_eq!(broker.stop().await.code(), Some(0), "{command_line}");
    }
}

pub(crate) fn everything(broker: &Process) -> String {
    broker.output() + &broker.errors()
}

pub(crate) fn expect_no_secrets(foundation: &Foundation, said: &str) {
    for secret in [
        &foundation.description().director.team_client.secret,
        &foundation
            .description()
            .cloud_controller
            .broker_client
            .secret,
    ] {
        assert!(!said.contains(secret), "{said}");
    }
}
