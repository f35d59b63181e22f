use serde_json::json;

use super::inputs::{
    MISCONFIGURED, create, generate, generated, group, group_of, parsed, plan, properties,
    service_deployment,
};

#[test]
fn without_choices_the_defaults_hold() {
    let manifest = generated(&create(&plan(), &json!({})));
    let expected = json!({
        "auto_create_topics": true, "default_replication_factor": 3, "network": "svc-net",
        "service_adapter_fails": false,
    });
    assert_eq!(properties(&manifest), expected);
    let update = json!({
        "canaries": 1, "canary_watch_time": "30000-240000", "update_watch_time": "30000-240000",
        "max_in_flight": 10, "serial": false,
    });
    assert_eq!(parsed(&manifest)["update"], update);
}

#[test]
fn a_user_decides_over_the_plan_and_the_plan_over_defaults() {
    let mut plan = plan();
    plan["properties"] = json!({"auto_create_topics": false, "default_replication_factor": 2, "service_adapter_fails": true});
    let manifest = generated(&create(&plan, &json!({"default_replication_factor": 1})));
    let expected = json!({
        "auto_create_topics": false, "default_replication_factor": 1, "network": "svc-net",
        "service_adapter_fails": true,
    });
    assert_eq!(properties(&manifest), expected);
}

#[test]
fn the_order_of_groups_is_the_plans_and_makes_no_difference_to_them() {
    let mut turned = plan();
    turned["instance_groups"].as_array_mut().unwrap().reverse();
    let (manifest, other) = (
        generated(&create(&plan(), &json!({}))),
        generated(&create(&turned, &json!({}))),
    );
    for name in ["kafka_server", "zookeeper_server"] {
        assert_eq!(group_of(&manifest, name), group_of(&other, name));
    }
    assert_eq!(
        parsed(&other)["instance_groups"][0]["name"],
        "zookeeper_server"
    );
}

#[test]
fn a_group_that_the_adapter_does_not_know_is_left_out_and_named_to_the_operator() {
    let mut plan = plan();
    plan["instance_groups"]
        .as_array_mut()
        .unwrap()
        .push(group("spare", 1));
    let run = generate(&create(&plan, &json!({})));
    assert!(!run.stdout.contains("spare"), "{run:?}");
    run.expect_said("instance group `spare` of the plan is not deployed");
}

#[test]
fn the_plans_update_block_is_taken_whole() {
    let mut plan = plan();
    let update = json!({
        "canaries": 2, "canary_watch_time": "1000-30000", "update_watch_time": "1000-30000",
        "max_in_flight": "20%", "serial": true, "initial_deploy_az_update_strategy": "parallel",
    });
    plan["update"] = update.clone();
    assert_eq!(
        parsed(&generated(&create(&plan, &json!({}))))["update"],
        update
    );
}

#[test]
fn a_plan_without_one_of_the_needed_groups_is_the_operators_mistake() {
    for (nth, missing) in ["kafka_server", "zookeeper_server"].into_iter().enumerate() {
        let mut plan = plan();
        plan["instance_groups"].as_array_mut().unwrap().remove(nth);
        let run = generate(&create(&plan, &json!({})));
        assert_eq!(run.rejection(), MISCONFIGURED);
        let cause = format!("instance group `{missing}`");
        run.expect_said(&cause);
    }
}

#[test]
fn each_job_must_come_from_one_release() {
    for (jobs, cause) in [
        (
            json!(["kafka_server", "smoke_tests"]),
            "job `zookeeper_server` not provided",
        ),
        (
            json!(["zookeeper_server", "smoke_tests"]),
            "job `kafka_server` not provided",
        ),
    ] {
        let mut deployment = service_deployment();
        deployment["releases"][0]["jobs"] = jobs;
        let mut input = create(&plan(), &json!({}));
        input["service_deployment"] = deployment.to_string().into();
        let run = generate(&input);
        assert_eq!(run.rejection(), MISCONFIGURED);
        assert!(run.stderr.contains(cause), "{run:?}");
    }
}

#[test]
fn brokers_are_on_one_network() {
    for networks in [json!([]), json!(["net-a", "net-b"])] {
        let mut plan = plan();
        plan["instance_groups"][0]["networks"] = networks;
        let run = generate(&create(&plan, &json!({})));
        assert_eq!(run.rejection(), MISCONFIGURED);
        run.expect_said("it must have exactly one");
    }
    let mut plan = plan();
    plan["instance_groups"][1]["networks"] = json!(["net-a", "net-b"]);
    generated(&create(&plan, &json!({})));
}

#[test]
fn a_release_must_be_new_enough_as_far_as_that_can_be_reported() {
    let of_version = |version: &str| {
        let mut deployment = service_deployment();
        deployment["releases"][0]["version"] = version.into();
        let mut input = create(&plan(), &json!({}));
        input["service_deployment"] = deployment.to_string().into();
        generate(&input)
    };
    for version in ["0.15.9", "0.16.0-rc.1", "0.1.0+dev.99"] {
        let run = of_version(version);
        let reported = "minimum release version not met: >= kafka-service-release 0.16.0 required";
        assert_eq!(run.rejection(), reported);
        assert!(run.stderr.contains(version), "{run:?}");
    }
    for version in ["0.16.0", "0.16.0+dev.1", "1.0.0"] {
        of_version(version).answer();
    }
    for version in ["0.15", "12", "v1"] {
        let run = of_version(version);
        run.answer();
        let reported = format!("has version `{version}`, which is not a semantic version");
        run.expect_said(&reported);
    }
}

#[test]
fn a_user_reads_every_parameter_that_is_wrong() {
    let parameters =
        json!({"auto_create_topics": "false", "default_replication_factor": 0, "partitions": 5});
    let run = generate(&create(&plan(), &parameters));
    for name in [
        "auto_create_topics",
        "default_replication_factor",
        "partitions",
    ] {
        assert!(run.rejection().contains(name), "{run:?}");
    }
    let shows_values = run.rejection().contains("\"false\"") || run.rejection().contains('5');
    assert!(!shows_values, "{run:?}");
}
