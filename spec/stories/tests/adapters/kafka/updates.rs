use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use super::inputs::{
    MISCONFIGURED, create, generate, generated, look_for_changes, parsed, plan, properties,
    service_deployment, update,
};

#[test]
fn a_users_choice_is_kept_wherever_the_group_is() {
    let mut turned = plan();
    turned["instance_groups"].as_array_mut().unwrap().reverse();
    for plan in [plan(), turned] {
        let chosen = json!({"auto_create_topics": false, "default_replication_factor": 1});
        let deployed = generated(&create(&plan, &chosen));
        assert_eq!(generated(&look_for_changes(&plan, &deployed)), deployed);

        let changed = json!({"default_replication_factor": 2});
        let updated = generated(&update(&plan, &plan, &deployed, &changed));
        assert_eq!(properties(&updated)["auto_create_topics"], false);
        assert_eq!(properties(&updated)["default_replication_factor"], 2);
    }
}

#[test]
fn a_deployed_value_that_no_user_can_choose_is_reported_to_the_operator_until_it_is_fixed() {
    let deployed = generated(&create(&plan(), &json!({"default_replication_factor": 2})));
    for wrong in ["99999", "0", "many"] {
        let mut deployed = parsed(&deployed);
        let mut groups = deployed["instance_groups"]
            .as_array_mut()
            .unwrap()
            .iter_mut();
        let group = groups.find(|group| group["name"] == "kafka_server");
        let kept = &mut group.unwrap()["jobs"][0]["properties"];
        kept["default_replication_factor"] = yaml::from_str(wrong).unwrap();
        let deployed = deployed.to_string();
        let run = generate(&update(&plan(), &plan(), &deployed, &json!({})));
        assert_ne!(run.code, Some(0), "{wrong}: {run:?}");
        assert!(
            run.stderr.contains("default_replication_factor"),
            "{wrong}: {run:?}"
        );
        let chosen = json!({"default_replication_factor": 1});
        let fixed = generated(&update(&plan(), &plan(), &deployed, &chosen));
        assert_eq!(properties(&fixed)["default_replication_factor"], 1);
    }
}

#[test]
fn what_is_deployed_counts_for_more_than_a_changed_plan() {
    let mut before = plan();
    before["properties"] = json!({"auto_create_topics": false, "default_replication_factor": 2});
    let deployed = generated(&create(&before, &json!({})));
    let mut after = plan();
    after["properties"] = json!({"auto_create_topics": true, "default_replication_factor": 3});
    let updated = generated(&update(&after, &before, &deployed, &json!({})));
    assert_eq!(properties(&updated), properties(&deployed));
}

#[test]
fn properties_of_the_whole_manifest_are_found_in_instances_of_old() {
    let mut of_old = parsed(&generated(&create(&plan(), &json!({}))));
    let kafka = &mut of_old["instance_groups"][0]["jobs"][0];
    kafka.as_object_mut().unwrap().remove("properties");
    of_old["properties"] = json!({"auto_create_topics": false});
    let updated = generated(&update(&plan(), &plan(), &of_old.to_string(), &json!({})));
    assert_eq!(properties(&updated)["auto_create_topics"], false);
    assert_eq!(properties(&updated)["default_replication_factor"], 3);
}

#[test]
fn a_user_reads_that_a_smaller_plan_would_lose_data() {
    let deployed = generated(&create(&plan(), &json!({})));
    let smaller = sized(2, 1);
    let run = generate(&update(&smaller, &plan(), &deployed, &json!({})));
    let reported = "this plan has 2 instead of 3 instances of `kafka_server`, and data would be lost; choose a plan that is not smaller";
    assert_eq!(run.rejection(), reported);

    let run = generate(&update(&sized(3, 1), &sized(3, 3), &deployed, &json!({})));
    assert!(
        run.rejection()
            .contains("1 instead of 3 instances of `zookeeper_server`"),
        "{run:?}"
    );

    generated(&update(&sized(5, 3), &plan(), &deployed, &json!({})));
}

#[test]
fn an_operator_who_made_the_plan_smaller_reads_the_same() {
    let deployed = generated(&create(&plan(), &json!({})));
    let smaller = sized(1, 1);
    let mut upgrade = update(&smaller, &smaller, &deployed, &json!({}));
    upgrade["request_parameters"] = r#"{"context":null}"#.into();
    let run = generate(&upgrade);
    assert_eq!(run.rejection(), MISCONFIGURED);
    let cause = "instance group `kafka_server` has 1 instances in the plan and 3 in the deployment";
    assert!(run.stderr.contains(cause), "{run:?}");
}

#[test]
fn an_upgrade_takes_releases_and_stemcells_of_today_and_nothing_else() {
    let deployed = generated(&create(&plan(), &json!({"auto_create_topics": false})));
    let mut today = service_deployment();
    today["releases"][0]["version"] = "0.18.0".into();
    today["stemcells"][0]["stemcell_version"] = "1.90".into();
    let mut upgrade = update(&plan(), &plan(), &deployed, &json!({}));
    upgrade["service_deployment"] = today.to_string().into();
    upgrade["request_parameters"] = r#"{"context":null}"#.into();
    upgrade["previous_secrets"] = "null".into();
    let upgraded = generated(&upgrade);
    let expected = deployed.replace("0.17.0", "0.18.0").replace("1.80", "1.90");
    assert_eq!(parsed(&upgraded), parsed(&expected));
}

fn sized(brokers: u32, keepers: u32) -> Value {
    let mut plan = plan();
    plan["instance_groups"][0]["instances"] = brokers.into();
    plan["instance_groups"][1]["instances"] = keepers.into();
    plan
}
