//! A Cloud Controller of an older generation.

use odb_stories::Foundation;

#[tokio::test]
async fn quotas_are_kept_where_the_cloud_controller_has_only_version_2() {
    let foundation = Foundation::setup()
        .with_old_cloud_controller()
        .start()
        .await;
    let broker = foundation.broker().with_plan_limit(1).start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;

    cf.run(&["create-service", "redis", "small", "first", "--wait"])
        .await
        .succeeded();
    let rejection = cf
        .run(&["create-service", "redis", "small", "second", "--wait"])
        .await
        .failed();

    assert!(rejection.contains("limit"), "{rejection}");
    assert_eq!(foundation.director().deployments().await.len(), 1);
    cf.run(&["delete-service", "first", "--wait"])
        .await
        .succeeded();
    cf.run(&["create-service", "redis", "small", "third", "--wait"])
        .await
        .succeeded();
    let calls = foundation.control().broker_calls(0).await;
    let asked: Vec<_> = calls
        .iter()
        .filter(|call| call.server == "cloud-controller" && call.path != "/")
        .collect();
    assert!(!asked.is_empty());
    assert!(
        asked.iter().all(|call| call.path.starts_with("/v2/")),
        "{asked:#?}"
    );
}
