//! Variables of a deployment, and the properties that they reach.

use serde_json::json;

use crate::{
    foundation::{Foundation, redis},
    redis::ask,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_values_stay_the_same_over_updates() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    bosh.deployed(&manifest).await;
    let variables = bosh.get("/deployments/d/variables").await.json();
    let names: Vec<&str> = variables
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "/TestDirector/d/instance_certificate",
            "/TestDirector/d/secret_pass"
        ]
    );

    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["maxclients"] = json!(99);
    bosh.deployed(&manifest).await;
    assert_eq!(bosh.get("/deployments/d/variables").await.json(), variables);
    let health = bosh.errand_result("d", "health-check", &json!({})).await;
    assert_eq!(
        health["exit_code"], 0,
        "the errand's password is the server's: {health}"
    );
    let address = bosh.address("d", "redis-server").await;
    assert!(ask(&address, &["PING"]).await.starts_with("-NOAUTH"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declared_property_needs_its_variable_and_an_undeclared_one_does_not() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("service-instance_bad6");
    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["password"] =
        json!("((never_defined))");
    let task = bosh.deploy(&manifest).await;
    let ended = bosh.ended(task).await;
    assert_eq!(
        ended["result"],
        "Unable to render instance groups for deployment. Errors\n  - Unable to render jobs for instance group 'redis-server'. Errors..."
    );
    insta::assert_snapshot!(bosh.error_of(task).await.1, @r"
    Unable to render instance groups for deployment. Errors are:
      - Unable to render jobs for instance group 'redis-server'. Errors are:
        - Unable to render templates for job 'redis-server'. Errors are:
          - Failed to find variable '/TestDirector/service-instance_bad6/never_defined' from config server: HTTP Code '404', Error: 'The request could not be completed because the credential does not exist or you do not have sufficient authorization.'
    ");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_config_server_the_first_reference_ends_the_rendering() {
    let foundation = Foundation::without_config_server();
    let bosh = foundation.admin();
    let mut manifest = redis("service-instance_bad4");
    manifest["variables"] = json!([]);
    insta::assert_snapshot!(bosh.deploy_error(&manifest).await.1, @r"
    Unable to render instance groups for deployment. Errors are:
      - Unable to render jobs for instance group 'redis-server'. Errors are:
        - Unable to render templates for job 'redis-server'. Errors are:
          Failed to fetch variable '/TestDirector/service-instance_bad4/secret_pass' from config server: Director is not configured with a config server
    ");

    let (code, text) = bosh.deploy_error(&redis("d")).await;
    assert_eq!(
        (code.as_str(), text.as_str()),
        (
            "540007",
            "Failed to generate variable from config server: Director is not configured with a config server",
        )
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_config_server_refuses_to_generate_fails_the_deploy() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["variables"] = json!([
        {"name": "cert", "type": "certificate", "options": {"common_name": "x", "ca": "none"}},
    ]);
    assert_eq!(bosh.deploy_error(&manifest).await, (
        "540005".to_owned(),
        "Config Server failed to generate value for '/TestDirector/d/cert' with type 'certificate'. HTTP Code '404', Error: 'The request could not be completed because the CA does not exist or you do not have sufficient authorization.'".to_owned(),
    ));
    manifest["variables"] = json!([{"name": "a.b", "type": "password"}]);
    assert_eq!(bosh.deploy_error(&manifest).await.0, "540004");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_follows_its_options_when_it_is_asked_to_converge() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    let id = async || {
        let variables = bosh.get("/deployments/d/variables").await.json();
        let variables = variables.as_array().unwrap().clone();
        let found = variables
            .iter()
            .find(|one| one["name"] == "/TestDirector/d/secret_pass");
        found.unwrap()["id"].clone()
    };
    bosh.deployed(&manifest).await;
    let first = id().await;
    manifest["variables"][0]["options"] = json!({"length": 40});
    bosh.deployed(&manifest).await;
    assert_eq!(id().await, first, "a value stays by default");
    manifest["variables"][0]["update_mode"] = json!("converge");
    bosh.deployed(&manifest).await;
    let second = id().await;
    assert_ne!(second, first);
    bosh.deployed(&manifest).await;
    assert_eq!(id().await, second);
    manifest["variables"][0]["update_mode"] = json!("overwrite");
    bosh.deployed(&manifest).await;
    assert_ne!(id().await, second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_template_that_lacks_a_property_fails_the_rendering() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["maxclients"] = json!(null);
    let task = bosh.deploy(&manifest).await;
    assert_eq!(bosh.ended(task).await["state"], "error");
    let (code, text) = bosh.error_of(task).await;
    assert_eq!(code, "100");
    assert!(
        text.contains("Error filling in template 'redis.conf'"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_needs_exactly_one_provider() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut none = redis("none");
    none["instance_groups"].as_array_mut().unwrap().remove(0);
    none["variables"] = json!([]);
    insta::assert_snapshot!(bosh.deploy_error(&none).await.1, @r"
    Failed to resolve links from deployment 'none'. See errors below:
      - Failed to resolve link 'redis' with type 'redis' from job 'health-check' in instance group 'health-check'. Details below:
        - No link providers found
      - Failed to resolve link 'redis' with type 'redis' from job 'cleanup-data' in instance group 'cleanup-data'. Details below:
        - No link providers found
    ");

    let mut two = redis("two");
    let mut second = two["instance_groups"][0].clone();
    second["name"] = json!("second");
    two["instance_groups"].as_array_mut().unwrap().push(second);
    let (_, text) = bosh.deploy_error(&two).await;
    assert!(text.contains("Multiple link providers found"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_can_choose_among_providers_by_alias() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let mut manifest = redis("d");
    let mut second = manifest["instance_groups"][0].clone();
    second["name"] = json!("second");
    second["jobs"][0]["provides"] = json!({"redis": {"as": "other"}, "redis-server-link": null});
    let groups = manifest["instance_groups"].as_array_mut().unwrap();
    groups.push(second);
    for location in [1, 2] {
        groups[location]["jobs"][0]["consumes"] = json!({"redis": {"from": "other"}});
    }
    bosh.deployed(&manifest).await;
}
