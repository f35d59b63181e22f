//! The services of an app, with what they refer to.

use serde_json::json;

use crate::foundation::Platform;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_are_replaced_and_everything_else_passes() {
    let platform = Platform::start().await;
    let api = platform.admin(&platform.runtime()).await;
    api.set("/c/a", "json", json!({"deep": [1, {"uri": "x"}]}))
        .await;
    api.set("/c/b", "json", json!("text")).await;
    let services = json!({
        "redis": [
            {"name": "one", "credentials": {"credhub-ref": "/c/a"}, "tags": ["t"]},
            {"name": "two", "credentials": {"credhub_ref": "((/c/b))"}},
            {"name": "three", "credentials": {"password": "p"}},
            {"name": "four"},
        ],
        "odd": "no list",
    });
    let resolved = api.post("/api/v1/interpolate", &services).await.ok();
    assert_eq!(
        resolved,
        json!({
            "redis": [
                {"name": "one", "credentials": {"deep": [1, {"uri": "x"}]}, "tags": ["t"]},
                {"name": "two", "credentials": "text"},
                {"name": "three", "credentials": {"password": "p"}},
                {"name": "four"},
            ],
            "odd": "no list",
        })
    );
    assert_eq!(
        api.post("/api/v1/interpolate", &json!({})).await.ok(),
        json!({})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_to_nothing_or_to_another_type_is_refused() {
    let platform = Platform::start().await;
    let api = platform.admin(&platform.runtime()).await;
    api.set("/c/text", "value", json!("v")).await;
    let refer = async |name: &str| {
        let services = json!({"redis": [{"credentials": {"credhub-ref": name}}]});
        api.post("/api/v1/interpolate", &services).await
    };
    assert_eq!(refer("/c/none").await.status, 404);
    assert_eq!(refer("/c/text").await.rejection(), (400, "The credential '/c/text' is not the expected type. A credhub-ref credential must be of type 'JSON'.".to_owned()));
    assert_eq!(
        api.post("/api/v1/interpolate", &json!([])).await.status,
        400
    );
}
