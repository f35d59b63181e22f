//! Labels and annotations, and queries that are refused.

use serde_json::json;

use crate::platform::Platform;

#[tokio::test]
async fn labels_are_set_and_removed_without_a_call_to_the_broker() {
    let (platform, broker) = Platform::with_broker().await;
    let guid = platform.instance("small", "labelled").await;
    let path = format!("/v3/service_instances/{guid}");
    let user = &platform.developer;

    let set = json!({"metadata": {"labels": {"tier": "gold"}, "annotations": {"example.com/note": "x y"}}});
    let answer = user.patch(&path, &set).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.body["metadata"],
        json!({"labels": {"tier": "gold"}, "annotations": {"example.com/note": "x y"}})
    );
    let removed = user
        .patch(&path, &json!({"metadata": {"labels": {"tier": null}}}))
        .await;
    assert_eq!(removed.body["metadata"]["labels"], json!({}));
    assert!(broker.noted(crate::broker::Route::Update).is_empty());
}

#[tokio::test]
async fn a_refused_query_says_what_would_have_been_right() {
    let platform = Platform::start().await;

    for (query, wanted) in [
        (
            "spaces?per_page=5001",
            "Per page must be between 1 and 5000",
        ),
        ("spaces?page=0", "Page must be a positive integer"),
        (
            "spaces?order_by=size",
            "Order by can only be: 'created_at', 'updated_at', 'name'",
        ),
        (
            "service_plans?include=space",
            "Invalid included resource: 'space'. Valid included resources are: 'space.organization', \
             'service_offering'",
        ),
        (
            "service_brokers?colour=red",
            "Unknown query parameter(s): 'colour'. Valid parameters are: 'page', 'per_page', 'order_by', \
             'guids', 'names', 'space_guids'",
        ),
    ] {
        let answer = platform.admin.get(&format!("/v3/{query}")).await;
        assert_eq!(
            answer.rejection(),
            (
                400,
                10005,
                "CF-BadQueryParameter",
                format!("The query parameter is invalid: {wanted}").as_str()
            )
        );
    }
}
