//! Calls that are refused, in a real Director's form.

use reqwest::Method;
use serde_json::json;

use crate::{
    client::Client,
    foundation::{Foundation, UUID, redis},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_client_is_challenged_in_plain_text() {
    let foundation = Foundation::without_processes();
    let admin = &["bosh.admin"][..];
    let clients: [Client; 4] = [
        foundation.unauthenticated_client(),
        foundation.client_with(foundation.token("odb", "1", -10, admin)),
        foundation.client_with(foundation.token("odb", "1-r", 300, admin)),
        foundation.client_with("nonsense".to_owned()),
    ];
    for client in clients {
        let answer = client.get("/deployments").await;
        assert_eq!(answer.reported(), (401, "Not authorized: '/deployments'\n"));
        assert_eq!(
            answer.header("www-authenticate"),
            "Basic realm=\"BOSH Director\""
        );
        assert_eq!(answer.header("content-type"), "text/html;charset=utf-8");
    }
    let basic = [("authorization", "Basic YnJva2VyOnB3")];
    let unauthenticated_client = foundation.unauthenticated_client();
    assert_eq!(
        unauthenticated_client
            .call(Method::GET, "/deployments", &basic, String::new())
            .await
            .status,
        401
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_info_of_the_director_is_public() {
    let foundation = Foundation::without_processes();
    let anonymous = foundation.unauthenticated_client().get("/info").await;
    assert_eq!(
        (anonymous.status.as_u16(), anonymous.header("content-type")),
        (200, "application/json")
    );
    let info = anonymous.json();
    assert_eq!((&info["user"], &info["uuid"]), (&json!(null), &json!(UUID)));
    assert_eq!(
        info["user_authentication"],
        json!({"type": "uaa", "options": {"url": "https://127.0.0.2:8443", "urls": ["https://127.0.0.2:8443"]}})
    );
    assert_eq!(foundation.admin().get("/info").await.json()["user"], "odb");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_paths_and_things_are_not_found() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let nonsense = bosh.get("/nonsense").await;
    assert_eq!(nonsense.reported(), (404, "Not Found: /nonsense"));
    assert_eq!(nonsense.header("content-type"), "text/plain");
    assert_eq!(
        bosh.get("/tasks/1/nonsense").await.reported(),
        (404, "Endpoint '/tasks/1/nonsense' not found.")
    );
    assert_eq!(
        bosh.get("/tasks/99999").await.reported(),
        (
            404,
            r#"{"code":10000,"description":"Task 99999 not found"}"#
        )
    );
    let missing = r#"{"code":70000,"description":"Deployment 'nope' doesn't exist"}"#;
    for path in ["", "/vms", "/instances", "/variables", "/errands"] {
        assert_eq!(
            bosh.get(&format!("/deployments/nope{path}"))
                .await
                .reported(),
            (404, missing),
            "{path}"
        );
    }
    assert_eq!(
        bosh.delete("/deployments/nope?force=true").await.reported(),
        (404, missing)
    );
    assert_eq!(
        bosh.post_json("/deployments/nope/errands/e/runs", &json!({}))
            .await
            .reported(),
        (404, missing)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_media_type_is_part_of_the_route() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for media_type in ["application/x-yaml", "application/json"] {
        let headers = [("content-type", media_type)];
        let answer = bosh
            .call(
                Method::POST,
                "/deployments",
                &headers,
                redis("d").to_string(),
            )
            .await;
        assert_eq!(
            answer.reported(),
            (404, "Endpoint '/deployments' not found.")
        );
    }
    let answer = bosh.post_yaml("/configs", "{}").await;
    assert_eq!(answer.reported(), (404, "Endpoint '/configs' not found."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_that_is_none_is_refused_at_once() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let cases = [
        (
            "",
            r#"{"code":440001,"description":"Manifest should not be empty"}"#,
        ),
        (
            "just text",
            r#"{"code":440001,"description":"Manifest should be a hash"}"#,
        ),
        (
            "a: 1",
            r#"{"code":40001,"description":"Deployment manifest must have a 'name' key"}"#,
        ),
    ];
    for (body, error) in cases {
        assert_eq!(
            bosh.post_yaml("/deployments", body).await.reported(),
            (400, error)
        );
    }
    let no_yaml = bosh.post_yaml("/deployments", "{a: [").await;
    assert_eq!(
        (no_yaml.status.as_u16(), &no_yaml.json()["code"]),
        (400, &json!(440_001))
    );
    let text = no_yaml.json()["description"].as_str().unwrap().to_owned();
    assert!(
        text.starts_with("Incorrect YAML structure of the uploaded manifest: "),
        "{text}"
    );

    let long = "x".repeat(65);
    let headers = [
        ("content-type", "text/yaml"),
        ("x-bosh-context-id", long.as_str()),
    ];
    let answer = bosh
        .call(
            Method::POST,
            "/deployments",
            &headers,
            redis("d").to_string(),
        )
        .await;
    let error = r#"{"code":70010,"description":"X-Bosh-Context-Id cannot be more than 64 characters in length"}"#;
    assert_eq!(answer.reported(), (400, error));
    assert_eq!(bosh.get("/deployments").await.body, "[]");
    assert_eq!(bosh.get("/tasks").await.body, "[]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_call_that_is_no_json_stumbles() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    for body in ["", "{bad"] {
        let answer = bosh
            .call(
                Method::POST,
                "/deployments/d/errands/health-check/runs",
                &[],
                body.to_owned(),
            )
            .await;
        assert_eq!(answer.reported(), (500, ""));
    }
}

/// The Director's model refuses names beside `VALID_ID`, its database numbers as names (cloudfoundry/bosh,
/// `models/deployment.rb`); neither is an error with words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_of_a_name_that_no_deployment_has_stumbles() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for name in [
        json!("two words"),
        json!("a/b"),
        json!("größe"),
        json!(""),
        json!(123),
        json!(true),
        json!(["d"]),
    ] {
        let mut manifest = redis("d");
        manifest["name"] = name.clone();
        let answer = bosh.post_yaml("/deployments", manifest.to_string()).await;
        assert_eq!(answer.reported(), (500, ""), "{name}");
    }
    for name in [json!(null), json!(false)] {
        let mut manifest = redis("d");
        manifest["name"] = name.clone();
        let answer = bosh.post_yaml("/deployments", manifest.to_string()).await;
        let error = r#"{"code":40001,"description":"Deployment manifest must have a 'name' key"}"#;
        assert_eq!(answer.reported(), (400, error), "{name}");
    }
    assert_eq!(bosh.get("/deployments").await.body, "[]");
    assert_eq!(bosh.get("/tasks").await.body, "[]");
    // All that a name may hold; variables know less, so the task itself may fail.
    let task = bosh.deploy(&redis("A-1_b.c+d")).await;
    bosh.ended(task).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_id_that_is_no_number_stumbles() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    for path in [
        "/tasks/abc",
        "/tasks/1x",
        "/tasks/99999999999999999999",
        "/tasks/abc/output?type=event",
    ] {
        assert_eq!(bosh.get(path).await.reported(), (500, ""), "{path}");
    }
    assert_eq!(bosh.delete("/task/abc").await.reported(), (500, ""));
    assert_eq!(
        bosh.get("/tasks/-1").await.reported(),
        (404, r#"{"code":10000,"description":"Task -1 not found"}"#)
    );
}
