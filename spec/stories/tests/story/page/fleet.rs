//! Thousands of instances.

use odb_stories::Foundation;

use super::{view, with_everything};

const INSTANCES: usize = 2000;

#[tokio::test]
async fn a_large_fleet_is_paged_and_counted() {
    let foundation = Foundation::setup().without_processes().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    for plan in ["small", "large"] {
        let pattern = format!("pattern-{plan}");
        cf.run(&["create-service", "redis", plan, &pattern, "--wait"])
            .await
            .succeeded();
    }
    foundation.control().seed_fleet(INSTANCES, 7).await;

    let first = view(&operator, "/ui").await;
    assert!(first.contains("1–50 of 2002"), "{first}");
    assert_eq!(first.matches("<th scope=\"row\">").count(), 50);
    assert!(first.contains("href=\"/ui?page=2\""), "{first}");
    let listed = foundation.control().latest_call().await;
    let last = view(&operator, "/ui?page=41").await;
    assert!(last.contains("2001–2002 of 2002"), "{last}");
    let found = view(&operator, "/ui?q=pattern-").await;
    assert!(found.contains("1–2 of 2"), "{found}");
    let failed = view(&operator, "/ui?state=failed").await;
    let rows = failed.matches("<th scope=\"row\">").count();
    assert_eq!(failed.matches("failed, began").count(), rows, "{failed}");
    assert_eq!(rows, 50, "there are that many: {failed}");
    let calls = foundation.control().broker_calls(listed).await;
    assert!(calls.is_empty(), "paging lists nothing again: {calls:?}");
    assert!(first.len() < 64 * 1024, "{} bytes", first.len());
}
