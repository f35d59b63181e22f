//! The parts of requests besides parameters, and of answers besides credentials and manifests.

use std::time::{Duration, SystemTime};

use odb_adapter_sdk::protocol::{
    Binding, BindingMetadata, BindingTimeError, ConfigType, CreateBinding, Endpoint,
    EndpointProtocol, GeneratedManifest, UaaClient, VolumeMount,
};
use odb_adapter_sdk::{AdapterError, protocol::Subcommand};
use serde_json::{Map, Value, json};

use crate::calls::request;

#[test]
fn a_request_says_who_asks_for_what_and_where() {
    let request = request(&json!({
        "service_id": "s", "plan_id": "p", "organization_guid": "o",
        "context": {
            "platform": "cloudfoundry", "organization_guid": "o", "organization_name": "org",
            "space_guid": "sp", "space_name": "space", "instance_name": "cache",
            "instance_annotations": {"team": "a"}, "cluster": "c",
        },
        "maintenance_info": {"version": "2.0.0", "public": {"stemcell": "1.80", "odd": 1}},
        "previous_values": {"plan_id": "q", "organization_id": "o", "maintenance_info": {"version": "1.0.0"}},
    }));
    assert_eq!(
        (request.service_id(), request.plan_id()),
        (Some("s"), Some("p"))
    );
    assert_eq!(
        (request.organization_guid(), request.space_guid()),
        (Some("o"), Some("sp"))
    );
    let context = request.platform_context();
    assert_eq!(context.platform.as_deref(), Some("cloudfoundry"));
    assert_eq!(context.organization_name.as_deref(), Some("org"));
    assert_eq!(context.space_name.as_deref(), Some("space"));
    assert_eq!(context.instance_name.as_deref(), Some("cache"));
    assert_eq!(context.instance_annotations["team"], "a");
    assert_eq!(
        *context.other,
        Map::from_iter([("cluster".to_owned(), json!("c"))])
    );
    let info = request.maintenance_info().unwrap();
    assert_eq!(info.version.as_deref(), Some("2.0.0"));
    assert_eq!(info.public.len(), 1);
    let before = request.previous_values().unwrap();
    assert_eq!(before.plan_id.as_deref(), Some("q"));
    assert_eq!(
        before.maintenance_info.unwrap().version.as_deref(),
        Some("1.0.0")
    );
}

#[test]
fn a_bind_says_what_it_is_for() {
    let target = |resource: Value| request(&json!({"bind_resource": resource})).bind_target();
    let app = target(json!({"app_guid": "a", "space_guid": "s", "new": 1}));
    assert_eq!(
        (app.app_guid.as_deref(), app.space_guid.as_deref()),
        (Some("a"), Some("s"))
    );
    assert_eq!(app.other["new"], 1);
    assert_eq!(
        target(json!({"route": "r.example.com"})).route.as_deref(),
        Some("r.example.com")
    );
    assert!(target(json!({"backup_agent": true})).is_backup_agent);
    assert!(!target(json!({"backup_agent": "true"})).is_backup_agent);
    assert_eq!(target(json!([])), target(json!({})));
}

#[test]
fn a_binding_is_more_than_credentials() {
    let noon = SystemTime::UNIX_EPOCH + Duration::from_millis(1_896_091_200_500);
    let hour = Duration::from_hours(1);
    let binding = Binding::with_credentials(json!({"user": "u"}))
        .with_syslog_drain("syslog://logs")
        .with_route_service("https://filter")
        .with_volume_mounts([VolumeMount::shared("nfs", "/data", "v1")
            .read_only()
            .with_mount_config(Map::from_iter([("key".to_owned(), json!(1))]))])
        .with_endpoints([
            Endpoint::new("10.0.0.1", 9092)
                .with_port(9093)
                .with_ports(9100..=9110),
            Endpoint::new("10.0.0.2", 53).over(EndpointProtocol::Udp),
        ])
        .with_metadata(&BindingMetadata::renewed_before(noon - hour, noon).unwrap());
    assert_eq!(
        serde_json::to_value(&binding).unwrap(),
        json!({
            "credentials": {"user": "u"},
            "syslog_drain_url": "syslog://logs",
            "route_service_url": "https://filter",
            "endpoints": [
                {"host": "10.0.0.1", "ports": ["9092", "9093", "9100-9110"]},
                {"host": "10.0.0.2", "ports": ["53"], "protocol": "udp"},
            ],
            "volume_mounts": [{
                "driver": "nfs", "container_dir": "/data", "mode": "r", "device_type": "shared",
                "device": {"volume_id": "v1", "mount_config": {"key": 1}},
            }],
            "metadata": {
                "expires_at": "2030-01-31T12:00:00.500Z", "renew_before": "2030-01-31T11:00:00.500Z",
            },
        })
    );
    let late = BindingMetadata::renewed_before(noon + hour, noon);
    assert_eq!(late, Err(BindingTimeError::RenewedAfterExpiry));
}

#[test]
fn a_backup_agent_gets_its_address_and_no_credentials() {
    assert_eq!(
        serde_json::to_value(Binding::backup_agent("https://agent")).unwrap(),
        json!({"credentials": null, "backup_agent_url": "https://agent"})
    );
}

#[test]
fn a_manifest_goes_with_configs_and_labels() {
    let answer = GeneratedManifest::from_text("name: a\n".into())
        .with_config(ConfigType::Cloud, "vm_extensions: []")
        .with_config(ConfigType::Runtime, "addons: []")
        .with_label("version", "7.4");
    assert_eq!(
        serde_json::to_value(&answer).unwrap(),
        json!({
            "manifest": "name: a\n", "secrets": null,
            "configs": {"cloud": "vm_extensions: []", "runtime": "addons: []"},
            "labels": {"version": "7.4"},
        })
    );
}

#[test]
fn a_uaa_client_that_is_reported_only_once_is_kept() {
    let deployed = json!({"client_id": "i", "client_secret": "kept", "scopes": "old"});
    assert_eq!(
        UaaClient::block(None, Some(&deployed)),
        Some(deployed.clone())
    );
    assert_eq!(UaaClient::block(None, None), None);

    let mut client = UaaClient::new("i");
    client.scopes = "new".to_owned();
    client.redirect_uri = Some("https://a".to_owned());
    let block = UaaClient::block(Some(&client), Some(&deployed)).unwrap();
    assert_eq!(
        (&block["client_secret"], &block["scopes"]),
        (&json!("kept"), &json!("new"))
    );
    assert_eq!(block["redirect_uri"], "https://a");

    let other = UaaClient::block(Some(&UaaClient::new("other")), Some(&deployed)).unwrap();
    assert_eq!(other["client_secret"], "");
    client.client_secret = "fresh".into();
    let block = UaaClient::block(Some(&client), Some(&deployed)).unwrap();
    assert_eq!(block["client_secret"], "fresh");
    assert!(client.new_secret().is_some() && UaaClient::new("i").new_secret().is_none());
}

#[test]
fn a_uaa_client_keeps_what_is_not_known_and_shows_no_secret() {
    let text = r#"{"client_id":"i","client_secret":"hunter2","name":"n","scopes":"","resource_ids":"","authorities":"","authorized_grant_types":"","allowpublic":"true","token_validity":"3600"}"#;
    let client: UaaClient = serde_json::from_str(text).unwrap();
    assert_eq!(client.allowpublic.as_deref(), Some("true"));
    assert_eq!(serde_json::to_string(&client).unwrap(), text);
    assert!(!format!("{client:?}").contains("hunter2"));
}

#[test]
fn a_binding_names_the_addresses_that_it_does_not_find() {
    let vms = [("server", vec!["10.0.0.1"]), ("standby", vec![])].map(|(name, addresses)| {
        let addresses = addresses.into_iter().map(str::to_owned).collect();
        (name.to_owned(), addresses)
    });
    let mut call = CreateBinding::new("b", vms.into(), "name: a".into(), request(&json!({})));
    assert_eq!(call.addresses_of("server").unwrap(), ["10.0.0.1"]);
    for group in ["standby", "backup"] {
        assert_eq!(
            call.addresses_of(group).unwrap_err().to_string(),
            format!("instance group `{group}` has no VM; there are VMs of `server`")
        );
    }
    assert_eq!(
        call.dns_address("server").unwrap_err().to_string(),
        "unknown DNS address `server` (there is none at all); add it to `binding_with_dns` of the plan"
    );
    call.dns_addresses
        .insert("server".to_owned(), "q-s0.server.bosh".to_owned());
    assert_eq!(call.dns_address("server").unwrap(), "q-s0.server.bosh");
}

#[test]
fn a_misconfigured_service_is_for_the_operator_to_fix() {
    let error = AdapterError::misconfigured("the plan has no instance group `redis`");
    assert_eq!(
        error.user_message(),
        Some("Contact your operator, service configuration issue occurred")
    );
    assert_eq!(error.exit_code(Subcommand::GenerateManifest).code(), 1);
}
