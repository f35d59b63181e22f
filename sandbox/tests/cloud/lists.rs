//! Pages, filters and order.

use serde_json::json;

use crate::platform::Platform;

#[tokio::test]
async fn pages_link_to_each_other_and_keep_the_filters() {
    let (platform, _broker) = Platform::with_broker().await;
    let user = &platform.developer;
    for name in ["a", "b", "c"] {
        platform.instance("small", name).await;
    }
    let query = format!(
        "/v3/service_instances?order_by=name&per_page=2&space_guids={}",
        platform.space
    );

    let first = user.get(&query).await;
    let second = user
        .get(first.body["pagination"]["next"]["href"].as_str().unwrap())
        .await;

    assert_eq!((first.names(), second.names()), (vec!["a", "b"], vec!["c"]));
    assert_eq!(
        (
            &first.body["pagination"]["total_results"],
            &first.body["pagination"]["total_pages"]
        ),
        (&json!(3), &json!(2))
    );
    assert_eq!(second.body["pagination"]["next"], json!(null));
    let previous = second.body["pagination"]["previous"]["href"]
        .as_str()
        .unwrap();
    assert!(
        previous.starts_with(&platform.url) && previous.contains("space_guids="),
        "{previous}"
    );
}

#[tokio::test]
async fn filters_are_comma_lists_and_a_comma_in_a_name_is_encoded_twice() {
    let (platform, _broker) = Platform::with_broker().await;
    let user = &platform.developer;
    for name in ["a", "b", "c,d"] {
        platform.instance("small", name).await;
    }

    let listed = user
        .get("/v3/service_instances?names=a,c%252Cd&order_by=-name")
        .await;
    let counted = platform
        .admin
        .get(&format!(
            "/v3/service_instances?service_plan_guids={}&per_page=1",
            platform.plan("small").await
        ))
        .await;
    let none = user.get("/v3/service_instances?names=x").await;

    assert_eq!(listed.names(), ["c,d", "a"]);
    assert_eq!(counted.total(), 3);
    assert_eq!(none.body["pagination"]["total_pages"], 1);
}

#[tokio::test]
async fn unknown_parameters_are_refused() {
    let platform = Platform::start().await;

    for query in [
        "color=red",
        "per_page=0",
        "per_page=5001",
        "page=x",
        "order_by=size",
        "fields[space]=color",
    ] {
        let answer = platform
            .developer
            .get(&format!("/v3/service_instances?{query}"))
            .await;
        assert_eq!(
            (answer.rejection().0, answer.rejection().1),
            (400, 10005),
            "{query}"
        );
    }
}

#[tokio::test]
async fn what_is_in_other_peoples_spaces_is_not_there() {
    let (platform, _broker) = Platform::with_broker().await;
    let guid = platform.instance("small", "db").await;
    let unauthenticated_client = platform.log_in("outsider").await;

    let list = unauthenticated_client.get("/v3/service_instances").await;
    let one = unauthenticated_client
        .get(&format!("/v3/service_instances/{guid}"))
        .await;
    let change = unauthenticated_client
        .delete(&format!("/v3/service_instances/{guid}"))
        .await;

    assert!(list.names().is_empty());
    assert_eq!((one.status.as_u16(), change.status.as_u16()), (404, 404));
    assert_eq!(
        unauthenticated_client
            .get("/v3/organizations")
            .await
            .names(),
        ["other"]
    );
    assert_eq!(
        platform.developer.get("/v3/spaces").await.names(),
        ["development"]
    );
}

#[tokio::test]
async fn bodies_that_are_no_json_or_lack_something_are_distinguished() {
    let platform = Platform::start().await;
    let post = async |body: &str| {
        platform
            .developer
            .send(
                reqwest::Method::POST,
                "/v3/service_instances",
                Some(body.to_owned()),
            )
            .await
    };

    assert_eq!(post("{").await.rejection().1, 1001);
    assert_eq!(post("{}").await.rejection().1, 10008);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_not_found() {
    let platform = Platform::start().await;
    let user = &platform.developer;

    for answer in [
        user.get("/v3/everything").await,
        user.delete("/v3/spaces").await,
    ] {
        assert_eq!(
            answer.rejection(),
            (404, 10000, "CF-NotFound", "Unknown request")
        );
    }
}
