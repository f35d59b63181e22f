//! Labels, annotations and times: what lists can be narrowed by.

use serde_json::json;

use crate::platform::{Answer, Platform};

fn names(answer: &Answer) -> Vec<&str> {
    let rows = answer.body["resources"].as_array();
    rows.unwrap_or_else(|| panic!("{}", answer.body))
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn labels_are_set_selected_by_and_removed_without_asking_the_broker() {
    let (platform, broker) = Platform::with_broker().await;
    platform.instance("small", "plain").await;
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
    for (selector, wanted) in [
        ("tier", &["labelled"][..]),
        ("!tier", &["plain"]),
        ("tier%20in%20(gold,silver)", &["labelled"]),
        ("tier!=gold", &["plain"]),
    ] {
        let found = user
            .get(&format!("/v3/service_instances?label_selector={selector}"))
            .await;
        assert_eq!(names(&found), wanted, "{selector}");
    }
    let removed = user
        .patch(&path, &json!({"metadata": {"labels": {"tier": null}}}))
        .await;
    assert_eq!(removed.body["metadata"]["labels"], json!({}));

    let refused = user
        .patch(&path, &json!({"metadata": {"labels": {"a b": "x"}}}))
        .await;
    assert_eq!(
        refused.refusal(),
        (
            422,
            10008,
            "CF-UnprocessableEntity",
            "Metadata label key error: 'a b' contains invalid characters"
        )
    );
    assert!(broker.noted(crate::broker::Route::Update).is_empty());
}

#[tokio::test]
async fn lists_are_narrowed_by_time() {
    let (platform, _broker) = Platform::with_broker().await;
    platform.instance("small", "db").await;
    let list = async |filter: &str| {
        platform
            .developer
            .get(&format!("/v3/service_instances?{filter}"))
            .await
    };

    assert_eq!(
        names(&list("created_ats[gt]=2020-01-01T00:00:00Z").await),
        ["db"]
    );
    assert!(names(&list("created_ats%5Blt%5D=2020-01-01T00:00:00Z").await).is_empty());
    assert_eq!(
        list("updated_ats=yesterday").await.refusal().3,
        "The query parameter is invalid: Updated ats has an invalid timestamp format. Timestamps should be formatted \
         as 'YYYY-MM-DDThh:mm:ssZ'"
    );
    assert_eq!(
        list("created_ats[about]=2020-01-01T00:00:00Z").await.status,
        400
    );
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
             'created_ats', 'updated_ats', 'guids', 'names', 'label_selector', 'space_guids'",
        ),
        (
            "service_instances?label_selector=a%20b",
            "expecting a ',', operator, or end, got \"a <<b>>\"",
        ),
    ] {
        let answer = platform.admin.get(&format!("/v3/{query}")).await;
        assert_eq!(
            answer.refusal(),
            (
                400,
                10005,
                "CF-BadQueryParameter",
                format!("The query parameter is invalid: {wanted}").as_str()
            )
        );
    }
}
