//! The routes of before `/configs`, which the `bosh` command line takes for its commands of one kind of config.

use serde_json::json;

use crate::foundation::Foundation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_of_each_kind_is_updated_and_read() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for (path, kind, content, kept) in [
        (
            "/cloud_configs",
            "cloud",
            "azs: [{name: z9}]\n",
            "azs: [{name: z9}]\n",
        ),
        (
            "/runtime_configs",
            "runtime",
            "releases: [{name: dns, version: 1}]\n",
            "---\nreleases:\n- name: dns\n  version: \"1\"\n",
        ),
        (
            "/cpi_configs",
            "cpi",
            "cpis: [{name: one, type: dummy}]\n",
            "cpis: [{name: one, type: dummy}]\n",
        ),
    ] {
        let updated = bosh.post_yaml(path, content).await;
        assert_eq!(updated.reported(), (201, ""));
        let again = bosh.post_yaml(path, content).await;
        assert_eq!(again.status, 201);

        let query = format!("/configs?type={kind}&name=default&latest=false");
        let versions = bosh.get(&query).await.json();
        let latest = &versions[0];
        assert_eq!(latest["content"], kept, "{path}");
        let listed = bosh.get(&format!("{path}?limit=1")).await;
        assert_eq!(listed.header("content-type"), "text/html;charset=utf-8");
        assert_eq!(
            listed.json(),
            json!([{"properties": kept, "created_at": latest["created_at"]}])
        );
        let all = bosh.get(&format!("{path}?limit=9")).await.json();
        assert_eq!(
            all.as_array().unwrap().len(),
            versions.as_array().unwrap().len()
        );
        let deeds = bosh
            .get(&format!("/events?action=update&object_type={kind}-config"))
            .await
            .json();
        assert_eq!(deeds.as_array().unwrap().len(), 1, "{deeds}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn named_configs_are_apart_from_the_default_one() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let named = bosh.post_yaml("/runtime_configs?name=dns", "a: 1\n").await;
    assert_eq!(named.status, 201);

    let of = async |query: &str| bosh.get(&format!("/runtime_configs?{query}")).await.body;
    assert_eq!(of("limit=1").await, "[]");
    assert!(of("limit=1&name=dns").await.contains("a: 1"));
    assert_eq!(of("limit=0&name=dns").await, "[]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_is_against_the_latest_version() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for (path, hidden) in [
        ("/cloud_configs", "secret"),
        ("/runtime_configs", "<redacted>"),
        ("/cpi_configs", "<redacted>"),
    ] {
        bosh.post_yaml(path, "name: x\n").await;
        let new = "name: x\nproperties: {password: secret}\n";
        let answer = bosh.post_yaml(&format!("{path}/diff"), new).await;
        let value = if hidden == "secret" {
            "  password: secret".to_owned()
        } else {
            format!("  password: \"{hidden}\"")
        };
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (
                200,
                json!({"diff": [["properties:", "added"], [value, "added"]]})
            ),
            "{path}"
        );
        let shown = bosh
            .post_yaml(&format!("{path}/diff?redact=false"), new)
            .await;
        assert!(shown.body.contains("password: secret"), "{}", shown.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_or_no_manifest_is_refused() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for path in ["/cloud_configs", "/runtime_configs", "/cpi_configs"] {
        for (query, text) in [
            ("", "limit is required"),
            ("?limit=", "limit is required"),
            ("?limit=x", "limit is invalid: 'x' is not an integer"),
        ] {
            let answer = bosh.get(&format!("{path}{query}")).await;
            assert_eq!(answer.reported(), (400, text));
        }
        let empty = bosh.post_yaml(path, "").await;
        assert_eq!(
            empty.reported(),
            (
                400,
                r#"{"code":440001,"description":"Manifest should not be empty"}"#
            )
        );
        let json = bosh.post_json(path, &json!({})).await;
        assert_eq!(
            (json.status.as_u16(), json.body),
            (404, format!("Endpoint '{path}' not found."))
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_read_them_and_administrators_alone_change_them() {
    let foundation = Foundation::without_processes();
    let reader = foundation.client(&["bosh.read"]);
    let team = foundation.client(&["bosh.teams.odb.admin"]);
    for (path, of_reader) in [
        ("/cloud_configs", 200),
        ("/runtime_configs", 200),
        ("/cpi_configs", 401),
    ] {
        let list = format!("{path}?limit=1");
        assert_eq!(reader.get(&list).await.status, of_reader, "{path}");
        assert_eq!(team.get(&list).await.status, 401, "{path}");
        for client in [&reader, &team] {
            assert_eq!(client.post_yaml(path, "a: 1\n").await.status, 401);
            let diff = client.post_yaml(&format!("{path}/diff"), "a: 1\n").await;
            assert_eq!(diff.status, 401);
        }
    }
}
