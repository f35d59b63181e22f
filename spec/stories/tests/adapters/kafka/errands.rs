use serde_json::{Value, json};

use super::inputs::{MISCONFIGURED, create, generate, generated, group, group_of, plan};

#[test]
fn smoke_tests_run_in_a_group_of_their_own() {
    let mut plan = plan();
    plan["instance_groups"]
        .as_array_mut()
        .unwrap()
        .push(group("smoke_tests", 1));
    plan["lifecycle_errands"] = json!({"post_deploy": [{"name": "smoke_tests"}]});
    let manifest = generated(&create(&plan, &json!({})));
    let errand = group_of(&manifest, "smoke_tests");
    assert_eq!(errand["lifecycle"], "errand");
    let job = json!([{"name": "smoke_tests", "release": "kafka-example-service"}]);
    assert_eq!(errand["jobs"], job);
    assert_eq!(jobs(&manifest, "kafka_server"), ["kafka_server"]);
}

#[test]
fn smoke_tests_run_colocated() {
    for instances in [
        json!(["kafka_server/0"]),
        json!(["kafka_server"]),
        json!(["kafka_server/0", "kafka_server/1"]),
    ] {
        let mut plan = plan();
        plan["lifecycle_errands"] = json!({
            "post_deploy": [{"name": "smoke_tests", "instances": instances}],
            "pre_delete": [{"name": "smoke_tests", "instances": ["zookeeper_server/0"]}],
        });
        let manifest = generated(&create(&plan, &json!({})));
        assert_eq!(
            jobs(&manifest, "kafka_server"),
            ["kafka_server", "smoke_tests"]
        );
        assert_eq!(
            jobs(&manifest, "zookeeper_server"),
            ["zookeeper_server", "smoke_tests"]
        );
    }
}

#[test]
fn an_errand_that_would_be_nowhere_is_refused_before_the_deployment() {
    for (errand, cause) in [
        (
            json!({"name": "smoke_tests"}),
            "errand `smoke_tests` of the plan is nowhere in the manifest",
        ),
        (
            json!({"name": "smoke_tests", "instances": ["spare/0"]}),
            "errand `smoke_tests` of the plan is not a job of instance group `spare`",
        ),
        (
            json!({"name": "restore", "instances": ["kafka_server/0"]}),
            "job `restore` not provided",
        ),
    ] {
        let mut plan = plan();
        plan["lifecycle_errands"] = json!({ "post_deploy": [errand] });
        let run = generate(&create(&plan, &json!({})));
        assert_eq!(run.rejection(), MISCONFIGURED);
        assert!(run.stderr.contains(cause), "{run:?}");
    }
}

fn jobs(manifest: &str, group: &str) -> Vec<String> {
    let group = group_of(manifest, group);
    let jobs = group["jobs"].as_array().unwrap().iter();
    jobs.map(|job: &Value| job["name"].as_str().unwrap().to_owned())
        .collect()
}
