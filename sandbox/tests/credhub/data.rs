//! Set, get, find, delete.

use serde_json::{Value, json};

use crate::{client::members, foundation::Platform};

const NOT_FOUND: &str = "The request could not be completed because the credential does not exist or you do not have sufficient authorization.";

fn names(found: &Value) -> Vec<&str> {
    let found = found["credentials"].as_array().unwrap();
    found
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_was_set_is_read_by_id_by_name_and_by_version() {
    let (_platform, api) = Platform::with_admin().await;
    let first = api.set("/odb/x/pw", "value", json!("one")).await;
    let second = api.set("/odb/x/pw", "value", json!("two")).await;

    let order = [
        "type",
        "version_created_at",
        "id",
        "name",
        "metadata",
        "value",
    ];
    assert_eq!(members(&first), order);
    assert_eq!(
        (&first["metadata"], &first["name"]),
        (&json!(null), &json!("/odb/x/pw"))
    );
    let time = first["version_created_at"].as_str().unwrap();
    assert!(
        time.len() == "2024-11-05T10:15:30Z".len() && time.ends_with('Z'),
        "{time}"
    );
    let id = first["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/api/v1/data/{id}")).await.ok(), first);
    let all = json!({"data": [second, first]});
    for query in ["name=/odb/x/pw", "name=/odb/x/pw&versions=2"] {
        let path = format!("/api/v1/data?{query}");
        assert_eq!(api.get(&path).await.ok(), all, "{query}");
    }
    let newest = json!({"data": [second]});
    for query in [
        "current=true&name=odb/x/pw",
        "name=/ODB/x/PW&versions=1",
        "name=/odb/x/pw&current=true",
    ] {
        assert_eq!(
            api.get(&format!("/api/v1/data?{query}")).await.ok(),
            newest,
            "{query}"
        );
    }

    assert_eq!(api.delete("/api/v1/data?name=/odb/x/pw").await.status, 204);
    for path in [
        "/api/v1/data?name=/odb/x/pw".to_owned(),
        format!("/api/v1/data/{id}"),
    ] {
        assert_eq!(
            api.get(&path).await.rejection(),
            (404, NOT_FOUND.to_owned())
        );
    }
    let again = api.delete("/api/v1/data?name=/odb/x/pw").await;
    assert_eq!(again.rejection(), (404, NOT_FOUND.to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_is_shown_with_the_members_that_it_has() {
    let (_platform, api) = Platform::with_admin().await;
    let cases = [
        ("value", json!("v"), json!("v")),
        ("password", json!("p"), json!("p")),
        (
            "json",
            json!({"a": [1, {"b": null}]}),
            json!({"a": [1, {"b": null}]}),
        ),
    ];
    for (kind, value, shown) in cases {
        let answer = api.set(&format!("/{kind}"), kind, value).await;
        assert_eq!((&answer["type"], &answer["value"]), (&json!(kind), &shown));
    }
    let body = json!({"name": "with-metadata", "type": "value", "value": "v", "metadata": {"owner": "me"}});
    let named = api.put("/api/v1/data", &body).await;
    assert_eq!(named.ok()["metadata"], json!({"owner": "me"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "a table, one row per rejection")]
async fn a_set_that_cannot_be_is_refused_with_its_status_and_its_reason() {
    let (_platform, api) = Platform::with_admin().await;
    api.set("/there", "value", json!("v")).await;
    let long = "x".repeat(64 * 1024 + 1);
    let cases = [
        (
            json!({"type": "value", "value": "v"}),
            400,
            "A credential name must be provided",
        ),
        (
            json!({"name": "/", "type": "value", "value": "v"}),
            400,
            "A credential name must be provided",
        ),
        (
            json!({"name": "/a//b", "type": "value", "value": "v"}),
            400,
            "cannot end with a '/'",
        ),
        (
            json!({"name": "/a/", "type": "value", "value": "v"}),
            400,
            "cannot end with a '/'",
        ),
        (
            json!({"name": "/a b", "type": "value", "value": "v"}),
            400,
            "may only include",
        ),
        (
            json!({"name": "x".repeat(1024), "type": "value", "value": "v"}),
            400,
            "cannot exceed 1024",
        ),
        (
            json!({"name": "/a", "type": "value"}),
            400,
            "A non-empty value",
        ),
        (
            json!({"name": "/a", "type": "value", "value": ""}),
            400,
            "A non-empty value",
        ),
        (
            json!({"name": "/a", "type": "json", "value": null}),
            400,
            "A non-empty value",
        ),
        (
            json!({"name": "/a", "type": "password", "value": ""}),
            400,
            "A password value",
        ),
        (
            json!({"name": "/there", "type": "password", "value": "v"}),
            400,
            "type cannot be modified",
        ),
        (
            json!({"name": "/a", "value": "v"}),
            422,
            "does not include a valid type",
        ),
        (
            json!({"name": "/a", "type": "dragon", "value": "v"}),
            422,
            "does not include a valid type",
        ),
        (
            json!({"name": "/a", "type": "value", "value": "v", "mode": "overwrite"}),
            422,
            "unrecognized parameter 'mode'",
        ),
        (
            json!({"name": "/a", "type": "value", "value": "v", "overwrite": true}),
            422,
            "unrecognized parameter 'overwrite'",
        ),
        (
            json!({"name": "/a", "type": "value", "value": long}),
            413,
            "exceeds the maximum size",
        ),
        (
            json!({"name": "/a", "type": "value", "value": "v", "metadata": {"a": "x".repeat(7000)}}),
            400,
            "metadata cannot exceed 7000",
        ),
        (json!([]), 400, "did not meet expectation"),
    ];
    for (body, status, text) in cases {
        let (found, error) = api.put("/api/v1/data", &body).await.rejection();
        assert_eq!(found, status, "{error}: {:.200}", body.to_string());
        assert!(
            error.contains(text),
            "{error} for {:.200}",
            body.to_string()
        );
    }
    assert_eq!(
        api.get("/api/v1/data?name=/a").await.status,
        404,
        "nothing was set"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_found_by_path_and_by_part_the_newest_first() {
    let (_platform, api) = Platform::with_admin().await;
    for name in ["/odb/s/d1/a", "/odb/s/d1/b", "/odb/s/d10/a", "/other"] {
        api.set(name, "value", json!("v")).await;
    }
    api.set("/odb/s/d1/a", "value", json!("w")).await;

    let find = async |query: &str| api.get(&format!("/api/v1/data?{query}")).await.ok();
    let found = find("path=odb/s/D1").await;
    assert_eq!(names(&found), ["/odb/s/d1/a", "/odb/s/d1/b"]);
    assert_eq!(
        members(&found["credentials"][0]),
        ["version_created_at", "name"]
    );
    assert_eq!(
        names(&find("path=/odb/s/d1/").await),
        ["/odb/s/d1/a", "/odb/s/d1/b"]
    );
    assert_eq!(
        names(&find("name-like=D1").await),
        ["/odb/s/d1/a", "/odb/s/d10/a", "/odb/s/d1/b"]
    );
    assert_eq!(find("path=/nowhere").await, json!({"credentials": []}));
    assert_eq!(find("name-like=nothing").await, json!({"credentials": []}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_lacks_or_mixes_parameters_is_refused() {
    let (_platform, api) = Platform::with_admin().await;
    let cases = [
        (
            "/api/v1/data",
            400,
            "The query parameter name is required for this request.",
        ),
        (
            "/api/v1/data?name=",
            400,
            "The query parameter name is required for this request.",
        ),
        (
            "/api/v1/data?name=/a&current=true&versions=2",
            400,
            "The query parameters current and versions cannot be provided in the same request.",
        ),
        (
            "/api/v1/data?name=/a&versions=-1",
            400,
            "The query parameter versions was not valid for this request.",
        ),
        ("/api/v1/data/not-a-uuid", 404, NOT_FOUND),
    ];
    for (path, status, text) in cases {
        assert_eq!(
            api.get(path).await.rejection(),
            (status, text.to_owned()),
            "{path}"
        );
    }
    assert_eq!(api.delete("/api/v1/data").await.status, 400);
    assert_eq!(api.get("/api/v1/nothing").await.status, 404);
}

/// A slash at the end of a path changes nothing (cloudfoundry/credhub, pull request 906).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_may_end_with_a_slash() {
    let (_platform, api) = Platform::with_admin().await;
    let stored = api.set("/slash", "value", json!("v")).await;
    let id = stored["id"].as_str().unwrap();

    let found = api.get("/api/v1/data/?name=/slash&current=true").await.ok();
    assert_eq!(found["data"], json!([stored]));
    assert_eq!(api.get(&format!("/api/v1/data/{id}/")).await.ok(), stored);
    let nowhere = api.get("/api/v1/nowhere/").await;
    assert_eq!(nowhere.status, 404);
}
