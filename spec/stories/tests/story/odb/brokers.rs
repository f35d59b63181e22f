//! The brokers themselves.

use std::fs;

use odb_stories::{Errand, ErrandConfiguration, Foundation, Odb};

use super::operator_of;

#[tokio::test]
async fn a_check_goes_step_by_step_and_has_a_remedy_for_each() {
    let (_foundation, broker, odb) = operator_of(&[]).await;
    let well = odb.run(&["broker", "check"]).await.expect_status(0);
    let marks: Vec<&str> = well.output.lines().map(|line| &line[..3]).collect();
    assert_eq!(marks, ["✓"; 6], "{well:?}");
    assert!(
        well.output.contains("offering redis with 2 plans"),
        "{well:?}"
    );
    let wrong = [("ODB_PASSWORD", "wrong-password")];
    let refused = odb
        .run_with(&["broker", "check"], &wrong)
        .await
        .expect_status(1);
    assert!(refused.output.contains("✗ credentials"), "{refused:?}");
    let access = [
        ("ODB_USERNAME", "broker"),
        ("ODB_PASSWORD", "wrong-password"),
    ];
    for (url, step) in [
        ("https://broker.invalid", "✗ name"),
        ("https://127.0.0.1:1", "✗ connection"),
        // Without the authority of the context, which is for another address.
        (&format!("{}/", broker.url()), "✗ certificate"),
    ] {
        let check = ["broker", "check", "--url", url];
        let run = odb.run_with(&check, &access).await.expect_status(1);
        assert!(run.output.contains(step), "{run:?}");
        assert!(run.output.contains("  remedy: "), "{run:?}");
    }
}

#[tokio::test]
async fn a_broker_examines_its_own_upstreams() {
    let (_foundation, _broker, odb) = operator_of(&[]).await;

    let report = odb.run(&["broker", "doctor", "-o", "json"]).await;

    let report = report.expect_status(0).json();
    assert_eq!(report["well"], true);
    assert!(report["probes"].as_array().unwrap().len() > 5, "{report}");
    let text = odb.run(&["broker", "doctor"]).await.expect_status(0);
    assert!(text.output.contains("✓ director"), "{text:?}");
}

#[tokio::test]
async fn brokers_plans_and_quotas_are_listed() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation
        .broker()
        .without_quotas()
        .with_plan_limit(4)
        .start()
        .await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let order = ["create-service", "redis", "small", "cache", "--wait"];
    cf.run(&order).await.succeeded();
    let odb = Odb::of(&foundation, &broker).await;

    let brokers = odb.run(&["broker", "list"]).await.expect_status(0);
    assert_eq!(brokers.row("test")[1..5], ["yes", "0.1.0", "redis", "1"]);
    let plans = odb.run(&["plan", "list", "-o", "json"]).await.json();
    assert_eq!(
        (&plans[0]["name"], &plans[0]["limit"]),
        (&"small".into(), &4.into())
    );
    assert_eq!(plans[0]["instances"], 1);
    let quota = odb.run(&["quota"]).await.expect_status(0);
    let row = quota.row("small");
    assert_eq!(row[1..4], ["instances", "1", "4"]);
    assert!(row[4].ends_with("25%"), "{row:?}");
}

#[tokio::test]
async fn orphans_are_listed_and_deleted() {
    let (foundation, _broker, odb) = operator_of(&["cache"]).await;
    let none = odb.run(&["orphan", "list"]).await.expect_status(0);
    assert_eq!(none.stderr, "No orphans\n");
    let purge = ["--as", "admin", "purge-service-instance", "cache"];
    foundation.cf().run(&purge).await.succeeded();

    let listed = odb.run(&["orphan", "list"]).await.expect_status(0);

    assert!(listed.output.contains("this broker"), "{listed:?}");
    assert_eq!(listed.stderr, "Next: odb orphan delete --confirm 1\n");
    odb.run(&["orphan", "delete", "--confirm", "2"])
        .await
        .expect_status(1);
    odb.run(&["orphan", "delete", "--confirm", "1"])
        .await
        .expect_status(0);
    let left = odb.run(&["orphan", "list", "-o", "json"]).await.json();
    assert_eq!(left.as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn a_broker_is_registered_with_the_file_of_the_errand() {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation.broker().without_quotas().start().await;
    let odb = Odb::new(&foundation);
    let configuration = ErrandConfiguration::of(&foundation, &broker)
        .with_plans(&[("small", "enable", None), ("large", "disable", None)]);
    let file = configuration.write("register-broker").display().to_string();

    let registered = odb.run(&["broker", "register", "--config", &file]).await;

    let registered = registered.expect_status(0);
    assert!(
        registered.stderr.contains("FINISHED REGISTER BROKER"),
        "{registered:?}"
    );
    let again = Errand::new(&foundation, "register-broker").configured(&configuration);
    again.with(&["--dry-run"]).run().await.expect_success();
}

#[tokio::test]
async fn completions_and_man_pages_know_every_command() {
    let foundation = Foundation::setup().without_processes().start().await;
    let odb = Odb::new(&foundation);
    for shell in ["bash", "zsh", "fish"] {
        let script = odb.run(&["completion", shell]).await.expect_status(0);
        assert!(script.output.contains("rollout"), "{shell}");
    }
    let page = odb.run(&["man"]).await.expect_status(0);
    assert!(page.output.contains(".TH odb 1"), "{page:?}");
    let folder = foundation.folder().join("man1");
    let out = folder.display().to_string();
    odb.run(&["man", "--out", &out]).await.expect_status(0);
    let pages = fs::read_dir(&folder).unwrap().count();
    assert!(pages > 20, "{pages}");
    assert!(folder.join("odb-instance-list.1").is_file());
    odb.run(&["instance", "lst"]).await.expect_status(2);
}
