//! The rights of administrators, readers and teams.

use reqwest::StatusCode;
use serde_json::json;

use crate::{
    client::Response,
    foundation::{Foundation, UUID, redis},
};

fn missing_scope(answer: &Response, rights: &[&str]) {
    let scopes: Vec<String> = rights
        .iter()
        .flat_map(|right| [format!("bosh.{right}"), format!("bosh.{UUID}.{right}")])
        .collect();
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        answer.json(),
        json!({"code": 600_000, "description": format!("Require one of the scopes: {}", scopes.join(", "))})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_has_its_own_deployments_and_tasks_only() {
    let foundation = Foundation::without_processes();
    let (admin, team) = (
        foundation.admin(),
        foundation.client(&["bosh.teams.odb.admin"]),
    );
    let others = admin.deployed(&redis("a1")).await;
    let own = team.deployed(&redis("t5")).await;

    let listed = team.get("/deployments").await.json();
    assert_eq!(
        (listed.as_array().unwrap().len(), &listed[0]["teams"]),
        (1, &json!(["odb"]))
    );
    missing_scope(&team.get("/deployments/a1").await, &["admin", "read"]);
    missing_scope(&team.delete("/deployments/a1").await, &["admin"]);
    missing_scope(
        &team
            .post_yaml("/deployments", redis("a1").to_string())
            .await,
        &["admin"],
    );
    assert_eq!(team.get("/deployments/nope").await.status, 404);

    let tasks = team.get("/tasks?verbose=2").await.json();
    assert_eq!(
        (tasks.as_array().unwrap().len(), &tasks[0]["id"]),
        (1, &json!(own))
    );
    assert_eq!(
        team.get(&format!("/tasks/{own}/output?type=debug"))
            .await
            .status,
        200
    );
    let refused = team.get(&format!("/tasks/{others}")).await;
    assert_eq!(refused.status, 401);
    let text = refused.json()["description"].as_str().unwrap().to_owned();
    assert!(
        text.starts_with(
            "One of the following scopes is required to access this task: bosh.admin, "
        )
    );
    missing_scope(&team.get("/locks").await, &["admin", "read"]);
    assert_eq!(team.get("/releases").await.status, 200);

    let result = team.errand_result("t5", "health-check", &json!({})).await;
    assert_eq!(result["exit_code"], 0);
    assert_eq!(team.get("/deployments/t5/variables").await.status, 200);
    let delete = team.delete("/deployments/t5").await.task();
    team.done(delete).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_cancels_no_task_not_even_its_own() {
    let foundation = Foundation::without_processes();
    let team = foundation.client(&["bosh.teams.odb.admin"]);
    let own = team.deployed(&redis("t6")).await;

    missing_scope(&team.delete(&format!("/task/{own}")).await, &["admin"]);
    missing_scope(&team.delete("/task/4711").await, &["admin"]);
    let all = json!({ "states": ["processing"] });
    missing_scope(&team.post_json("/tasks/cancel", &all).await, &["admin"]);

    let admin = foundation.admin();
    let too_late = admin.delete(&format!("/task/{own}")).await;
    assert_eq!(too_late.status, StatusCode::BAD_REQUEST);
    assert_eq!(admin.post_json("/tasks/cancel", &all).await.status, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_belongs_to_all_teams_of_who_deployed_it_first() {
    let foundation = Foundation::without_processes();
    let both = foundation.client(&["bosh.teams.blue.admin", "bosh.teams.red.admin"]);
    both.deployed(&redis("d")).await;
    let red = foundation.client(&["bosh.teams.red.admin"]);
    assert_eq!(
        red.get("/deployments").await.json()[0]["teams"],
        json!(["blue", "red"])
    );
    foundation.admin().deployed(&redis("d")).await;
    assert_eq!(red.get("/deployments/d").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_sees_everything_but_secrets_and_changes_nothing() {
    let foundation = Foundation::without_processes();
    let (admin, reader) = (foundation.admin(), foundation.client(&["bosh.read"]));
    let task = admin.deployed(&redis("d")).await;
    assert_eq!(reader.get("/deployments/d").await.status, 200);
    assert_eq!(
        reader
            .get(&format!("/tasks/{task}/output?type=event"))
            .await
            .status,
        200
    );
    missing_scope(
        &reader
            .get(&format!("/tasks/{task}/output?type=debug"))
            .await,
        &["admin"],
    );
    missing_scope(&reader.get("/deployments/d/variables").await, &["admin"]);
    missing_scope(
        &reader
            .post_yaml("/deployments", redis("d").to_string())
            .await,
        &["admin"],
    );
    missing_scope(&reader.delete("/deployments/d").await, &["admin"]);
    let of_this_director = foundation.client(&[&format!("bosh.{UUID}.read")]);
    assert_eq!(of_this_director.get("/deployments/d").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_right_reads_which_one_is_needed() {
    let foundation = Foundation::without_processes();
    let no_user = foundation.client(&["cloud_controller.admin"]);
    for path in ["/deployments", "/tasks", "/configs", "/locks", "/releases"] {
        missing_scope(&no_user.get(path).await, &["admin", "read"]);
    }
}

/// The route names no scope, so that of an administrator counts (cloudfoundry/bosh, `disks_controller.rb`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphaned_disks_are_shown_to_administrators_alone() {
    let foundation = Foundation::without_processes();
    for scope in ["bosh.read", "bosh.teams.odb.admin"] {
        let answer = foundation.client(&[scope]).get("/disks").await;
        missing_scope(&answer, &["admin"]);
    }
    assert_eq!(foundation.admin().get("/disks").await.body, "[]");
}
