//! The sandbox ends, or is started again.

use odb_stories::DevLoop;

use super::order;

#[tokio::test]
async fn nothing_runs_any_more_after_ctrl_c_and_the_next_start_finds_what_was_ordered() {
    let dev_loop = DevLoop::new();
    let mut sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;
    order(&sandbox, "small", "cache").await;
    assert!(!sandbox.processes().is_empty());

    assert!(sandbox.interrupt().await.success());
    assert_eq!(sandbox.processes(), []);

    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;
    let cf = sandbox.cf();
    let update = [
        "update-service",
        "cache",
        "-c",
        r#"{"maxclients": 250}"#,
        "--wait",
    ];
    cf.run(&update).await.succeeded();
    cf.run(&["delete-service", "cache", "--wait"])
        .await
        .succeeded();
    let brokers = cf
        .run(&["--as", "admin", "service-brokers"])
        .await
        .succeeded();
    assert_eq!(
        brokers.lines().count(),
        2,
        "a heading and one broker: {brokers}"
    );
}

#[tokio::test]
async fn a_broker_does_not_outlive_a_sandbox_that_is_killed() {
    let dev_loop = DevLoop::new();
    let mut sandbox = dev_loop
        .start_with(&dev_loop.redis_adapter(), &["--no-processes"])
        .await;
    assert!(sandbox.broker().command_line.contains("on-demand-broker"));

    sandbox.kill();

    odb_stories::eventually("the broker is gone", crate::TIMEOUT, async || {
        let left = sandbox.processes();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    })
    .await;
}

#[tokio::test]
async fn a_foundation_that_is_reset_has_the_broker_registered_anew() {
    let dev_loop = DevLoop::new();
    let sandbox = dev_loop.start(&dev_loop.redis_adapter()).await;
    order(&sandbox, "small", "cache").await;

    sandbox.reset().await;
    sandbox.reports(&super::UP, 2).await;

    let cf = sandbox.cf();
    let services = cf.run(&["services"]).await.succeeded();
    assert!(!services.contains("cache"), "{services}");
    order(&sandbox, "small", "cache").await;
}
