//! `docs/operators/plans.md`: the quotas of its example, who is let in, and what the others read.

use odb_adapter_sdk::yaml;
use odb_stories::{Foundation, fences};
use serde_json::Value;

use super::{project_file, rows};

#[tokio::test]
async fn the_quotas_of_the_example_refuse_whom_the_chapter_says_in_the_words_that_it_says() {
    let chapter = project_file("docs/operators/plans.md");
    let rejections: Vec<&str> = rows(&chapter, |_| true)
        .into_iter()
        .filter_map(|cells| cells.get(1)?.strip_prefix('`')?.strip_suffix('`'))
        .filter(|text| text.starts_with("There is no room"))
        .collect();
    let [third_small, second_large, moved] = rejections[..] else {
        panic!("the rejections are not found: {rejections:?}");
    };
    let foundation = Foundation::bare().start().await;
    let broker = foundation
        .broker()
        .with_quotas(
            value_at(&chapter, "/service_catalog/global_quotas?"),
            value_at(&chapter, "/plans/name=small/quotas?"),
            value_at(&chapter, "/plans/name=large/quotas?"),
        )
        .start()
        .await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    let order = async |plan: &str, name: &str| {
        cf.run(&["create-service", "redis", plan, name, "--wait"])
            .await
    };

    order("small", "one").await.succeeded();
    order("small", "two").await.succeeded();
    let said = order("small", "three").await.failed();
    assert!(said.contains(third_small), "{said}");

    order("large", "first").await.succeeded();
    let said = order("large", "second").await.failed();
    assert!(said.contains(second_large), "{said}");
    let change = ["update-service", "one", "-p", "large", "--wait"];
    let said = cf.run(&change).await.failed();
    assert!(said.contains(moved), "{said}");

    let delete = ["delete-service", "first", "--wait"];
    cf.run(&delete).await.succeeded();
    order("large", "third").await.succeeded();
}

/// The value that the ops files of a document set where the path ends so.
fn value_at(document: &str, end: &str) -> Value {
    let operations = fences(document)
        .into_iter()
        .filter(|fence| fence.information == "yaml ops")
        .flat_map(|fence| {
            let operations: Vec<Value> = yaml::from_str(&fence.text).expect("it is an ops file");
            operations
        });
    let own: Vec<Value> = operations
        .filter(|operation| {
            operation["path"]
                .as_str()
                .is_some_and(|path| path.ends_with(end))
        })
        .collect();
    let [operation] = &own[..] else {
        panic!("`{end}` is not found once: {own:?}");
    };
    operation["value"].clone()
}
