//! Deploys that fail.

use serde_json::{Value, json};

use crate::{
    foundation::{Foundation, Options, redis, redis_with_password},
    redis::ask,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "a table, one row per error")]
async fn a_manifest_that_names_what_is_not_there_or_contradicts_itself_fails_the_task() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let cases: [(&str, Value, &str, &str); 19] = [
        (
            "/releases/0/name",
            json!("tiny"),
            "30005",
            "Release 'tiny' doesn't exist",
        ),
        (
            "/releases/0/version",
            json!("9"),
            "30006",
            "Release version 'redis-example-service/9' doesn't exist",
        ),
        (
            "/stemcells/0/os",
            json!("other-os"),
            "50003",
            "Stemcell version '1.80' for OS 'other-os' doesn't exist",
        ),
        (
            "/instance_groups/0/vm_type",
            json!("huge"),
            "140004",
            "Instance group 'redis-server' references an unknown vm type 'huge'",
        ),
        (
            "/instance_groups/0/stemcell",
            json!("s"),
            "140005",
            "Instance group 'redis-server' references an unknown stemcell 's'",
        ),
        (
            "/instance_groups/0/persistent_disk_type",
            json!("9TB"),
            "140012",
            "Instance group 'redis-server' references an unknown disk type '9TB'",
        ),
        (
            "/instance_groups/0/networks/0/name",
            json!("n"),
            "150001",
            "Instance group 'redis-server' references an unknown network 'n'",
        ),
        (
            "/instance_groups/0/azs",
            json!(["z9"]),
            "140018",
            "Instance group 'redis-server' references unknown availability zone 'z9'",
        ),
        (
            "/instance_groups/0/jobs/0/name",
            json!("mysql"),
            "100",
            "Job 'mysql' not found in Template table",
        ),
        (
            "/variables/0/type",
            json!("dragon"),
            "540005",
            "Config Server failed to generate value for '/TestDirector/bad/secret_pass' with type 'dragon'. HTTP Code '400', Error: 'The request does not include a valid type. Valid values for generate include 'password', 'user', 'certificate', 'ssh' and 'rsa'.'",
        ),
        (
            "/update/canary_watch_time",
            json!("9-3"),
            "180001",
            "Min watch time cannot be greater than max watch time",
        ),
        (
            "/update/max_in_flight",
            json!(true),
            "40000",
            "Property 'max_in_flight' value (true) did not match the required type 'String'",
        ),
        (
            "/instance_groups/0/jobs/0/release",
            json!("other"),
            "140002",
            "Job 'redis-server' (instance group 'redis-server') references an unknown release 'other'",
        ),
        (
            "/instance_groups/0/azs",
            json!([]),
            "140017",
            "Instance group 'redis-server' has empty availability zones",
        ),
        (
            "/instance_groups/0/networks",
            json!([]),
            "140009",
            "Instance group 'redis-server' must specify at least one network",
        ),
        (
            "/instance_groups/1/name",
            json!("redis-server"),
            "190006",
            "Invalid instance group name 'redis-server', canonical name already taken",
        ),
        (
            "/instance_groups/0/networks/0",
            json!({"name": "default", "static_ips": ["10.0.0.1", "10.0.0.2"]}),
            "150002",
            "Instance group 'redis-server' has 1 instances but was allocated 2 static IPs in network 'default'",
        ),
        (
            "/stemcells/0",
            json!({"alias": "only-stemcell", "version": "1"}),
            "40001",
            r#"Required property 'os' or 'name' was not specified in object ({"alias"=>"only-stemcell", "version"=>"1"})"#,
        ),
        (
            "/releases/0/version",
            json!("7.latest.4"),
            "30006",
            "Release version 'redis-example-service/7.latest.4' doesn't exist",
        ),
    ];
    for (location, value, code, text) in cases {
        let mut manifest = redis("bad");
        *manifest.pointer_mut(location).unwrap() = value;
        assert_eq!(
            bosh.deploy_error(&manifest).await,
            (code.to_owned(), text.to_owned()),
            "{location}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_first_deploy_leaves_a_deployment_without_a_manifest() {
    let foundation = Foundation::without_processes();
    let bosh = foundation.admin();
    let (code, _) = bosh
        .deploy_error(&json!({"name": "service-instance_bad1"}))
        .await;
    assert_eq!(code, "40001");
    assert_eq!(
        bosh.get("/deployments/service-instance_bad1").await.body,
        r#"{"manifest":null}"#
    );
    assert_eq!(
        bosh.get("/deployments").await.json()[0]["name"],
        "service-instance_bad1"
    );
    assert_eq!(
        bosh.get("/deployments/service-instance_bad1/errands")
            .await
            .body,
        r#"{"code":70000,"description":"- Deployment '' doesn't exist"}"#
    );

    let delete = bosh
        .delete("/deployments/service-instance_bad1?force=true")
        .await
        .task();
    bosh.done(delete).await;
    assert_eq!(
        bosh.stages(delete).await,
        ["Removing deployment artifacts", "Deleting properties"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_update_keeps_the_manifest_and_can_be_repaired() {
    let foundation = Foundation::start();
    let bosh = foundation.admin();
    let good = redis_with_password("d", "secret");
    bosh.deployed(&good).await;
    let address = bosh.address("d", "redis-server").await;
    ask(&address, &["AUTH secret", "SET k v"]).await;
    let mut bad = good.clone();
    bad["instance_groups"][0]["jobs"][0]["properties"]["redis"]["persistence"] = json!("perhaps");
    let (code, text) = bosh.deploy_error(&bad).await;
    let id = bosh.get("/deployments/d/instances").await.json()[0]["id"].clone();
    assert_eq!(code, "400007");
    assert_eq!(
        text,
        format!(
            "'redis-server/{} (0)' is not running after update. Review logs for failed jobs: redis-server",
            id.as_str().unwrap()
        )
    );
    assert_eq!(
        bosh.get("/deployments/d").await.json(),
        json!({"manifest": good.to_string()})
    );

    bosh.deployed(&good).await;
    assert!(
        ask(&address, &["AUTH secret", "GET k"])
            .await
            .contains("\r\nv\r\n")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_program_is_not_installed_says_so() {
    let jobs = tempfile::tempdir().unwrap();
    let job = jobs.path().join("absent");
    std::fs::create_dir(&job).unwrap();
    let spec = "name: absent\ndescription: d\nprocesses: [{command: [no-such-server], port: 1, ready_within_seconds: 1, stop_within_seconds: 1}]\n";
    std::fs::write(job.join("job.yml"), spec).unwrap();
    let foundation = Foundation::with(Options {
        jobs: jobs.path().to_owned(),
        ..Options::default()
    });
    let mut manifest = redis("d");
    let groups = manifest["instance_groups"].as_array_mut().unwrap();
    groups.truncate(1);
    groups[0]["jobs"] = json!([{"name": "absent"}]);
    manifest["variables"] = json!([]);
    let (_, text) = foundation.admin().deploy_error(&manifest).await;
    assert_eq!(
        text,
        "Action Failed start: job 'absent' cannot be started: the program 'no-such-server' is not on the PATH"
    );
}
