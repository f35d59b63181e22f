//! Configs.

use serde_json::{Value, json};

use crate::foundation::{Foundation, redis};

fn config(kind: &str, name: &str, content: &str) -> Value {
    json!({"type": kind, "name": name, "content": content})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_is_kept_in_versions() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let first = bosh
        .post_json("/configs", &config("odb-operation", "one", "a: 1\n"))
        .await;
    assert_eq!(first.status, 201);
    let keys: Vec<String> = first.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        keys,
        [
            "content",
            "id",
            "type",
            "name",
            "team",
            "created_at",
            "current"
        ]
    );
    let again = bosh
        .post_json("/configs", &config("odb-operation", "one", "a: 1\n"))
        .await;
    assert_eq!(again.json(), first.json());
    let second = bosh
        .post_json("/configs", &config("odb-operation", "one", "a: 2\n"))
        .await
        .json();
    let (old, new) = (first.json()["id"].clone(), second["id"].clone());
    assert_ne!(old, new);

    let ids = async |query: &str| {
        let found = bosh.get(&format!("/configs?{query}")).await.json();
        let found = found.as_array().unwrap().iter();
        found
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (old, new) = (old.as_str().unwrap(), new.as_str().unwrap());
    assert_eq!(ids("type=odb-operation").await, [new]);
    assert_eq!(
        ids("type=odb-operation&name=one&latest=false").await,
        [new, old]
    );
    assert_eq!(ids("type=odb-operation&limit=1").await, [new]);
    assert_eq!(ids("type=odb-operation&name=nope").await, [""; 0]);
    assert_eq!(ids("type=cloud").await.len(), 1);

    let shown = bosh.get(&format!("/configs/{old}")).await.json();
    assert_eq!(
        (&shown["content"], &shown["current"]),
        (&json!("a: 1\n"), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_is_added_only_to_the_one_that_was_expected() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let first = bosh
        .post_json("/configs", &config("t", "n", "a: 1\n"))
        .await
        .json();
    let mut next = config("t", "n", "a: 2\n");
    next["expected_latest_id"] = first["id"].clone();
    let second = bosh.post_json("/configs", &next).await;
    assert_eq!(second.status, 201);
    next["content"] = json!("a: 3\n");
    let stale = bosh.post_json("/configs", &next).await;
    assert_eq!(stale.status, 412);
    let (latest, expected) = (second.json()["id"].clone(), first["id"].clone());
    assert_eq!(
        stale.json(),
        json!({
            "latest_id": latest,
            "expected_latest_id": expected,
            "description": format!("Latest Id: '{}' does not match expected latest id", latest.as_str().unwrap()),
        })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_is_deleted_whole_or_by_version() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let id = bosh
        .post_json("/configs", &config("t", "n", "a: 1\n"))
        .await
        .json()["id"]
        .clone();
    let id = id.as_str().unwrap();
    assert_eq!(bosh.delete("/configs?type=t&name=n").await.status, 204);
    let again = bosh.delete("/configs?type=t&name=n").await;
    assert_eq!(again.reported(), (404, "Endpoint '/configs' not found."));
    let gone = bosh.get(&format!("/configs/{id}")).await;
    assert_eq!(
        gone.body,
        format!(r#"{{"code":440012,"description":"Config {id} not found"}}"#)
    );

    let id = bosh
        .post_json("/configs", &config("t", "n", "a: 1\n"))
        .await
        .json()["id"]
        .clone();
    assert_eq!(
        bosh.delete(&format!("/configs/{}", id.as_str().unwrap()))
            .await
            .status,
        204
    );
    assert_eq!(bosh.get("/configs?type=t").await.body, "[]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_config_is_refused() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let cases = [
        (
            json!({"type": "cloud", "content": "x: 1\n"}),
            440_010,
            "'name' is required",
        ),
        (
            config("cloud", "z", "just text"),
            440_011,
            "YAML hash expected",
        ),
        (json!([]), 440_010, "JSON object expected"),
    ];
    for (body, code, text) in cases {
        let answer = bosh.post_json("/configs", &body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (400, json!({"code": code, "description": text}))
        );
    }
    let bad_latest = bosh.get("/configs?latest=maybe").await;
    assert_eq!(
        bad_latest.body,
        r#"{"code":440010,"description":"'latest' must be 'true' or 'false'"}"#
    );
    assert_eq!(
        bosh.delete("/configs?type=cloud").await.json()["description"],
        "'name' is required"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_teams_config_is_its_own() {
    let foundation = Foundation::without_processes();
    let (team, other) = (
        foundation.client(&["bosh.teams.odb.admin"]),
        foundation.client(&["bosh.teams.other.admin"]),
    );
    let created = team
        .post_json(
            "/configs",
            &config("cloud", "odb-t", "vm_types: [{name: xl}]\n"),
        )
        .await;
    assert_eq!(created.json()["team"], "odb");
    let visible = team.get("/configs?type=cloud").await.json();
    assert_eq!(visible.as_array().unwrap().len(), 1);
    assert_eq!(other.get("/configs").await.body, "[]");
    assert_eq!(
        other.delete("/configs?type=cloud&name=odb-t").await.status,
        401
    );
    assert_eq!(
        other
            .post_json("/configs", &config("cloud", "odb-t", "a: 1\n"))
            .await
            .status,
        401
    );
    assert_eq!(
        foundation
            .admin()
            .get("/configs")
            .await
            .json()
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        team.delete("/configs?type=cloud&name=odb-t").await.status,
        204
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cloud_config_takes_effect_with_the_next_deploy() {
    let foundation = Foundation::without_processes();
    let (admin, team) = (
        foundation.admin(),
        foundation.client(&["bosh.teams.odb.admin"]),
    );
    let mut manifest = redis("d");
    team.deployed(&manifest).await;
    manifest["instance_groups"][0]["vm_type"] = json!("xl");
    let failed = team.deploy(&manifest).await;
    assert_eq!(team.ended(failed).await["state"], "error");

    team.post_json(
        "/configs",
        &config("cloud", "d", "vm_types: [{name: xl}]\n"),
    )
    .await;
    assert_eq!(
        team.get("/deployments").await.json()[0]["cloud_config"],
        "outdated"
    );
    team.deployed(&manifest).await;
    assert_eq!(
        team.get("/deployments").await.json()[0]["cloud_config"],
        "latest"
    );

    manifest["name"] = json!("of-no-team");
    let failed = admin.deploy(&manifest).await;
    assert_eq!(
        admin.ended(failed).await["state"],
        "error",
        "the config is the team's"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_is_a_positive_number_as_the_director_writes_it() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for (limit, text) in [
        ("0", "'limit' must be larger than zero"),
        ("-1", "'limit' must be larger than zero"),
        ("x", "'limit' must be a number"),
        ("", "'limit' must be a number"),
        ("01", "'limit' must be a number"),
    ] {
        let answer = bosh.get(&format!("/configs?limit={limit}")).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (400, json!({"code": 440_010, "description": text})),
            "{limit}"
        );
    }
    let refused = bosh.get("/configs?limit=1&latest=maybe").await;
    assert_eq!(
        refused.json()["description"],
        "'latest' must be 'true' or 'false'"
    );
}

/// The texts are those of Ruby 3.1 and its Psych 4.0.4, to which the Director gives the content as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_content_that_is_no_yaml_hash_is_refused_as_such() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let tab = "Config must be valid YAML: (<unknown>): found character that cannot start any token while scanning for the next token at line 1 column 1";
    let no_text =
        |class| format!("Config must be valid YAML: no implicit conversion of {class} into String");
    for (content, text) in [
        (json!(""), "YAML hash expected".to_owned()),
        (json!("# nothing\n"), "YAML hash expected".to_owned()),
        (json!("12"), "YAML hash expected".to_owned()),
        (json!(12), no_text("Integer")),
        (json!(1.5), no_text("Float")),
        (json!(null), no_text("nil")),
        (json!(true), no_text("true")),
        (json!([]), no_text("Array")),
        (json!({"a": 1}), no_text("Hash")),
        (json!("\ta: 1\n"), tab.to_owned()),
    ] {
        let body = json!({"type": "t", "name": "n", "content": content});
        let answer = bosh.post_json("/configs", &body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (400, json!({"code": 440_011, "description": text})),
            "{content}"
        );
    }
    assert_eq!(bosh.get("/configs?type=t").await.body, "[]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_compares_ids_and_contents_in_any_mixture() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let one = bosh
        .post_json("/configs", &config("t", "n", "a: {b: 1}\n"))
        .await
        .json()["id"]
        .clone();
    let two = bosh
        .post_json("/configs", &config("t", "n", "a: {b: 2}\n"))
        .await
        .json()["id"]
        .clone();
    let lines = json!([["a:", null], ["  b: 1", "removed"], ["  b: 2", "added"]]);
    let (by_id, by_content) = (
        |id: &Value| json!({"id": id}),
        |text| json!({"content": text}),
    );
    for (from, to) in [
        (by_id(&one), by_id(&two)),
        (by_id(&one), by_content("a: {b: 2}\n")),
        (by_content("a: {b: 1}\n"), by_id(&two)),
        (by_content("a: {b: 1}\n"), by_content("a: {b: 2}\n")),
    ] {
        let body = json!({"from": from, "to": to});
        let answer = bosh.post_json("/configs/diff", &body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (200, json!({"diff": lines})),
            "{body}"
        );
    }
    let current = bosh
        .post_json("/configs/diff", &config("t", "n", "a: {b: 3}\n"))
        .await;
    assert_eq!(current.json()["from"], json!({"id": two}));
    let new = bosh
        .post_json("/configs/diff", &config("t", "new", "a: {b: 3}\n"))
        .await;
    assert_eq!(
        new.json(),
        json!({"from": {"id": "0"}, "diff": [["a:", "added"], ["  b: 3", "added"]]})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diff_of_what_is_no_config_is_refused() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let formats = "The following request formats are allowed:\n1. {\"from\":<config>,\"to\":<config>} where <config> is either {\"id\":\"<id>\"} or {\"content\":\"<content>\"}\n2. {\"type\":\"<type>\",\"name\":\"<name>\",\"content\":\"<content>\"}";
    for body in [
        json!({}),
        json!({"from": {"id": 1}, "to": {"content": ""}}),
        json!({"from": {"id": "1"}}),
        json!({"type": "t", "name": "", "content": "a: 1"}),
    ] {
        let answer = bosh.post_json("/configs/diff", &body).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()),
            (400, json!({"code": 440_010, "description": formats})),
            "{body}"
        );
    }
    let unknown = json!({"from": {"id": "99999"}, "to": {"content": "a: 1"}});
    let answer = bosh.post_json("/configs/diff", &unknown).await;
    assert_eq!(
        answer.reported(),
        (
            404,
            r#"{"code":440012,"description":"Config 99999 not found"}"#
        )
    );
    let text = json!({"from": {"content": "a: 1"}, "to": {"content": "text"}});
    let answer = bosh.post_json("/configs/diff", &text).await;
    let error = "Unable to diff config content: #<Bosh::Director::BadConfig: YAML hash expected>";
    assert_eq!(
        (answer.status.as_u16(), answer.json()),
        (400, json!({"diff": [], "error": error}))
    );
}
