//! The example for authors: `redis-service-adapter`, with few parameters and with the credentials that a user needs.

use std::io::Write as _;

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::executable::{Executable, Run};
use crate::redis::adapter::{create, pending_changes, plan as plan_of_the_sample, update, upgrade};

const REFERENCE: &str = "((/odb/svc-redis/service-instance_1/password))";

fn example() -> Executable {
    Executable::named("redis-service-adapter")
}

/// The example with these settings, which last as long as the file.
fn configured(settings: &str) -> (Executable, NamedTempFile) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(settings.as_bytes()).unwrap();
    let adapter = example().with_environment("REDIS_ADAPTER_CONFIG", file.path());
    (adapter, file)
}

fn plan() -> Value {
    let mut plan = plan_of_the_sample();
    plan["properties"] = json!({"persistence": true});
    plan
}

fn ask(adapter: &Executable, input: &Value) -> Run {
    adapter.ask("generate-manifest", input)
}

fn generated(adapter: &Executable, input: &Value) -> (String, Value) {
    let answer = ask(adapter, input).answer();
    let text = answer["manifest"].as_str().unwrap().to_owned();
    (text, answer)
}

/// A property of Redis.
fn property(manifest: &str, name: &str) -> Value {
    let manifest: Value = yaml::from_str(manifest).unwrap();
    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"][name].clone()
}

fn bind(manifest: &str, secrets: &Value, dns_addresses: &Value, parameters: &Value) -> Run {
    let input = json!({
        "binding_id": "binding-1",
        "bosh_vms": json!({"redis-server": ["10.0.8.9"], "health-check": ["10.0.8.10"]}).to_string(),
        "manifest": manifest,
        "request_parameters": json!({"parameters": parameters}).to_string(),
        "secrets": secrets.to_string(),
        "dns_addresses": dns_addresses.to_string(),
    });
    example().ask("create-binding", &input)
}

#[test]
fn credentials_are_host_port_password_and_a_uri_of_them() {
    let (manifest, _) = generated(&example(), &create(&plan(), &json!({})));
    let password = property(&manifest, "password");
    let none = json!({});

    let by_address = bind(&manifest, &Value::Null, &none, &none).answer();
    let name = "q-s0.redis-server.default.service-instance-1.bosh";
    let by_name = bind(&manifest, &Value::Null, &json!({"redis": name}), &none).answer();

    for (answer, host) in [(by_address, "10.0.8.9"), (by_name, name)] {
        let uri = format!("redis://:{}@{host}:6379", password.as_str().unwrap());
        let expected = json!({"host": host, "port": 6379, "password": password, "uri": uri});
        assert_eq!(answer, json!({"credentials": expected}));
    }
}

#[test]
fn a_password_of_another_origin_is_encoded_in_the_uri() {
    let (manifest, _) = generated(&example(), &create(&plan(), &json!({})));
    let mut manifest: Value = yaml::from_str(&manifest).unwrap();
    manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"]["password"] = "a+/= @".into();
    // JSON is YAML.
    let manifest = manifest.to_string();
    let none = json!({});

    let credentials = bind(&manifest, &Value::Null, &none, &none).answer();

    let credentials = &credentials["credentials"];
    assert_eq!(credentials["password"], "a+/= @");
    assert_eq!(
        credentials["uri"],
        "redis://:a%2B%2F%3D%20%40@10.0.8.9:6379"
    );
}

#[test]
fn bindings_have_no_parameters() {
    let (manifest, _) = generated(&example(), &create(&plan(), &json!({})));
    let refused = bind(
        &manifest,
        &Value::Null,
        &json!({}),
        &json!({"colour": "red"}),
    );
    assert!(refused.rejection().contains("colour"), "{refused:?}");
}

#[test]
fn an_instance_keeps_its_password_and_the_choice_of_its_user() {
    let (adapter, plan) = (example(), plan());
    let (deployed, answer) = generated(&adapter, &create(&plan, &json!({"maxclients": 250})));
    assert_eq!(answer["secrets"], json!({}), "it is in the manifest");
    assert_eq!(property(&deployed, "maxclients"), 250);

    for input in [
        pending_changes(&plan, &deployed, &Value::Null),
        upgrade(&plan, &deployed),
        update(&plan, &deployed, &Value::Null, &json!({})),
    ] {
        assert_eq!(generated(&adapter, &input).0, deployed);
    }
}

#[test]
fn a_password_in_a_manifest_moves_to_the_broker_and_stays_the_same() {
    let (secure, _file) = configured("secure_manifests_enabled: true");
    let plan = plan();
    let (readable, _) = generated(&example(), &create(&plan, &json!({})));
    let password = property(&readable, "password");

    let (manifest, answer) = generated(&secure, &upgrade(&plan, &readable));
    assert_eq!(property(&manifest, "password"), "((odb_secret:password))");
    assert_eq!(answer["secrets"], json!({"password": password}));

    let deployed = manifest.replace("((odb_secret:password))", REFERENCE);
    let (again, answer) = generated(&secure, &upgrade(&plan, &deployed));
    assert_eq!((again, &answer["secrets"]), (deployed.clone(), &json!({})));
    let secrets = json!({ REFERENCE: password });
    let bound = bind(&deployed, &secrets, &json!({}), &json!({})).answer();
    assert_eq!(bound["credentials"]["password"], password);
}

#[test]
fn an_errand_has_its_own_group_or_is_beside_redis() {
    let (manifest, _) = generated(&example(), &create(&plan(), &json!({})));
    let manifest: Value = yaml::from_str(&manifest).unwrap();
    let groups = |manifest: &Value| {
        let groups = manifest["instance_groups"].as_array().unwrap().clone();
        let names = groups.into_iter().map(|group| {
            let jobs = group["jobs"].as_array().unwrap().iter();
            let jobs: Vec<Value> = jobs.map(|job| job["name"].clone()).collect();
            json!([group["name"], group["lifecycle"], jobs])
        });
        names.collect::<Value>()
    };
    let own = |name: &str| json!([name, "errand", [name]]);
    let redis = json!(["redis-server", null, ["redis-server"]]);
    let expected = json!([redis, own("health-check"), own("cleanup-data")]);
    assert_eq!(groups(&manifest), expected);

    let mut plan = plan();
    plan["lifecycle_errands"] =
        json!({"post_deploy": [{"name": "health-check", "instances": ["redis-server/0"]}]});
    plan["instance_groups"].as_array_mut().unwrap().truncate(1);
    let (manifest, _) = generated(&example(), &create(&plan, &json!({})));
    let manifest: Value = yaml::from_str(&manifest).unwrap();
    let expected = json!([["redis-server", null, ["redis-server", "health-check"]]]);
    assert_eq!(groups(&manifest), expected);
}

#[test]
fn plans_settings_and_releases_that_do_not_fit_are_for_the_operator() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut plan = plan();
        change(&mut plan);
        create(&plan, &json!({}))
    };
    let unknown = changed(&|plan| plan["properties"]["persistense"] = true.into());
    let no_group = changed(&|plan| plan["instance_groups"][0]["name"] = "redis".into());
    let no_errand =
        changed(&|plan| plan["lifecycle_errands"]["post_deploy"][0]["name"] = "x".into());
    let newer = generated(&example(), &create(&plan(), &json!({})))
        .0
        .replace("\"7.4\"", "\"7.5\"");
    let downgrade = upgrade(&plan(), &newer);
    for (input, cause) in [
        (unknown, "persistense"),
        (no_group, "redis-server"),
        (no_errand, "`x`"),
        (downgrade, "7.5"),
    ] {
        let refused = ask(&example(), &input);
        assert!(!refused.rejection().contains(cause), "{refused:?}");
        refused.expect_said(cause);
    }
    let order = create(&plan(), &json!({}));
    for settings in ["secure_manifests: true", "["] {
        let (adapter, file) = configured(settings);
        let refused = ask(&adapter, &order);
        assert!(refused.rejection().contains("Contact your operator"));
        refused.expect_said(file.path().to_str().unwrap());
    }
}
