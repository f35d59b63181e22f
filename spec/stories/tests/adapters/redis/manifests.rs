//! Manifests of new instances.

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use super::adapter::{Implementation, create, plan};

of_each_implementation! {
    the_sample_makes_the_sample_manifest,
    two_instances_have_two_passwords,
    without_parameters_and_secure_manifests_the_defaults_hold,
    a_plan_with_nothing_but_redis_and_colocated_errands_works,
    plan_properties_reach_features_and_errands,
    parameters_choose_secrets_and_vm_extensions,
    a_user_reads_which_parameter_is_wrong,
    a_user_gets_no_secret_of_the_brokers,
    a_user_brings_vm_extensions_and_no_other_config,
    an_error_in_the_plan_is_for_the_operator,
}

fn the_sample_makes_the_sample_manifest(implementation: Implementation) {
    let generated = implementation
        .secure()
        .generated(&create(&plan(), &json!({"maxclients": 250})));

    let password = generated.redis("password").as_str().unwrap();
    assert_eq!(password.len(), 28);
    let plan_secret = generated.redis("plan_secret").as_str().unwrap();
    let name = plan_secret
        .strip_prefix("((odb_secret:")
        .unwrap()
        .strip_suffix("))")
        .unwrap();
    let digits = name.strip_prefix("plan_secret_key").unwrap();
    assert!(
        digits.len() == 6 && digits.chars().all(|c| c.is_ascii_hexdigit()),
        "{digits}"
    );

    let sample = include_str!("sample_manifest.yml")
        .replace("PASSWORD", password)
        .replace("PLAN_SECRET", plan_secret);
    assert_eq!(
        generated.manifest,
        yaml::from_str::<Value>(&sample).unwrap()
    );
    assert_eq!(
        generated.answer["secrets"],
        json!({"odb_managed_secret": "HardcodedAdapterValue", name: "s3cr3t"})
    );
    assert_eq!(generated.answer["configs"], json!({}));
}

fn two_instances_have_two_passwords(implementation: Implementation) {
    let adapter = implementation.plain();
    let input = create(&plan(), &json!({}));
    assert_ne!(
        adapter.generated(&input).redis("password"),
        adapter.generated(&input).redis("password")
    );
}

fn without_parameters_and_secure_manifests_the_defaults_hold(implementation: Implementation) {
    let generated = implementation
        .plain()
        .generated(&create(&plan(), &json!({})));
    assert_eq!(generated.redis("maxclients"), 10_000);
    assert_eq!(generated.redis("plan_secret"), &Value::Null);
    assert_eq!(
        generated.redis("odb_managed_secret"),
        "((odb_secret:odb_managed_secret))"
    );
    assert_eq!(generated.redis("secret"), &Value::Null);
    assert_eq!(
        generated.answer["secrets"],
        json!({"odb_managed_secret": "HardcodedAdapterValue"})
    );
    assert_eq!(generated.manifest.get("features"), None);
}

fn a_plan_with_nothing_but_redis_and_colocated_errands_works(implementation: Implementation) {
    let mut plan = plan();
    plan["instance_groups"].as_array_mut().unwrap().truncate(1);
    plan["properties"] = json!({"persistence": false, "colocated_errand": true});
    plan["lifecycle_errands"] = json!({
        "post_deploy": [{"name": "health-check", "instances": ["redis-server/0"]}],
        "pre_delete": [{"name": "cleanup-data", "instances": ["redis-server/0"]}],
    });
    plan.as_object_mut().unwrap().remove("update");
    let generated = implementation.plain().generated(&create(&plan, &json!({})));
    let groups = generated.manifest["instance_groups"].as_array().unwrap();
    let jobs: Vec<_> = groups[0]["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (groups.len(), jobs),
        (1, vec!["redis-server", "cleanup-data", "health-check"])
    );
    assert_eq!(generated.redis("persistence"), "no");
    assert_eq!(
        generated.manifest["update"],
        json!({
            "canaries": 4, "canary_watch_time": "30000-240000", "update_watch_time": "30000-240000",
            "max_in_flight": 4, "vm_strategy": "delete-create",
        })
    );
}

fn plan_properties_reach_features_and_errands(implementation: Implementation) {
    let mut plan = plan();
    plan["properties"] = json!({
        "persistence": true, "use_short_dns_addresses": true, "something_completely_different": {"a": [1]},
        "systest_errand_failure_override": "health-check", "systest_errand_sleep": 5,
    });
    let generated = implementation.plain().generated(&create(&plan, &json!({})));
    assert_eq!(
        generated.manifest["features"],
        json!({"use_short_dns_addresses": true, "something_completely_different": {"a": [1]}})
    );
    let groups = &generated.manifest["instance_groups"];
    assert_eq!(
        groups[1]["properties"],
        json!({"health-check": {"systest-failure-override": true, "systest-sleep": 5}})
    );
    assert_eq!(
        groups[2]["properties"],
        json!({"cleanup-data": {"systest-sleep": 5}})
    );
}

fn parameters_choose_secrets_and_vm_extensions(implementation: Implementation) {
    let cloud_config = "vm_extensions:\n- name: c0ffee00-big\n";
    let generated = implementation.plain().generated(&create(
        &plan(),
        &json!({
            "odb_managed_secret": "mine", "credhub_secret_path": "/shared/secret",
            "vm_extensions_config": cloud_config,
        }),
    ));
    assert_eq!(generated.answer["secrets"]["odb_managed_secret"], "mine");
    assert_eq!(generated.redis("secret"), "((/shared/secret))");
    let config = generated.answer["configs"]["cloud"].as_str().unwrap();
    assert_eq!(
        yaml::from_str::<Value>(config).unwrap(),
        yaml::from_str::<Value>(cloud_config).unwrap()
    );
    assert_eq!(
        generated.manifest["instance_groups"][0]["vm_extensions"],
        json!(["public", "c0ffee00-big"])
    );
}

fn a_user_reads_which_parameter_is_wrong(implementation: Implementation) {
    let adapter = implementation.plain();
    let run = adapter.refused(&create(&plan(), &json!({"zeta": 1, "alpha": 1})));
    let reported = "unsupported parameter(s) for this service plan: alpha, zeta";
    assert!(run.stdout.starts_with(reported), "{}", run.stdout);
    let run = adapter.refused(&create(&plan(), &json!({"maxclients": "5"})));
    let reported = "parameter `maxclients` must be a whole number";
    assert!(run.stdout.starts_with(reported), "{}", run.stdout);
}

fn a_user_gets_no_secret_of_the_brokers(implementation: Implementation) {
    let adapter = implementation.plain();
    for path in ["/odb/svc-redis/i-2/password", "/ODB/svc-redis/i-2/password"] {
        let run = adapter.refused(&create(&plan(), &json!({"credhub_secret_path": path})));
        let reported = "parameter `credhub_secret_path` must be a path that is not under `/odb/`";
        assert!(run.stdout.starts_with(reported), "{}", run.stdout);
    }
}

fn a_user_brings_vm_extensions_and_no_other_config(implementation: Implementation) {
    let adapter = implementation.plain();
    for config in [
        "{}",
        "vm_extensions: []",
        "{vm_extensions: [{name: big}], networks: []}",
    ] {
        let run = adapter.refused(&create(&plan(), &json!({"vm_extensions_config": config})));
        let reported = "parameter `vm_extensions_config` must be a cloud config in YAML with VM extensions and nothing else";
        assert!(run.stdout.starts_with(reported), "{config}: {}", run.stdout);
    }
}

fn an_error_in_the_plan_is_for_the_operator(implementation: Implementation) {
    let adapter = implementation.plain();
    let mut other_group = plan();
    other_group["instance_groups"][0]["name"] = "cache".into();
    let run = adapter.refused(&create(&other_group, &json!({})));
    assert_eq!(
        run.stdout,
        "Contact your operator, service configuration issue occurred"
    );
    let is_named = run.stderr.contains("instance group `redis-server`");
    assert!(is_named, "{}", run.stderr);

    let mut no_persistence = plan();
    no_persistence["properties"] = json!({});
    let run = adapter.refused(&create(&no_persistence, &json!({})));
    assert_eq!(run.stdout, "");
    run.expect_said("plan property `persistence`");

    let named = implementation.configured("redis_instance_group_name: cache\n");
    assert_eq!(
        named.generated(&create(&other_group, &json!({}))).manifest["instance_groups"][0]["name"],
        "cache"
    );
}
