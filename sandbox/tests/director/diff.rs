//! The changes of a manifest.

use serde_json::json;

use crate::foundation::{Foundation, redis_with_password};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_shows_what_changes_and_hides_what_is_secret() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis_with_password("d", "secret");
    let new = bosh
        .post_yaml("/deployments/d/diff", manifest.to_string())
        .await
        .json();
    assert_eq!(
        new["context"],
        json!({"cloud_config_ids": [1], "runtime_config_ids": []})
    );
    let lines = new["diff"].as_array().unwrap();
    assert_eq!(lines[0], json!(["azs:", "added"]));
    assert!(lines.contains(&json!(["name: d", "added"])));
    assert!(!new.to_string().contains("secret\""), "{new}");

    bosh.deployed(&manifest).await;
    let same = bosh
        .post_yaml("/deployments/d/diff", manifest.to_string())
        .await
        .json();
    assert_eq!(same["diff"], json!([]));

    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["password"] = json!("other");
    let path = |switch: &str| format!("/deployments/d/diff{switch}");
    let hidden = bosh.post_yaml(&path(""), manifest.to_string()).await.json();
    let way_down = [
        json!(["instance_groups:", null]),
        json!(["- name: redis-server", null]),
        json!(["  jobs:", null]),
        json!(["  - name: redis-server", null]),
        json!(["    properties:", null]),
        json!(["      redis:", null]),
    ];
    let mut expected = way_down.to_vec();
    expected.push(json!(["        password: \"<redacted>\"", "removed"]));
    expected.push(json!(["        password: \"<redacted>\"", "added"]));
    assert_eq!(hidden["diff"], json!(expected));
    let shown = bosh
        .post_yaml(&path("?redact=false"), manifest.to_string())
        .await
        .json();
    assert_eq!(
        shown["diff"][6],
        json!(["        password: secret", "removed"])
    );
    assert_eq!(
        shown["diff"][7],
        json!(["        password: other", "added"])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_of_nonsense_looks_like_a_success() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let answer = bosh.post_yaml("/deployments/d/diff", "--- [1,2]").await;
    assert_eq!(answer.status, 200);
    let reported = answer.json();
    assert_eq!(reported["diff"], json!([]));
    let error = reported["error"].as_str().unwrap();
    assert!(
        error.starts_with(
            "Unable to diff manifest: #<Bosh::Director::BadManifest: Manifest should be a hash>\n"
        ),
        "{error}"
    );
}
