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
    let last = view(&operator, "/ui?page=41").await;
    assert!(last.contains("2001–2002 of 2002"), "{last}");
    let found = view(&operator, "/ui?q=pattern-").await;
    assert!(found.contains("1–2 of 2"), "{found}");
    let failed = view(&operator, "/ui?state=failed&plan=small").await;
    assert!(failed.contains("failed"), "{failed}");
    assert!(first.len() < 64 * 1024, "{} bytes", first.len());
}
