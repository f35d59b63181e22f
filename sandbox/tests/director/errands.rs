//! Errands.

use reqwest::Method;
use serde_json::json;

use crate::{
    client::Event,
    foundation::{Foundation, redis},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_errands_of_a_deployment_are_its_groups_and_jobs() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["instance_groups"][1]["name"] = json!("smoke-ig");
    bosh.deployed(&manifest).await;
    assert_eq!(
        bosh.get("/deployments/d/errands").await.body,
        r#"[{"name":"smoke-ig"},{"name":"cleanup-data"},{"name":"health-check"}]"#
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_group_has_a_vm_only_while_it_runs() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let task = bosh.run_errand("d", "health-check", &json!({})).await;
    let ended = bosh.done(task).await;
    assert_eq!(
        ended["description"],
        "run errand health-check from deployment d"
    );
    assert_eq!(ended["result"], "1 succeeded, 0 errored, 0 canceled");
    let stages = bosh.stages(task).await;
    assert_eq!(
        stages[..6],
        [
            "Preparing deployment",
            "warning",
            "Preparing package compilation",
            "Creating missing vms",
            "Updating instance",
            "Running errand",
        ]
    );
    assert!(
        stages[6].starts_with("Fetching logs for health-check/"),
        "{stages:?}"
    );
    assert_eq!(foundation.vm_folders().len(), 1);

    let kept = json!({"keep-alive": true, "instances": [{"group": "health-check", "id": "first"}]});
    bosh.errand_result("d", "health-check", &kept).await;
    assert_eq!(
        bosh.get("/deployments/d/vms")
            .await
            .json()
            .as_array()
            .unwrap()
            .len(),
        2
    );
    bosh.errand_result("d", "health-check", &json!({})).await;
    assert_eq!(foundation.vm_folders().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_errand_leaves_its_task_done_and_reports_its_exit_code() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["instance_groups"][1]["properties"] =
        json!({"health-check": {"systest-failure-override": true}});
    bosh.deployed(&manifest).await;
    let task = bosh.run_errand("d", "health-check", &json!({})).await;
    assert_eq!(
        bosh.done(task).await["result"],
        "0 succeeded, 1 errored, 0 canceled"
    );
    let result = bosh
        .get(&format!("/tasks/{task}/output?type=result"))
        .await
        .json();
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "instance",
            "errand_name",
            "exit_code",
            "stdout",
            "stderr",
            "logs"
        ]
    );
    assert_eq!(
        (&result["exit_code"], &result["instance"]["group"]),
        (&json!(1), &json!("health-check"))
    );
    assert!(
        result["stderr"]
            .as_str()
            .unwrap()
            .contains("failing because of")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_colocated_errand_runs_on_the_selected_service_instance() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    let groups = manifest["instance_groups"].as_array_mut().unwrap();
    groups.truncate(1);
    groups[0]["jobs"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "health-check"}));
    bosh.deployed(&manifest).await;
    let id = bosh.get("/deployments/d/instances").await.json()[0]["id"].clone();
    for selector in [json!("first"), json!(0), json!("0"), id] {
        let options = json!({"instances": [{"group": "redis-server", "id": selector}]});
        let result = bosh.errand_result("d", "health-check", &options).await;
        assert_eq!(
            (&result["exit_code"], &result["instance"]["group"]),
            (&json!(0), &json!("redis-server"))
        );
    }
    let task = bosh.run_errand("d", "health-check", &json!({})).await;
    bosh.done(task).await;
    assert!(
        !bosh
            .stages(task)
            .await
            .contains(&"Creating missing vms".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_that_would_run_unchanged_can_be_skipped() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let when_changed = json!({"when-changed": true});
    bosh.errand_result("d", "health-check", &when_changed).await;
    let task = bosh.run_errand("d", "health-check", &when_changed).await;
    assert_eq!(
        bosh.done(task).await["result"],
        "skipped - no changes detected"
    );
    assert_eq!(bosh.output(task, "result").await, "");

    let mut manifest = redis("d");
    manifest["instance_groups"][1]["properties"] = json!({"health-check": {"systest-sleep": 1}});
    bosh.deployed(&manifest).await;
    bosh.errand_result("d", "health-check", &when_changed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_errand_and_a_selector_that_matches_nothing_fail_in_the_task() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let task = bosh.run_errand("d", "nope", &json!({})).await;
    assert_eq!(
        bosh.error_of(task).await,
        ("70009".to_owned(), "Errand 'nope' doesn't exist".to_owned())
    );

    let options = json!({"instances": [{"group": "srv", "id": "no-such-id"}]});
    let task = bosh.run_errand("d", "health-check", &options).await;
    let text = r#"No instances match selection criteria: [{"group"=>"srv", "id"=>"no-such-id"}]"#;
    assert_eq!(
        bosh.error_of(task).await,
        ("100".to_owned(), text.to_owned())
    );
}

/// The lines of an event log, each without its time and what it is one of.
fn shortened(events: &[Event]) -> Vec<String> {
    let lines = events.iter();
    lines
        .map(|event| format!("{} | {} | {}", event.stage, event.task, event.state))
        .collect()
}

/// As cloudfoundry/bosh has it in `errand/errand_provider.rb`: the packages of an errand group are looked for before
/// the selectors are held against the instances.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_selector_is_found_out_after_the_packages_of_an_errand_group() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["instance_groups"][1]["name"] = json!("smoke-ig");
    bosh.deployed(&manifest).await;

    let options = json!({"instances": [{"group": "smoke-ig"}, {"group": "srv", "id": "9"}]});
    let task = bosh.run_errand("d", "health-check", &options).await;
    bosh.ended(task).await;

    let text = r#"No instances match selection criteria: [{"group"=>"srv", "id"=>"9"}]"#;
    assert_eq!(
        shortened(&bosh.events(task).await),
        [
            "Preparing deployment | Preparing deployment | started".to_owned(),
            "Preparing package compilation | Finding packages to compile | started".to_owned(),
            "Preparing package compilation | Finding packages to compile | finished".to_owned(),
            "Preparing deployment | Preparing deployment | failed".to_owned(),
            format!("error | {text} | 100"),
        ]
    );
}

/// The line is within the step, as in the Director's own specs (cloudfoundry/bosh, `errand_provider_spec.rb`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_errand_whose_name_is_a_job_and_a_group_is_run_with_a_warning() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let text = "Ambiguous request: the requested errand name 'health-check' matches both a job name and an errand instance group name. Executing errand on all relevant instances with job 'health-check'.";

    let task = bosh.run_errand("d", "health-check", &json!({})).await;
    bosh.done(task).await;

    let log = bosh.output(task, "event").await;
    let second = log.lines().nth(1).unwrap();
    let (time, rest) = second.split_once(',').unwrap();
    assert!(time.starts_with(r#"{"time":"#), "{second}");
    assert_eq!(rest, format!(r#""type":"warning","message":"{text}"}}"#));
    assert_eq!(
        shortened(&bosh.events(task).await)[..5],
        [
            "Preparing deployment | Preparing deployment | started".to_owned(),
            format!("warning | {text} | "),
            "Preparing package compilation | Finding packages to compile | started".to_owned(),
            "Preparing package compilation | Finding packages to compile | finished".to_owned(),
            "Preparing deployment | Preparing deployment | finished".to_owned(),
        ]
    );
}

/// No stage has begun by then, and any stopped instance of the deployment counts unless selectors leave it out
/// (cloudfoundry/bosh, pull request 2339).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_errand_runs_while_an_instance_is_stopped() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    bosh.deployed(&redis("d")).await;
    let instances = bosh.get("/deployments/d/instances").await.json();
    let instances = instances.as_array().unwrap();
    let redis = instances.iter().find(|one| one["job"] == "redis-server");
    let id = redis.unwrap()["id"].as_str().unwrap();
    let put = async |state: &str| {
        let path = format!("/deployments/d/jobs/redis-server?state={state}");
        let headers = [("content-type", "text/yaml")];
        let answer = bosh.call(Method::PUT, &path, &headers, String::new()).await;
        bosh.done(answer.task()).await;
    };

    put("stopped").await;
    let task = bosh.run_errand("d", "health-check", &json!({})).await;
    let ended = bosh.ended(task).await;

    let text = format!(
        "Instance(s) 'redis-server/{id}' is stopped, unable to run errand. Maybe start vm?"
    );
    assert_eq!(ended["state"], "error");
    assert_eq!(
        shortened(&bosh.events(task).await),
        [format!("error | {text} | 510000")]
    );
    let elsewhere = json!({"instances": [{"group": "health-check"}]});
    bosh.errand_result("d", "health-check", &elsewhere).await;
    put("started").await;
    bosh.errand_result("d", "health-check", &json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_that_was_never_deployed_has_no_list_of_errands() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["instance_groups"][0]["vm_type"] = json!("huge");
    let failed = bosh.deploy(&manifest).await;
    bosh.ended(failed).await;

    let answer = bosh.get("/deployments/d/errands").await;

    assert_eq!(
        answer.reported(),
        (
            404,
            r#"{"code":70000,"description":"- Deployment '' doesn't exist"}"#
        )
    );
}
