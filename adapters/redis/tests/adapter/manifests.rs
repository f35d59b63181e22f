//! Manifests of new instances.

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::adapter::{Adapter, create, plan};

#[test]
fn the_sample_makes_the_sample_manifest() {
    let generated = Adapter::secure().generated(&create(&plan(), &json!({"maxclients": 250})));

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

#[test]
fn two_instances_have_two_passwords() {
    let adapter = Adapter::plain();
    let input = create(&plan(), &json!({}));
    assert_ne!(
        adapter.generated(&input).redis("password"),
        adapter.generated(&input).redis("password")
    );
}

#[test]
fn without_parameters_and_secure_manifests_the_defaults_hold() {
    let generated = Adapter::plain().generated(&create(&plan(), &json!({})));
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

#[test]
fn a_plan_with_nothing_but_redis_and_colocated_errands_works() {
    let mut plan = plan();
    plan["instance_groups"].as_array_mut().unwrap().truncate(1);
    plan["properties"] = json!({"persistence": false, "colocated_errand": true});
    plan["lifecycle_errands"] = json!({
        "post_deploy": [{"name": "health-check", "instances": ["redis-server/0"]}],
        "pre_delete": [{"name": "cleanup-data", "instances": ["redis-server/0"]}],
    });
    plan.as_object_mut().unwrap().remove("update");
    let generated = Adapter::plain().generated(&create(&plan, &json!({})));
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

#[test]
fn plan_properties_reach_features_and_errands() {
    let mut plan = plan();
    plan["properties"] = json!({
        "persistence": true, "use_short_dns_addresses": true, "something_completely_different": {"a": [1]},
        "systest_errand_failure_override": "health-check", "systest_errand_sleep": 5,
    });
    let generated = Adapter::plain().generated(&create(&plan, &json!({})));
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

#[test]
fn parameters_choose_secrets_and_vm_extensions() {
    let cloud_config = "vm_extensions:\n- name: c0ffee00-big\n";
    let generated = Adapter::plain().generated(&create(
        &plan(),
        &json!({
            "odb_managed_secret": "mine", "credhub_secret_path": "/shared/secret",
            "vm_extensions_config": cloud_config,
        }),
    ));
    assert_eq!(generated.answer["secrets"]["odb_managed_secret"], "mine");
    assert_eq!(generated.redis("secret"), "((/shared/secret))");
    assert_eq!(generated.answer["configs"], json!({"cloud": cloud_config}));
    assert_eq!(
        generated.manifest["instance_groups"][0]["vm_extensions"],
        json!(["public", "c0ffee00-big"])
    );
}

#[test]
fn a_user_reads_which_parameter_is_wrong() {
    let adapter = Adapter::plain();
    let run = adapter.refused(&create(&plan(), &json!({"zeta": 1, "alpha": 1})));
    assert_eq!(
        run.stdout,
        "unsupported parameter(s) for this service plan: alpha, zeta"
    );
    let run = adapter.refused(&create(&plan(), &json!({"maxclients": "5"})));
    assert_eq!(
        run.stdout,
        "parameter `maxclients` must be a whole number of at least 1"
    );
}

#[test]
fn a_fault_of_the_plan_is_for_the_operator() {
    let adapter = Adapter::plain();
    let mut other_group = plan();
    other_group["instance_groups"][0]["name"] = "cache".into();
    let run = adapter.refused(&create(&other_group, &json!({})));
    assert_eq!(
        run.stdout,
        "Contact your operator, service configuration issue occurred"
    );
    assert!(
        run.stderr
            .contains("the plan has no instance group `redis-server`"),
        "{}",
        run.stderr
    );

    let mut no_persistence = plan();
    no_persistence["properties"] = json!({});
    let run = adapter.refused(&create(&no_persistence, &json!({})));
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr
            .contains("plan property `persistence` must be set"),
        "{}",
        run.stderr
    );

    let named = Adapter::configured("redis_instance_group_name: cache\n");
    assert_eq!(
        named.generated(&create(&other_group, &json!({}))).manifest["instance_groups"][0]["name"],
        "cache"
    );
}
