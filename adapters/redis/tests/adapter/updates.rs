//! What an instance keeps over updates and upgrades.

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::adapter::{
    Adapter, Generated, create, pending_changes, plan, service_deployment, update, upgrade,
};

#[test]
fn the_same_inputs_give_the_same_manifest_byte_for_byte() {
    let adapter = Adapter::secure();
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

#[test]
fn an_instance_deployed_by_another_writer_is_regenerated_with_the_same_meaning() {
    let deployed = include_str!("sample_manifest.yml")
        .replace("PASSWORD", "Ym9yaW5nIGJvcmluZyBib3Jpbmc=")
        .replace("PLAN_SECRET", "((/odb/svc-redis/x/plan_secret_key0a1b2c))")
        .replace("odb_secret:", "/odb/svc-redis/x/");
    let secrets = json!({"((/odb/svc-redis/x/plan_secret_key0a1b2c))": "s3cr3t"});
    let regenerated = Adapter::secure().generated(&pending_changes(&plan(), &deployed, &secrets));
    assert_eq!(
        regenerated.manifest,
        yaml::from_str::<Value>(&deployed).unwrap()
    );
}

#[test]
fn an_update_changes_what_was_asked_for_and_nothing_else() {
    let adapter = Adapter::secure();
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

#[test]
fn a_new_managed_secret_is_stored_anew() {
    let adapter = Adapter::secure();
    let created = adapter.generated(&create(&plan(), &json!({})));
    let input = update(
        &plan(),
        &created.deployed(),
        &secrets(&created),
        &json!({"odb_managed_secret": "new"}),
    );
    let updated = adapter.generated(&input);
    assert_eq!(
        updated.redis("odb_managed_secret"),
        "((odb_secret:odb_managed_secret))"
    );
    assert_eq!(
        updated.answer["secrets"],
        json!({"odb_managed_secret": "new"})
    );

    let forgetful = Adapter::configured("ignore_odb_managed_secret_on_update: true\n");
    let regenerated =
        forgetful.generated(&pending_changes(&plan(), &created.deployed(), &json!({})));
    assert_eq!(
        regenerated.redis("odb_managed_secret"),
        "((odb_secret:odb_managed_secret))"
    );
}

#[test]
fn a_changed_plan_secret_gets_a_new_name_and_an_unchanged_one_does_not() {
    let adapter = Adapter::secure();
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

#[test]
fn an_absent_list_of_previous_secrets_is_none_at_all() {
    let mut input = create(&plan(), &json!({}));
    input.as_object_mut().unwrap().remove("previous_secrets");
    let generated = Adapter::secure().generated(&input);
    assert!(
        generated
            .redis("plan_secret")
            .as_str()
            .unwrap()
            .starts_with("((odb_secret:plan_secret_key")
    );
}

#[test]
fn a_client_keeps_its_secret_when_none_arrives() {
    let adapter = Adapter::plain();
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

#[test]
fn vm_extensions_stay_as_they_were_deployed() {
    let adapter = Adapter::plain();
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

#[test]
fn an_instance_does_not_move_to_an_older_release() {
    let adapter = Adapter::plain();
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
    assert!(
        run.stderr
            .contains("has version `7.3`, which is lower than `7.4`"),
        "{}",
        run.stderr
    );
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
