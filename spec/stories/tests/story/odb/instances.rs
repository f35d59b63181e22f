//! The instances of a broker, by their names.

use odb_stories::{Foundation, Odb, TaskFault};

use super::operator_of;

#[tokio::test]
async fn instances_have_names_and_programs_get_all_members() {
    let (_foundation, _broker, odb) = operator_of(&["cache", "sessions"]).await;

    let table = odb.run(&["instance", "list"]).await.expect_status(0);
    let row = table.row("cache");
    assert_eq!(row[1], "small");
    assert!(row[2].contains('/'), "{row:?}");
    assert!(row[3].starts_with("create succeeded, began"), "{row:?}");
    assert_eq!(row[4], "yes");
    let wide = odb
        .run(&["instance", "list", "-o", "wide", "--no-headers"])
        .await;
    let id = wide.expect_status(0).row("cache")[5].to_owned();
    assert_eq!(id.len(), 36);
    let documents = odb.run(&["instance", "list", "-o", "json"]).await.json();
    assert_eq!(documents.as_array().unwrap().len(), 2);
    let yaml = odb.run(&["instance", "show", "cache", "-o", "yaml"]).await;
    assert!(yaml.expect_status(0).output.contains(&id));
    let shown = odb.run(&["instance", "show", &id]).await.expect_status(0);
    assert!(shown.output.contains("Name:       cache"), "{shown:?}");
    let none = odb.run(&["instance", "list", "--state", "failed"]).await;
    assert_eq!(none.expect_status(0).stderr, "No service instances\n");
    let unknown = odb.run(&["instance", "show", "cahce"]).await;
    assert_eq!(
        unknown.expect_status(1).stderr,
        "Unknown instance `cahce`. Did you mean `cache`?\n"
    );
}

#[tokio::test]
async fn names_are_those_of_version_2_of_the_platform_too() {
    let setup = Foundation::setup().without_processes();
    let foundation = setup.with_old_cloud_controller().start().await;
    let broker = foundation.broker().without_quotas().start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let order = ["create-service", "redis", "small", "cache", "--wait"];
    cf.run(&order).await.succeeded();
    let odb = Odb::of(&foundation, &broker).await;

    let shown = odb.run(&["instance", "show", "cache", "-o", "json"]).await;

    assert_eq!(shown.expect_status(0).json()["instance"]["name"], "cache");
}

#[tokio::test]
async fn an_upgrade_is_followed_to_its_end() {
    let (_foundation, _broker, odb) = operator_of(&["cache"]).await;

    let upgraded = odb.run(&["instance", "upgrade", "cache"]).await;

    let upgraded = upgraded.expect_status(0);
    assert!(
        upgraded.output.starts_with("upgrade of service instance"),
        "{upgraded:?}"
    );
    let shown = odb.run(&["instance", "operation", "cache"]).await;
    assert!(shown.expect_status(0).output.contains("succeeded"));
    odb.run(&["instance", "recreate", "cache"])
        .await
        .expect_status(0);
}

#[tokio::test]
async fn an_operation_in_progress_is_10_is_watched_and_can_be_cancelled() {
    let setup = Foundation::setup().with_director_admin();
    let foundation = setup.without_processes().start().await;
    let broker = foundation.broker().without_quotas().start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let order = ["create-service", "redis", "small", "cache", "--wait"];
    cf.run(&order).await.succeeded();
    let odb = Odb::of(&foundation, &broker).await;
    let watch = odb.start(&["watch", "--interval", "1"]);
    let fault = TaskFault::at_step_of("Updating instance").holds();
    foundation.control().set_task(fault).await;

    odb.run(&["instance", "recreate", "cache", "--no-wait"])
        .await
        .expect_status(0);

    watch.prints("cache: recreate in progress").await;
    odb.run(&["instance", "operation", "cache"])
        .await
        .expect_status(10);
    let busy = odb.run(&["instance", "upgrade", "cache"]).await;
    let busy = busy.expect_status(1).stderr;
    assert!(
        busy.contains("odb instance operation cache --follow"),
        "{busy}"
    );
    odb.run(&["instance", "cancel", "cache", "--no-wait"])
        .await
        .expect_status(0);
    foundation.control().clear_faults().await;
    watch.prints("cache: recreate failed").await;
    watch.interrupt();
    watch.ended().await.expect_status(0);
}

#[tokio::test]
async fn a_deletion_needs_the_name_and_names_the_command_for_the_platform() {
    let (foundation, _broker, odb) = operator_of(&["cache"]).await;
    let refused = odb.run(&["instance", "delete", "cache"]).await;
    assert!(refused.expect_status(1).stderr.contains("--confirm cache"));
    let wrong = odb
        .run(&["instance", "delete", "cache", "--confirm", "cash"])
        .await;
    assert!(
        wrong
            .expect_status(1)
            .stderr
            .contains("Nothing was deleted")
    );

    let deleted = odb
        .run(&["instance", "delete", "cache", "--confirm", "cache"])
        .await;

    let deleted = deleted.expect_status(0);
    let last = deleted.stderr.lines().last().unwrap_or_default();
    assert!(
        last.ends_with("Next: cf purge-service-instance cache"),
        "{last}"
    );
    let listed = odb.run(&["instance", "list", "-o", "json"]).await.json();
    assert_eq!(listed[0]["deployment"], "absent");
    let purge = ["--as", "admin", "purge-service-instance", "cache"];
    foundation.cf().run(&purge).await.succeeded();
    let gone = odb.run(&["instance", "list", "-o", "json"]).await.json();
    assert_eq!(gone.as_array().unwrap().len(), 0);
}
