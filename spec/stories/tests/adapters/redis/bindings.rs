//! Credentials of bindings.

use serde_json::{Value, json};

use super::adapter::{Implementation, create, plan};
use super::updates::secrets;

of_each_implementation! {
    the_sample_binding_is_answered_with_the_sample_credentials,
    secrets_of_the_manifest_are_resolved,
    a_backup_agent_gets_nothing_but_its_address,
    an_instance_must_have_one_address,
    a_binding_is_deleted_whatever_secrets_arrive,
}

fn the_sample_binding_is_answered_with_the_sample_credentials(implementation: Implementation) {
    let adapter = implementation.plain();
    let created = adapter.generated(&create(&plan(), &json!({})));
    let mut input = binding(&created.deployed(), &json!({"redis-server": ["10.0.8.9"]}));
    assert_eq!(
        adapter.credentials(&input),
        json!({
            "host": "10.0.8.9", "port": 6379, "password": created.redis("password"), "generated_secret": "",
            "odb_managed_secret": "", "secret": "", "dns_addresses": {}, "passed_in_secrets": null,
            "expected_resolved_secrets": {},
        })
    );
    input["dns_addresses"] = r#"{"redis":"q-s0.redis.bosh"}"#.into();
    assert_eq!(
        adapter.credentials(&input)["dns_addresses"],
        json!({"redis": "q-s0.redis.bosh"})
    );
}

fn secrets_of_the_manifest_are_resolved(implementation: Implementation) {
    let adapter = implementation.secure();
    let created = adapter.generated(&create(&plan(), &json!({"credhub_secret_path": "/mine"})));
    let mut known = secrets(&created);
    known["((/mine))"] = "shared".into();
    let mut input = binding(&created.deployed(), &json!({"redis-server": ["10.0.8.9"]}));
    input["secrets"] = known.to_string().into();
    let credentials = adapter.credentials(&input);
    assert_eq!(credentials["generated_secret"], "generated");
    assert_eq!(credentials["odb_managed_secret"], "HardcodedAdapterValue");
    assert_eq!(credentials["secret"], "shared");
    assert_eq!(credentials["passed_in_secrets"], known);
    assert_eq!(credentials["expected_resolved_secrets"]["ca_cert"], "ca");
    let names: Vec<&String> = credentials["expected_resolved_secrets"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(names.iter().all(|name| !name.contains('(')), "{names:?}");

    known["((/mine))"] = "".into();
    input["secrets"] = known.to_string().into();
    let run = adapter.run(
        &["create-binding"],
        &json!({ "create_binding": input }).to_string(),
    );
    assert_eq!((run.code, run.stdout.is_empty()), (Some(1), false));
    run.expect_said("`redis.secret`");
}

fn a_backup_agent_gets_nothing_but_its_address(implementation: Implementation) {
    let mut input = binding("name: a\n", &json!({}));
    input["request_parameters"] = r#"{"bind_resource":{"backup_agent":true}}"#.into();
    let run = implementation.plain().run(
        &["create-binding"],
        &json!({ "create_binding": input }).to_string(),
    );
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (
            Some(0),
            "{\"credentials\":null,\"backup_agent_url\":\"http://www.example.com/backup-agent-url\"}\n"
        )
    );
}

fn an_instance_must_have_one_address(implementation: Implementation) {
    let adapter = implementation.plain();
    let deployed = adapter.generated(&create(&plan(), &json!({}))).deployed();
    for vms in [
        json!({}),
        json!({"redis-server": []}),
        json!({"redis-server": ["10.0.8.9", "10.0.8.10"]}),
        json!({"other": ["10.0.8.9"]}),
    ] {
        let input = binding(&deployed, &vms);
        let run = adapter.run(
            &["create-binding"],
            &json!({ "create_binding": input }).to_string(),
        );
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{vms}");
    }
    // While an errand runs, or where it keeps its VM, it has an address of its own.
    let beside_errand = json!({"redis-server": ["10.0.8.9"], "health-check": ["10.0.8.10"]});
    let credentials = adapter.credentials(&binding(&deployed, &beside_errand));
    assert_eq!(credentials["host"], "10.0.8.9");
}

/// The example refuses where broker and adapter are configured differently, or a secret is lost: each key would be
/// stuck.
fn a_binding_is_deleted_whatever_secrets_arrive(implementation: Implementation) {
    for (adapter, secrets) in [
        (implementation.plain(), json!(null)),
        (implementation.plain(), json!({"((secret_pass))": "p"})),
        (implementation.secure(), json!({"((secret_pass))": "p"})),
        (implementation.secure(), json!({"((secret_pass))": ""})),
        (implementation.secure(), json!(null)),
    ] {
        let mut input = binding("name: a\n", &json!({}));
        input["secrets"] = secrets.to_string().into();
        let run = adapter.run(
            &["delete-binding"],
            &json!({ "delete_binding": input }).to_string(),
        );
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), ""),
            "{secrets}: {}",
            run.stderr
        );
    }
}

fn binding(deployed: &str, vms: &Value) -> Value {
    let request = json!({
        "app_guid": "app-3", "service_id": "svc-redis", "plan_id": "plan-cache",
        "bind_resource": {"app_guid": "app-3"}, "context": {"platform": "cloudfoundry"}, "parameters": {},
    });
    json!({
        "binding_id": "b-1",
        "bosh_vms": vms.to_string(),
        "manifest": deployed,
        "request_parameters": request.to_string(),
        "secrets": "null",
        "dns_addresses": "{}",
    })
}
