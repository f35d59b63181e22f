//! The properties of the job `broker`.

use serde_json::json;

use super::{Property, property, same, under};

pub(super) fn of_the_broker_itself() -> Vec<Property> {
    let flags = [
        "disable_ssl_cert_verification",
        "disable_bosh_configs",
        "enable_telemetry",
        "enable_plan_schemas",
        "expose_operational_errors",
        "startup_banner",
        "support_backup_agent_binding",
        "skip_check_for_pending_changes",
        "skip_unchanged_upgrades",
        "enable_fetch_instance",
        "require_organization_and_space",
    ];
    let timings = [
        "timings.request_budget_in_seconds",
        "timings.adapter_processes",
        "timings.adapter_call_in_seconds",
        "timings.adapter_answer_in_mebibytes",
        "timings.adapter_log_in_kibibytes",
        "timings.lost_answer_in_seconds",
        "timings.slow_client_in_seconds",
        "timings.connections",
        "timings.clean_up_in_seconds",
        "timings.failed_authentication_in_seconds",
    ];
    let mut properties = vec![
        under("broker", "port", json!(8081)),
        under("broker", "bind_address", json!("10.0.16.4")),
        under("broker", "username", json!("some-user")),
        under("broker", "password", json!("of-some-user")),
        under("broker", "use_stdin", json!(false)),
        under("broker", "shutdown_timeout_in_seconds", json!(7)),
    ];
    properties.extend(flags.map(|name| under("broker", name, json!(true))));
    properties.extend(timings.map(|name| under("broker", name, json!(9))));
    properties
}

pub(super) fn of_upstreams() -> Vec<Property> {
    let client = "/bosh/authentication/uaa/client_credentials";
    vec![
        same("bosh.url", json!("https://10.0.0.7")),
        same("bosh.root_ca_cert", json!("PEM")),
        property(
            "bosh.authentication.uaa.client_id",
            json!("a"),
            &format!("{client}/client_id"),
        ),
        property(
            "bosh.authentication.uaa.client_secret",
            json!("a"),
            &format!("{client}/client_secret"),
        ),
        same("cf.url", json!("https://api.example.org")),
        same("cf.root_ca_cert", json!("PEM")),
        same("cf.uaa.url", json!("https://login.example.org")),
        same(
            "cf.uaa.authentication.client_credentials.client_id",
            json!("a"),
        ),
        same(
            "cf.uaa.authentication.client_credentials.client_secret",
            json!("a"),
        ),
        same(
            "cf.uaa.client_definition",
            json!({ "scopes": "openid", "allowpublic": false }),
        ),
        same("bosh_credhub_api.url", json!("https://10.0.0.6")),
        same("bosh_credhub_api.root_ca_cert", json!("PEM")),
        same(
            "bosh_credhub_api.authentication.uaa.client_credentials.client_id",
            json!("a"),
        ),
        same(
            "bosh_credhub_api.authentication.uaa.client_credentials.client_secret",
            json!("a"),
        ),
    ]
    .into_iter()
    .map(|mut property| {
        property.member = property
            .member
            .replace("/bosh_credhub_api/", "/bosh_credhub/");
        property
    })
    .collect()
}

pub(super) fn of_the_service() -> Vec<Property> {
    let mut properties = vec![
        same("service_adapter.path", json!("/var/vcap/jobs/a/bin/b")),
        same("service_adapter.mount_paths", json!(["/var/vcap/jobs/a"])),
        same("service_adapter.environment", json!(["LICENCE"])),
        same("service_adapter.concurrent_bindings_per_instance", json!(1)),
        same(
            "service_deployment.releases",
            json!([{ "name": "a", "version": "1", "jobs": ["b"] }]),
        ),
        same(
            "service_deployment.stemcells",
            json!([{ "name": "a", "os": "b", "version": "1" }]),
        ),
        same("service_catalog.id", json!("a")),
        same("service_catalog.service_name", json!("a")),
        same("service_catalog.service_description", json!("a")),
        same("service_catalog.bindable", json!(false)),
        same("service_catalog.bindings_retrievable", json!(true)),
        same("service_catalog.plan_updatable", json!(true)),
        same("service_catalog.tags", json!(["a"])),
        same("service_catalog.requires", json!(["syslog_drain"])),
        same(
            "service_catalog.dashboard_client",
            json!({ "id": "a", "secret": "b", "redirect_uri": "c" }),
        ),
        same(
            "service_catalog.global_properties",
            json!({ "a": { "b": null } }),
        ),
        same(
            "service_catalog.global_quotas.service_instance_limit",
            json!(0),
        ),
        same(
            "service_catalog.global_quotas.resources",
            json!({ "ips": { "limit": 3 } }),
        ),
        same(
            "service_catalog.maintenance_info.version",
            json!("1.2.3-rc.1+b.01"),
        ),
        same("service_catalog.maintenance_info.description", json!("a")),
        same(
            "service_catalog.maintenance_info.public",
            json!({ "a": "b" }),
        ),
        same(
            "service_catalog.maintenance_info.private",
            json!({ "a": "b" }),
        ),
        same("service_catalog.metadata.shareable", json!(true)),
    ];
    properties.extend(
        [
            "service_catalog.metadata.display_name",
            "service_catalog.metadata.image_url",
            "service_catalog.metadata.long_description",
            "service_catalog.metadata.provider_display_name",
            "service_catalog.metadata.documentation_url",
            "service_catalog.metadata.support_url",
        ]
        .map(|name| same(name, json!("a"))),
    );
    properties
}

/// Properties that become part of other files, or are documented elsewhere.
pub(super) fn of_other_files() -> Vec<Property> {
    let elsewhere = |name, value, file, member: &str| Property {
        name,
        value,
        file,
        member: member.to_owned(),
    };
    let bpm = "config/bpm.yml";
    vec![
        elsewhere("log_filter", json!("debug"), bpm, "/processes/0/args/4"),
        elsewhere(
            "environment",
            json!({ "LICENCE": "1" }),
            bpm,
            "/processes/0/env",
        ),
    ]
}

/// These have tests of their own.
pub(super) const OF_THE_BROKER_ELSEWHERE: &[&str] = &[
    "bosh.authentication.basic.password",
    "bosh.authentication.basic.username",
    "cf.authentication",
    "cf.uaa.authentication.user_credentials.password",
    "cf.uaa.authentication.user_credentials.username",
    "enable_secure_manifests",
    "metrics.prom_scraper.ca_cert",
    "metrics.prom_scraper.enabled",
    "metrics.prom_scraper.scrape_interval",
    "metrics.prom_scraper.server_name",
    "secure_binding_credentials.authentication.uaa.ca_cert",
    "secure_binding_credentials.authentication.uaa.client_id",
    "secure_binding_credentials.authentication.uaa.client_secret",
    "secure_binding_credentials.enabled",
    "service_catalog.global_quotas.resource_limits",
    "service_catalog.plans",
    "service_deployment.stemcell.name",
    "service_deployment.stemcell.os",
    "service_deployment.stemcell.version",
    "service_instances_api.authentication.basic.password",
    "service_instances_api.authentication.basic.username",
    "service_instances_api.disable_ssl_cert_verification",
    "service_instances_api.root_ca_cert",
    "service_instances_api.url",
    "tls.certificate",
    "tls.private_key",
];
