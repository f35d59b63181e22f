//! The values that an instance keeps over updates and upgrades.

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use super::adapter::{
    Generated, Implementation, create, pending_changes, plan, service_deployment, update, upgrade,
};

of_each_implementation! {
    the_same_inputs_give_the_same_manifest_byte_for_byte,
    an_instance_deployed_by_another_writer_is_regenerated_with_the_same_meaning,
    an_update_changes_what_was_asked_for_and_nothing_else,
    a_new_managed_secret_is_stored_under_a_new_name,
    a_changed_plan_secret_gets_a_new_name_and_an_unchanged_one_does_not,
    an_absent_list_of_previous_secrets_is_none_at_all,
    a_client_keeps_its_secret_when_none_arrives,
    vm_extensions_stay_as_they_were_deployed,
    an_instance_does_not_move_to_an_older_release,
}

fn the_same_inputs_give_the_same_manifest_byte_for_byte(implementation: Implementation) {
    let adapter = implementation.secure();
    let parameters =
        json!({"maxclients": 250, "vm_extensions_config": "vm_extensions: [{name: big}]"});
    let created = adapter.generated(&create(&plan(), &parameters));
    let deployed = created.deployed();
    let regenerated = adapter.generated(&pending_changes(&plan(), &deployed, &secrets(&created)));
    assert_eq!(regenerated.text, deployed);
    assert_eq!(
        regenerated.answer["secrets"],
        json!({"odb_managed_secret": "HardcodedAdapterValue"})
    );
}

fn an_instance_deployed_by_another_writer_is_regenerated_with_the_same_meaning(
    implementation: Implementation,
) {
    let deployed = include_str!("sample_manifest.yml")
        .replace("PASSWORD", "Ym9yaW5nIGJvcmluZyBib3Jpbmc=")
        .replace("PLAN_SECRET", "((/odb/svc-redis/x/plan_secret_key0a1b2c))")
        .replace("odb_secret:", "/odb/svc-redis/x/");
    let secrets = json!({"((/odb/svc-redis/x/plan_secret_key0a1b2c))": "s3cr3t"});
    let regenerated =
        implementation
            .secure()
            .generated(&pending_changes(&plan(), &deployed, &secrets));
    assert_eq!(
        regenerated.manifest,
        yaml::from_str::<Value>(&deployed).unwrap()
    );
}

fn an_update_changes_what_was_asked_for_and_nothing_else(implementation: Implementation) {
    let adapter = implementation.secure();
    let created = adapter.generated(&create(
        &plan(),
        &json!({"maxclients": 250, "credhub_secret_path": "/a"}),
    ));
    let deployed = created.deployed();
    let updated = adapter.generated(&update(
        &plan(),
        &deployed,
        &secrets(&created),
        &json!({"maxclients": 300}),
    ));
    assert_eq!(
        updated.text,
        deployed.replace("maxclients: 250", "maxclients: 300")
    );
}

fn a_new_managed_secret_is_stored_under_a_new_name(implementation: Implementation) {
    let adapter = implementation.secure();
    let created = adapter.generated(&create(&plan(), &json!({})));
    let input = update(
        &plan(),
        &created.deployed(),
        &secrets(&created),
        &json!({"odb_managed_secret": "new"}),
    );
    let updated = adapter.generated(&input);
    let reference = updated.redis("odb_managed_secret").as_str().unwrap();
    let name = reference
        .trim_start_matches("((odb_secret:")
        .trim_end_matches("))");
    assert!(name.starts_with("odb_managed_secret_"), "{name}");
    assert_eq!(updated.answer["secrets"][name], "new");

    let deployed = updated.deployed();
    let parsed: Value = yaml::from_str(&deployed).unwrap();
    let redis = &parsed["instance_groups"][0]["jobs"][0]["properties"]["redis"];
    let mut known = secrets(&updated);
    known[redis["odb_managed_secret"].as_str().unwrap()] = "new".into();
    for parameters in [json!({"odb_managed_secret": "new"}), json!({})] {
        let again = adapter.generated(&update(&plan(), &deployed, &known, &parameters));
        assert_eq!(again.text, deployed, "{parameters}");
    }

    let forgetful = implementation.configured("ignore_odb_managed_secret_on_update: true\n");
    let regenerated =
        forgetful.generated(&pending_changes(&plan(), &created.deployed(), &json!({})));
    assert_eq!(
        regenerated.redis("odb_managed_secret"),
        "((odb_secret:odb_managed_secret))"
    );
}

fn a_changed_plan_secret_gets_a_new_name_and_an_unchanged_one_does_not(
    implementation: Implementation,
) {
    let adapter = implementation.secure();
    let created = adapter.generated(&create(&plan(), &json!({})));
    let deployed = created.deployed();
    let kept = yaml::from_str::<Value>(&deployed).unwrap();
    let kept = &kept["instance_groups"][0]["jobs"][0]["properties"]["redis"]["plan_secret"];

    let mut changed = plan();
    changed["properties"]["plan_secret"] = "other".into();
    let updated = adapter.generated(&update(&changed, &deployed, &secrets(&created), &json!({})));
    let reference = updated.redis("plan_secret").as_str().unwrap();
    assert!(
        reference.starts_with("((odb_secret:plan_secret_key"),
        "{reference}"
    );
    let name = reference
        .trim_start_matches("((odb_secret:")
        .trim_end_matches("))");
    assert_eq!(updated.answer["secrets"][name], "other");

    let upgraded = adapter.generated(&upgrade(&plan(), &deployed));
    assert_eq!(upgraded.redis("plan_secret"), kept);
}

/// The broker leaves out what `CredHub` does not return; an upgrade would not bring it back.
#[test]
fn a_plan_secret_that_is_not_reported_is_no_pending_change() {
    let deployed = include_str!("sample_manifest.yml")
        .replace("PASSWORD", "Ym9yaW5nIGJvcmluZyBib3Jpbmc=")
        .replace("PLAN_SECRET", "((/odb/svc-redis/x/plan_secret_key0a1b2c))")
        .replace("odb_secret:", "/odb/svc-redis/x/");
    let adapter = Implementation::Rust.secure();
    let checked = adapter.generated(&pending_changes(&plan(), &deployed, &json!({})));
    assert_eq!(
        checked.manifest,
        yaml::from_str::<Value>(&deployed).unwrap()
    );
}

#[test]
fn a_deployed_number_is_taken_for_no_other_thing() {
    let adapter = Implementation::Rust.plain();
    let created = adapter.generated(&create(&plan(), &json!({"maxclients": 250})));
    let deployed = created
        .deployed()
        .replace("maxclients: 250", "maxclients: [hunter2]");
    let run = adapter.refused(&upgrade(&plan(), &deployed));
    run.expect_said("/redis/maxclients");
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
}

fn an_absent_list_of_previous_secrets_is_none_at_all(implementation: Implementation) {
    let mut input = create(&plan(), &json!({}));
    input.as_object_mut().unwrap().remove("previous_secrets");
    let generated = implementation.secure().generated(&input);
    assert!(
        generated
            .redis("plan_secret")
            .as_str()
            .unwrap()
            .starts_with("((odb_secret:plan_secret_key")
    );
}

fn a_client_keeps_its_secret_when_none_arrives(implementation: Implementation) {
    let adapter = implementation.plain();
    let client = |secret: &str, name: &str| {
        let client = json!({
            "client_id": "c0ffee00", "client_secret": secret, "name": name, "scopes": "a,b", "resource_ids": "r",
            "authorities": "x", "authorized_grant_types": "client_credentials", "allowpublic": "false",
        });
        Value::from(client.to_string())
    };
    let mut input = create(&plan(), &json!({}));
    input["uaa_client"] = client("hush", "first");
    let created = adapter.generated(&input);
    assert_eq!(
        created.redis("service_instance_client"),
        &json!({
            "client_id": "c0ffee00", "client_secret": "hush", "name": "first", "scopes": "a,b", "resource_ids": "r",
            "authorities": "x", "authorized_grant_types": "client_credentials",
        })
    );

    let checked = adapter.generated(&pending_changes(&plan(), &created.deployed(), &Value::Null));
    assert_eq!(
        checked.redis("service_instance_client"),
        created.redis("service_instance_client")
    );

    let mut input = update(&plan(), &created.deployed(), &Value::Null, &json!({}));
    input["uaa_client"] = client("", "second");
    let updated = adapter.generated(&input);
    assert_eq!(
        updated.redis("service_instance_client")["client_secret"],
        "hush"
    );
    assert_eq!(updated.redis("service_instance_client")["name"], "second");
}

fn vm_extensions_stay_as_they_were_deployed(implementation: Implementation) {
    let adapter = implementation.plain();
    let created = adapter.generated(&create(&plan(), &json!({})));
    let mut without = plan();
    without["instance_groups"][0]["vm_extensions"] = json!(["another"]);
    let checked = adapter.generated(&pending_changes(
        &without,
        &created.deployed(),
        &Value::Null,
    ));
    assert_eq!(
        checked.manifest["instance_groups"][0]["vm_extensions"],
        json!(["public"])
    );
}

fn an_instance_does_not_move_to_an_older_release(implementation: Implementation) {
    let adapter = implementation.plain();
    let created = adapter.generated(&create(&plan(), &json!({})));
    let mut input = upgrade(&plan(), &created.deployed());
    let mut older = service_deployment();
    older["releases"][0]["version"] = "7.3".into();
    input["service_deployment"] = older.to_string().into();
    let run = adapter.refused(&input);
    assert_eq!(
        run.stdout,
        "Contact your operator, service configuration issue occurred"
    );
    run.expect_said("has version `7.3`, which is lower than `7.4`");
}

/// The secrets that the broker knows of once the manifest is deployed.
pub(crate) fn secrets(created: &Generated) -> Value {
    let deployed: Value = yaml::from_str(&created.deployed()).unwrap();
    let redis = &deployed["instance_groups"][0]["jobs"][0]["properties"]["redis"];
    json!({
        "((secret_pass))": "generated",
        "((instance_certificate.ca))": "ca", "((instance_certificate.certificate))": "certificate",
        "((instance_certificate.private_key))": "key",
        (redis["odb_managed_secret"].as_str().unwrap()): "HardcodedAdapterValue",
        (redis["plan_secret"].as_str().unwrap()): "s3cr3t",
    })
}
