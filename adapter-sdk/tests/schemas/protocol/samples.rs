//! One document of each kind with everything in it, and those that the protocol's description shows.

use odb_adapter_sdk::protocol::Subcommand;
use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use super::document::{SCHEMAS, errors, errors_of_call, errors_throughout, is_read};

const PROTOCOL: &str = include_str!("../../../../spec/contracts/adapter-protocol.md");

/// A document with everything in it that its schema knows.
pub(crate) fn full(name: &str) -> Value {
    match name {
        "service-deployment" => json!({
            "deployment_name": "service-instance_1",
            "releases": [{"name": "r", "version": "1.2", "jobs": ["a", "b"]}],
            "stemcells": [{"stemcell_name": "fips", "stemcell_os": "ubuntu-jammy", "stemcell_version": "1.651"}],
        }),
        "plan" => json!({
            "properties": {"any": ["JSON"]},
            "lifecycle_errands": {
                "post_deploy": [{"name": "health-check", "instances": ["server/0"]}],
                "pre_delete": [{"name": "cleanup"}],
            },
            "instance_groups": [{
                "name": "server", "vm_type": "small", "vm_extensions": ["lb"], "persistent_disk_type": "10GB",
                "instances": 1, "networks": ["net"], "azs": ["z1"], "lifecycle": "service",
                "migrated_from": [{"name": "old"}],
            }],
            "update": {
                "canaries": 1, "canary_watch_time": "1000-30000", "update_watch_time": "1000-30000",
                "max_in_flight": 2, "serial": true, "initial_deploy_az_update_strategy": "serial",
            },
        }),
        "request-parameters" => json!({
            "service_id": "s", "plan_id": "p", "organization_guid": "o", "space_guid": "sp", "app_guid": "",
            "previous_values": {
                "plan_id": "q", "service_id": "s", "organization_id": "o", "space_id": "sp",
                "maintenance_info": {"version": "1.0.0"},
            },
            "bind_resource": {
                "app_guid": "a", "space_guid": "sp", "route": "r", "credential_client_id": "c", "backup_agent": true,
            },
            "context": {"platform": "cloudfoundry", "instance_name": "cache"},
            "parameters": {"maxclients": 3},
            "maintenance_info": {"version": "2.0.0", "description": "d", "public": {"a": "b"}, "private": "hash"},
        }),
        "previous-secrets" => json!({"((admin_password))": "generated", "((/odb/o/i/token))": "v"}),
        "previous-configs" => json!({"cloud": "vm_extensions: []"}),
        "uaa-client" => json!({
            "client_id": "1", "client_secret": "s", "name": "n", "scopes": "a,b", "resource_ids": "r",
            "authorities": "c", "authorized_grant_types": "client_credentials", "redirect_uri": "https://example.com",
            "allowpublic": "false",
        }),
        "bosh-vms" => json!({"server": ["10.0.0.1", "10.0.0.2"]}),
        "dns-addresses" => json!({"leader": "q-s0.server.net.d.bosh"}),
        "manifest" => yaml::from_str(include_str!("../../sdk/full_manifest.yml")).unwrap(),
        "generated-manifest" => json!({
            "manifest": "name: d\n", "secrets": {"password": "s3cr3t", "tls": {"ca": "…"}},
            "configs": {"cloud": "{}"}, "labels": {"version": "1.2.3"},
        }),
        "binding" => json!({
            "credentials": {"host": "10.0.0.1"}, "syslog_drain_url": "syslog://l", "route_service_url": "https://r",
            "backup_agent_url": "http://b",
            "endpoints": [{"host": "10.0.0.1", "ports": ["6379", "7000-7010"], "protocol": "tcp"}],
            "volume_mounts": [{
                "driver": "nfs", "container_dir": "/data", "mode": "rw", "device_type": "shared",
                "device": {"volume_id": "v", "mount_config": {"uid": 1}},
            }],
            "metadata": {"expires_at": "2030-01-31T12:00:00.000Z", "renew_before": "2030-01-30T12:00:00.000Z"},
        }),
        "dashboard-url" => json!({"dashboard_url": "https://example.com/1"}),
        "plan-schemas" => {
            let schema =
                json!({"parameters": {"$schema": "http://json-schema.org/draft-04/schema#"}});
            json!({
                "service_instance": {"create": schema, "update": schema},
                "service_binding": {"create": schema},
            })
        }
        other => panic!("{other} has no sample"),
    }
}

/// Names of all documents but the input, whose parts they are.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    SCHEMAS
        .keys()
        .map(String::as_str)
        .filter(|name| *name != "input")
}

#[test]
fn a_document_with_everything_in_it_is_accepted_and_read() {
    for name in names() {
        let document = full(name);
        assert_eq!(errors_throughout(name, &document), [""; 0], "{name}");
        assert!(is_read(name, &document), "{name}");
    }
}

#[test]
fn the_worked_samples_of_the_protocol_are_accepted() {
    for heading in ["### 4.3 ", "### 4.4 "] {
        let section = PROTOCOL
            .split(heading)
            .nth(1)
            .unwrap()
            .split("\n## ")
            .next()
            .unwrap();
        let input: Value = serde_json::from_str(block(section, "json")).unwrap();
        assert_eq!(errors_throughout("input", &input), [""; 0]);
        assert_eq!(
            errors_of_call(Subcommand::GenerateManifest, &input),
            [""; 0]
        );
        let manifest: Value = yaml::from_str(block(section, "yaml")).unwrap();
        assert_eq!(errors("manifest", &manifest), [""; 0]);
    }
    for (heading, name) in [
        ("### 2.1 ", "service-deployment"),
        ("### 2.2 ", "plan"),
        ("### 2.5 ", "previous-secrets"),
    ] {
        let section = PROTOCOL.split(heading).nth(1).unwrap();
        let document: Value = serde_json::from_str(block(section, "json")).unwrap();
        assert_eq!(errors(name, &document), [""; 0]);
    }
}

/// The samples within the sentences of the description.
#[test]
fn answers_that_the_protocol_shows_are_accepted() {
    let shown = |start: &str| {
        let at = PROTOCOL
            .find(start)
            .unwrap_or_else(|| panic!("the protocol shows {start}"));
        let mut values = serde_json::Deserializer::from_str(&PROTOCOL[at..]).into_iter::<Value>();
        values.next().unwrap().unwrap()
    };
    for (start, name) in [
        (
            r#"{"manifest":"name: service-instance_1"#,
            "generated-manifest",
        ),
        (
            r#"{"manifest":"…","secrets":{"admin_password""#,
            "generated-manifest",
        ),
        (r#"{"credentials": {"host""#, "binding"),
        (r#"{"credentials":{"bootstrap_servers""#, "binding"),
    ] {
        assert_eq!(errors(name, &shown(start)), [""; 0], "{start}");
    }
    let bind = shown(r#"{"create_binding": {"binding_id": "b-1""#);
    assert_eq!(errors_of_call(Subcommand::CreateBinding, &bind), [""; 0]);
}

/// The first block of that language in a section.
fn block<'s>(section: &'s str, language: &str) -> &'s str {
    let start = format!("```{language}\n");
    section
        .split(&start)
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap()
}
