use std::path::Path;

use odb_clients::{
    director::{AddressFilter, Credentials, InstanceHealth},
    uaa::Grant,
};
use secrecy::ExposeSecret;

use super::*;

mod addresses;
mod client_definition;
mod secrets;
mod typos;
mod ui;

/// A configuration that needs only an executable: the test's own.
fn minimal() -> String {
    let adapter = std::env::current_exe().unwrap();
    format!(
        "broker:
  port: 8080
  username: broker
  password: hunter2-broker
  skip_check_for_pending_changes: true
bosh:
  url: https://director.example
  authentication:
    uaa:
      client_credentials: {{client_id: odb, client_secret: hunter2-bosh}}
cf:
  url: https://api.example
  uaa:
    url: https://uaa.example
    authentication:
      client_credentials: {{client_id: odb, client_secret: hunter2-cf}}
service_adapter:
  path: {}
service_deployment:
  releases: [{{name: redis, version: 1.10, jobs: [redis-server]}}]
  stemcells: [{{os: ubuntu-jammy, version: '1.80'}}]
service_catalog:
  id: offering-1
  service_name: redis
  service_description: A store
  bindable: yes
  plan_updatable: true
  global_properties: {{persistence: on, mode: 0777}}
  plans:
  - plan_id: plan-1
    name: small
    description: One VM
    instance_groups:
    - {{name: redis-server, vm_type: small, instances: 1, networks: [default], azs: [z1]}}
",
        adapter.display()
    )
}

fn minimal_without_cf() -> String {
    without_cf(&minimal())
}

fn without_cf(source: &str) -> String {
    let (before, rest) = source.split_once("cf:\n").unwrap();
    let (_, after) = rest.split_once("service_adapter:\n").unwrap();
    format!("{before}service_adapter:\n{after}")
}

/// With more lines in the section `broker`.
fn with_broker(source: &str, lines: &str) -> String {
    let user = "  username: broker";
    source.replace(user, &format!("{user}\n  {}", lines.replace('\n', "\n  ")))
}

/// With another key of the one plan.
fn with_plan(source: &str, line: &str) -> String {
    let description = "    description: One VM\n";
    source.replace(description, &format!("{description}    {line}\n"))
}

/// With another section.
fn with_section(source: &str, section: &str) -> String {
    let next = "service_adapter:\n";
    source.replace(next, &format!("{section}\n{next}"))
}

fn parse(source: &str) -> Result<Loaded<Config>, InvalidConfig> {
    Config::parse(Path::new("broker.yml"), source)
}

fn findings(source: &str) -> Vec<String> {
    parse(source)
        .unwrap_err()
        .findings
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn absent_keys_have_the_releases_defaults() {
    let config = parse(&minimal()).unwrap().config;
    assert_eq!(config.broker.shutdown_timeout.as_secs(), 60);
    let timings = config.broker.timings;
    let usual = Timings {
        submission_reserve: timings.submission_reserve,
        ..Timings::default()
    };
    assert_eq!(timings, usual);
    assert_eq!(config.broker.bosh_configs, BoshConfigs::Enabled);
    assert!(config.broker.listen.ip().is_unspecified());
    assert_eq!(config.broker.listen.port(), 8080);
    assert!(config.broker.tls.is_none());
}

#[test]
fn scalars_keep_their_spelling_where_text_is_wanted() {
    let config = parse(&minimal()).unwrap().config;
    assert_eq!(config.software.releases[0].version, "1.10");
}

#[test]
fn free_form_values_have_the_types_of_yaml_1_1() {
    let config = parse(&minimal()).unwrap().config;
    assert_eq!(
        serde_json::Value::Object(config.offering.global_properties.clone()),
        serde_json::json!({"persistence": true, "mode": 511})
    );
    assert!(config.offering.bindable);
}

#[test]
fn keys_of_free_form_values_may_be_anything() {
    let source = minimal().replace(
        "{persistence: on, mode: 0777}",
        "{1: one, nested: {2: [], true: {3.50: x}}}",
    );
    let config = parse(&source).unwrap().config;
    assert_eq!(
        serde_json::Value::Object(config.offering.global_properties.clone()),
        serde_json::json!({"1": "one", "nested": {"2": [], "true": {"3.50": "x"}}})
    );
}

#[test]
fn every_error_is_reported_at_once_with_line_and_key() {
    let source = minimal()
        .replace("port: 8080", "port: 70000")
        .replace("  password: hunter2-broker\n", "")
        .replace("url: https://director.example", "url:")
        .replace("version: 1.10,", "version: latest,")
        .replace("instances: 1,", "instances: [1],")
        .replace("url: https://uaa.example", "url: ''");
    let found = findings(&source);
    insta::assert_snapshot!(found.join("\n"), @r"
    broker.yml:2:9: `broker.port` is 70000; a port is a number from 1 to 65535
    broker.yml:2:3: `broker.password` is missing; give the password that the platform authenticates with
    broker.yml:6:6: `bosh.url` is empty; give the address of the Director, such as `https://10.0.0.6:25555`
    broker.yml:13:10: `cf.uaa.url` is empty; give the address of its UAA, such as `https://uaa.example.com`
    broker.yml:19:37: `service_deployment.releases[0].version` is `latest`; give an exact version
    broker.yml:33:55: `service_catalog.plans[0].instance_groups[0].instances` is a list; it must be a whole number without quotes
    ");
}

#[test]
fn a_rejection_never_quotes_a_secret() {
    for broken in [
        minimal().replace("password: hunter2-broker", "password: [hunter2-broker]"),
        minimal().replace(
            "password: hunter2-broker",
            "password: hunter2-broker\n bad: indent",
        ),
        minimal().replace(
            "client_secret: hunter2-bosh",
            "client_secret: {hunter2-bosh: 1}",
        ),
        minimal().replace("port: 8080", "port: x"),
        minimal().replace("hunter2-cf}", "hunter2-cf"),
    ] {
        let reported = findings(&broken).join("\n");
        assert!(
            !reported.contains("hunter2") && !reported.contains("zq"),
            "{reported}"
        );
    }
}

#[test]
fn a_typo_is_remarked_with_the_key_that_was_meant() {
    let source = with_broker(&minimal(), "shutdown_timeout_in_second: 5");
    let warnings = parse(&source).unwrap().warnings;
    assert_eq!(
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "broker.yml:4:3: `broker.shutdown_timeout_in_second` is not known and ignored; is `shutdown_timeout_in_seconds` meant?"
        ]
    );
}

#[test]
fn a_rendered_file_with_nulls_everywhere_is_accepted() {
    let source = minimal()
        .replace("  authentication:\n    uaa:\n      client_credentials: {client_id: odb, client_secret: hunter2-bosh}", "  root_ca_cert:\n  authentication:\n    basic: {username: , password: }\n    uaa:\n      client_credentials: {client_id: odb, client_secret: hunter2-bosh}")
        .replace("service_deployment:\n", "bosh_credhub: {url: , root_ca_cert: }\ncredhub: {api_url: }\nservice_deployment:\n  stemcell:\n")
        .replace("    description: One VM\n", "    description: One VM\n    quotas: {service_instance_limit: , resources: {}}\n    lifecycle_errands: {post_deploy: }\n    update:\n");
    let loaded = parse(&source).unwrap();
    assert_eq!(loaded.warnings, []);
    assert!(!loaded.config.offering.has_quotas());
}

#[test]
fn bindings_are_retrievable_with_a_runtime_credhub_only() {
    let source = minimal().replace(
        "service_catalog:\n",
        "service_catalog:\n  bindings_retrievable: true\n",
    );
    let reported = findings(&source);
    assert_eq!(reported.len(), 1, "{reported:?}");
    let expected = "`service_catalog.bindings_retrievable` is true; metadata of bindings is stored in the runtime CredHub: configure `credhub`, or remove this key";
    assert!(reported[0].ends_with(expected), "{reported:?}");
}

/// A configuration with secure manifests.
fn with_secure_manifests() -> String {
    with_section(
        &with_broker(&minimal(), "enable_secure_manifests: true"),
        "bosh_credhub:
  url: https://director.example:8844
  root_ca_cert: of CredHub
  authentication:
    uaa:
      client_credentials: {client_id: secrets, client_secret: hunter2-credhub}",
    )
}

#[test]
fn secure_manifests_need_the_directors_credhub_and_its_own_and_the_directors_trust_root_are_good_for_it()
 {
    let source = with_secure_manifests().replace(
        "  url: https://director.example\n",
        "  url: https://director.example\n  root_ca_cert: of the Director\n",
    );
    let config = parse(&source).unwrap().config;

    let credhub = config.bosh_credhub.unwrap();
    assert_eq!(credhub.url.as_written(), "https://director.example:8844");
    assert_eq!(
        credhub.ca_certs.as_deref(),
        Some("of CredHub\nof the Director")
    );
    assert_eq!(credhub.client.client_id, "secrets");
    assert_eq!(
        credhub.client.client_secret.expose_secret(),
        "hunter2-credhub"
    );
}

#[test]
fn every_key_that_secure_manifests_lack_is_reported_with_its_line() {
    let source = with_broker(&minimal(), "enable_secure_manifests: true");
    let found = findings(&source);
    for key in [
        "`bosh_credhub.url`",
        "`bosh_credhub.authentication.uaa.client_credentials.client_id`",
        "`bosh_credhub.authentication.uaa.client_credentials.client_secret`",
    ] {
        assert!(found.iter().any(|text| text.contains(key)), "{found:?}");
    }

    let source =
        with_secure_manifests().replace("client_secret: hunter2-credhub", "client_secret:");
    let found = findings(&source);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("broker.yml:23:"), "{found:?}");
    assert!(found[0].contains("client_secret"), "{found:?}");
}

#[test]
fn without_secure_manifests_the_directors_credhub_means_nothing_whatever_is_rendered_there() {
    for source in [
        with_secure_manifests().replace(
            "enable_secure_manifests: true",
            "enable_secure_manifests: false",
        ),
        with_section(&minimal(), "bosh_credhub: {url: , authentication: }"),
    ] {
        let loaded = parse(&source).unwrap();
        assert!(loaded.config.bosh_credhub.is_none());
        assert_eq!(loaded.warnings, []);
    }
}

/// Gorouter keeps them for 90 s.
#[test]
fn idle_connections_outlive_those_of_a_router() {
    let kept = parse(&minimal()).unwrap().config.broker.timings;
    assert!(kept.idle_connection.as_secs() >= 120);
}

#[test]
fn ceilings_are_numbers_within_reason() {
    let with = |timings: &str| with_broker(&minimal(), &format!("timings: {{{timings}}}"));
    let set =
        "adapter_call_in_seconds: 20, adapter_answer_in_mebibytes: 2, adapter_log_in_kibibytes: 16";
    let timings = parse(&with(set)).unwrap().config.broker.timings;
    assert_eq!(timings.adapter_call.as_secs(), 20);
    assert_eq!(timings.adapter_answer, 2 * 1024 * 1024);
    assert_eq!(timings.adapter_log, 16 * 1024);
    for (wrong, remedy) in [
        ("adapter_call_in_seconds: 0", "give 1 to 55 seconds"),
        ("adapter_answer_in_mebibytes: 65", "give 1 to 64 MiB"),
        ("adapter_log_in_kibibytes: -1", "give 1 to 65536 KiB"),
        ("adapter_processes: 1025", "give 1 to 1024"),
        (
            "request_budget_in_seconds: 60",
            "give 1 to 55 seconds, for the platform gives up after 60",
        ),
    ] {
        let found = findings(&with(wrong));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with(remedy), "{found:?}");
    }
}

#[test]
fn adapters_read_stdin_and_describe_no_parameters_unless_the_operator_says_otherwise() {
    let decided = |source: &str| {
        let adapter = parse(source).unwrap().config.adapter;
        (adapter.form, adapter.plan_schemas)
    };
    assert_eq!(decided(&minimal()), (AdapterForm::Stdin, false));
    let otherwise = with_broker(&minimal(), "use_stdin: no\nenable_plan_schemas: yes");
    assert_eq!(decided(&otherwise), (AdapterForm::Arguments, true));
}

#[test]
fn what_adapters_read_on_stdin_only_is_refused_where_they_get_arguments() {
    let arguments = with_broker(&minimal(), "use_stdin: false");
    for source in [
        with_broker(&with_secure_manifests(), "use_stdin: false"),
        with_plan(
            &arguments,
            "binding_with_dns: [{name: a, link_provider: b, instance_group: c}]",
        ),
    ] {
        assert_eq!(findings(&source).len(), 1, "{source}");
    }
}

/// With DNS addresses for the bindings of the one plan.
fn with_dns(bindings: &str) -> String {
    with_plan(&minimal(), &format!("binding_with_dns: {bindings}"))
}

#[test]
fn a_plan_names_the_dns_addresses_that_its_bindings_need() {
    let source = with_dns(
        "[{name: a, link_provider: redis, instance_group: redis-server}, \
          {name: b, link_provider: redis, instance_group: redis-server, properties: {azs: [z1, z2], status: healthy}}]",
    );
    let loaded = parse(&source).unwrap();
    assert_eq!(loaded.warnings, []);
    let [plain, narrow] = loaded.config.offering.plans[0].dns_bindings.as_slice() else {
        panic!("there are two");
    };
    assert_eq!(plain.name, "a");
    assert_eq!(plain.link_provider, "redis");
    assert_eq!(plain.instance_group, "redis-server");
    assert_eq!(plain.filter, AddressFilter::default());
    let expected = AddressFilter {
        azs: vec!["z1".to_owned(), "z2".to_owned()],
        health: Some(InstanceHealth::Healthy),
    };
    assert_eq!(narrow.filter, expected);
}

#[test]
fn every_error_of_a_dns_address_is_reported_with_its_key() {
    let source = with_dns(
        "[{name: a, instance_group: g}, {name: b, link_provider: l, instance_group: g, properties: {status: great}}, \
          {name: c, link_provider: l, instance_group: g, properties: {azs: z1}}, \
          {name: d, link_provider: l, instance_group: g}, {name: d, link_provider: l, instance_group: h}]",
    );
    let reported = findings(&source);
    let key = "`service_catalog.plans[0].binding_with_dns";
    let expected = [
        format!("{key}[0].link_provider` is missing"),
        format!(
            "{key}[1].properties.status` is `great`; give one of `default`, `healthy`, `unhealthy`, `all`"
        ),
        format!("{key}[2].properties.azs` is"),
        format!("{key}[4].name` is `d` a second time"),
    ];
    assert_eq!(reported.len(), expected.len(), "{reported:#?}");
    for (reported, expected) in reported.iter().zip(&expected) {
        assert!(reported.contains(expected), "{reported}: {expected}");
    }
}

#[test]
fn quotas_without_a_source_to_count_prevent_the_start() {
    let source = with_broker(&minimal_without_cf(), "disable_cf_startup_checks: true");
    let source = with_plan(&source, "quotas: {service_instance_limit: 5}");
    assert!(findings(&source)[0].contains("cannot be enforced"));
}

#[test]
fn quotas_are_counted_with_the_service_instances_api_where_there_is_no_cloud_controller() {
    let source = with_broker(&minimal_without_cf(), "disable_cf_startup_checks: true");
    let source = with_plan(&source, "quotas: {service_instance_limit: 5}");
    let source = with_section(
        &source,
        "service_instances_api:\n  url: https://instances.example/redis?all=1\n  authentication: {basic: {username: lister, password: hunter2-api}}",
    );
    let loaded = parse(&source).unwrap();
    assert_eq!(loaded.warnings, []);
    let api = loaded.config.service_instances_api.unwrap();
    assert_eq!(
        api.url.as_written(),
        "https://instances.example/redis?all=1"
    );
    assert_eq!(api.username, "lister");
    assert_eq!(api.verification, Verification::On);
    assert!(!format!("{api:?}").contains("hunter2"));
}

/// Lists come from it, and quotas are counted at the Cloud Controller.
#[test]
fn a_service_instances_api_beside_a_cloud_controller_is_no_finding() {
    let section = "service_instances_api: {url: 'https://instances.example'}";
    let source = with_section(&minimal(), section);
    let loaded = parse(&source).unwrap();
    assert_eq!(loaded.warnings, []);
    assert!(loaded.config.service_instances_api.is_some());
}

#[test]
fn a_service_instances_api_without_an_address_is_none() {
    for (section, warnings) in [
        (
            "{url: , root_ca_cert: , authentication: {basic: {username: }}}",
            0,
        ),
        ("{authentication: {basic: {username: lister}}}", 1),
    ] {
        let section = format!("service_instances_api: {section}");
        let source = with_section(&minimal(), &section);
        let loaded = parse(&source).unwrap();
        assert!(loaded.config.service_instances_api.is_none());
        assert_eq!(loaded.warnings.len(), warnings, "{:?}", loaded.warnings);
    }
}

#[test]
fn both_kinds_of_credentials_are_one_too_many() {
    let source = minimal().replace("    uaa:\n      client_credentials: {client_id: odb, client_secret: hunter2-bosh}", "    basic: {username: a, password: b}\n    uaa:\n      client_credentials: {client_id: odb, client_secret: hunter2-bosh}");
    assert_eq!(
        findings(&source),
        ["broker.yml:10:5: `bosh.authentication.uaa` conflicts with `basic`; give one of the two"]
    );
}

#[test]
fn the_adapter_has_to_be_an_executable() {
    let own = std::env::current_exe().unwrap().display().to_string();
    for (path, why) in [
        ("/no/such/file", "does not exist"),
        ("/", "is a directory"),
        ("/etc/passwd", "is not executable"),
    ] {
        let found = findings(&minimal().replace(&own, path));
        assert!(found[0].contains(why), "{found:?}");
    }
}

#[test]
fn errands_name_instances_in_one_of_two_forms() {
    for (selector, fine) in [
        ("redis-server", true),
        ("redis-server/0", true),
        ("a/b/c", false),
        ("/0", false),
        ("a/", false),
    ] {
        let source = with_plan(
            &minimal(),
            &format!(
                "lifecycle_errands: {{post_deploy: [{{name: check, instances: ['{selector}']}}]}}"
            ),
        );
        assert_eq!(parse(&source).is_ok(), fine, "{selector}");
    }
}

#[test]
fn an_empty_file_and_a_scalar_are_refused_without_a_panic() {
    for source in [
        "",
        "just text",
        "[1, 2]",
        "broker: 5",
        "\u{0}",
        "a: &a [*a]",
    ] {
        assert!(!findings(source).is_empty(), "{source:?}");
    }
}

#[test]
fn pending_changes_are_refused_unless_the_operator_says_otherwise() {
    let checked = minimal().replace("  skip_check_for_pending_changes: true\n", "");
    let skips = |source: &str| {
        let broker = parse(source).unwrap().config.broker;
        broker.skips_pending_changes_check
    };
    assert!(!skips(&checked) && skips(&minimal()));
}

#[test]
fn a_plans_version_is_semantic() {
    for (version, fine) in [
        ("1.2.3", true),
        ("1.2.3+b1", true),
        ("1.2", false),
        ("latest", false),
    ] {
        let source = with_plan(
            &minimal(),
            &format!("maintenance_info: {{version: {version}}}"),
        );
        assert_eq!(parse(&source).is_ok(), fine, "{version}");
    }
}

#[test]
fn an_unknown_lifecycle_errand_is_warned_about() {
    for (errand, warnings) in [("redis-server", 0), ("health-chekc", 1)] {
        let source = with_plan(
            &minimal(),
            &format!("lifecycle_errands: {{post_deploy: [{{name: {errand}}}]}}"),
        );
        let found = parse(&source).unwrap().warnings;
        assert_eq!(found.len(), warnings, "{found:?}");
    }
}

#[test]
fn what_platforms_refuse_in_a_catalog_is_refused_at_once() {
    let source = minimal()
        .replace("service_name: redis", "service_name: '  '")
        .replace(
            "service_description: A store",
            &format!("service_description: {}", "x".repeat(10_001)),
        )
        .replace(
            "  bindable: yes\n",
            &format!(
                "  bindable: yes\n  tags: [{}]\n  requires: [syslog_drain, water]\n  dashboard_client: {{id: a, secret: b}}\n",
                "t".repeat(2049)
            ),
        )
        .replace(
            "    description: One VM\n",
            &format!(
                "    description: One VM\n    maintenance_info: {{version: 1.0.0, description: {}}}\n",
                "d".repeat(2000)
            ),
        );
    let found = findings(&source);
    insta::assert_snapshot!(found.join("\n"), @r"
    broker.yml:24:17: `service_catalog.service_name` is blank; platforms refuse that
    broker.yml:25:24: `service_catalog.service_description` has 10001 characters; platforms take 10000
    broker.yml:27:3: `service_catalog.tags` have 2049 characters together; platforms take 2048
    broker.yml:28:28: `service_catalog.requires[1]` is `water`; platforms know `syslog_drain`, `route_forwarding`, `volume_mount`
    broker.yml:29:21: `service_catalog.dashboard_client.redirect_uri` is missing; give where a sign-on may return to, such as `https://dashboard.example.com`
    broker.yml:36:5: `service_catalog.plans[0].maintenance_info` has 2036 characters as JSON; platforms take 2000, so shorten the description
    ");
}

#[test]
fn a_clients_secret_is_read_under_its_other_spelling_with_a_warning() {
    for (spelled, key) in [
        (
            minimal().replace("client_secret: hunter2-cf", "secret: hunter2-cf"),
            "16:52: `cf.uaa.authentication.client_credentials.secret`",
        ),
        (
            minimal().replace("client_secret: hunter2-bosh", "secret: hunter2-bosh"),
            "10:52: `bosh.authentication.uaa.client_credentials.secret`",
        ),
    ] {
        let loaded = parse(&spelled).unwrap();

        let warnings: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            warnings,
            [format!(
                "broker.yml:{key} is read as `client_secret`; spell it so, for that is the key's name"
            )]
        );
        let Grant::ClientCredentials { client_secret, .. } =
            loaded.config.cloud_foundry.unwrap().credentials
        else {
            panic!("a client is configured");
        };
        assert_eq!(client_secret.expose_secret(), "hunter2-cf");
        let Credentials::Uaa { client_secret, .. } = loaded.config.bosh.credentials else {
            panic!("a client is configured");
        };
        assert_eq!(client_secret.expose_secret(), "hunter2-bosh");
    }
}

#[test]
fn of_two_spellings_of_a_clients_secret_the_right_one_counts() {
    let both = minimal().replace(
        "client_secret: hunter2-cf",
        "client_secret: hunter2-cf, secret: another",
    );
    let loaded = parse(&both).unwrap();

    assert!(loaded.warnings[0].to_string().contains("ignored"));
    let Some(CloudFoundry {
        credentials: Grant::ClientCredentials { client_secret, .. },
        ..
    }) = loaded.config.cloud_foundry
    else {
        panic!("a client is configured");
    };
    assert_eq!(client_secret.expose_secret(), "hunter2-cf");
}

#[test]
fn a_cloud_controller_is_used_even_if_its_checks_are_skipped() {
    let skips_checks = |source: &str| {
        let config = parse(source).unwrap().config;
        config.cloud_foundry.map(|cf| cf.skips_checks)
    };
    let skipped = with_broker(&minimal(), "disable_cf_startup_checks: true");
    let with_quota = with_plan(&skipped, "quotas: {service_instance_limit: 5}");

    assert_eq!(skips_checks(&minimal()), Some(false));
    assert_eq!(skips_checks(&skipped), Some(true));
    assert_eq!(skips_checks(&with_quota), Some(true));
}

#[test]
fn what_the_go_broker_does_not_look_at_may_be_unfinished() {
    let skipped = with_broker(&minimal(), "disable_cf_startup_checks: true");
    for (unfinished, warnings) in [
        (skipped.replace("url: https://uaa.example", "url:"), 1),
        (skipped.replace("client_secret: hunter2-cf", "other: x"), 1),
        (without_cf(&skipped), 0),
    ] {
        let loaded = parse(&unfinished).unwrap();

        assert!(loaded.config.cloud_foundry.is_none());
        assert_eq!(loaded.warnings.len(), warnings, "{:?}", loaded.warnings);
    }
    assert!(!findings(&minimal_without_cf()).is_empty());
}

#[test]
fn a_source_other_than_the_cloud_controller_is_enough() {
    let source = format!(
        "{}service_instances_api: {{url: 'https://instances.example'}}\n",
        minimal_without_cf()
    );
    let reported = parse(&source).err().map(|error| error.to_string());
    assert!(!reported.unwrap_or_default().contains("`cf"));
}

#[test]
fn no_error_of_a_plan_hides_another() {
    let source = minimal().replace(
        "    description: One VM\n",
        "    free: [yes]
    bindable: perhaps
    metadata: {bullets: much, costs: [{amount: {usd: cheap}}]}
    quotas: {service_instance_limit: -1, resources: {ips: {limit: -1, cost: -2}, gb: {limit: -3, cost: -4}}}
    properties: none
    update: {canaries: -1, serial: 7}
    lifecycle_errands: {post_deploy: [{instances: [a/b/c, /]}], pre_delete: all}
    maintenance_info: {version: '1', public: {a: [b]}}
",
    )
    .replace(
        "{name: redis-server, vm_type: small, instances: 1, networks: [default], azs: [z1]}",
        "{instances: -1, networks: default, azs: {a: b}, vm_extensions: [[]], migrated_from: [{}]}
  - plan_id: plan-1
    name: small",
    );
    let found = findings(&source);
    let keys: Vec<_> = found
        .iter()
        .filter_map(|reported| {
            reported
                .split('`')
                .nth(1)?
                .strip_prefix("service_catalog.plans")
        })
        .collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    insta::assert_snapshot!(sorted.join("\n"), @r"
    [0].bindable
    [0].description
    [0].free
    [0].instance_groups[0].azs
    [0].instance_groups[0].instances
    [0].instance_groups[0].migrated_from[0].name
    [0].instance_groups[0].name
    [0].instance_groups[0].networks
    [0].instance_groups[0].vm_extensions[0]
    [0].instance_groups[0].vm_type
    [0].lifecycle_errands.post_deploy[0].instances[0]
    [0].lifecycle_errands.post_deploy[0].instances[1]
    [0].lifecycle_errands.post_deploy[0].name
    [0].lifecycle_errands.pre_delete
    [0].maintenance_info.public.a
    [0].maintenance_info.version
    [0].metadata.bullets
    [0].metadata.costs[0].amount.usd
    [0].properties
    [0].quotas.resources.gb.cost
    [0].quotas.resources.gb.limit
    [0].quotas.resources.ips.cost
    [0].quotas.resources.ips.limit
    [0].quotas.service_instance_limit
    [0].update.canaries
    [0].update.max_in_flight
    [0].update.serial
    [1].description
    [1].name
    [1].plan_id
    ");
    assert_eq!(keys.len(), found.len(), "{found:?}");
}

#[test]
fn a_duplicate_or_deprecated_key_is_warned_about() {
    let source = minimal().replace(
        "  username: broker",
        "  username: nobody\n  username: broker\n  enable_optimised_upgrades: true",
    );
    let loaded = parse(&source).unwrap();
    let warnings: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "broker.yml:4:3: `broker.username` appears a second time, and the last one counts; remove one",
            "broker.yml:5:3: `broker.enable_optimised_upgrades` is deprecated; remove it",
        ]
    );
}

#[test]
fn a_key_that_may_have_a_secret_in_it_is_not_quoted() {
    for typo in ["password:hunter2", "hunter2", "password:zq"] {
        let source = minimal().replace(
            "  username: broker",
            &format!("  username: broker\n  {typo}: x"),
        );
        let warnings = parse(&source).unwrap().warnings;
        let [warning] = warnings.as_slice() else {
            panic!("{warnings:?}");
        };
        let reported = warning.to_string();
        assert!(
            reported.starts_with("broker.yml:4:3: `broker` has a key here"),
            "{reported}"
        );
        assert!(
            !reported.contains("hunter2") && !reported.contains("zq"),
            "{reported}"
        );
    }
}

#[test]
fn every_finding_has_a_remedy() {
    let source = minimal()
        .replace("port: 8080", "port: 0\n  tls: {cert_file: x}")
        .replace("plan_updatable: true", "plan_updatable: 5\n  plans_: []")
        .replace("description: One VM", "description: ''");
    let refused = parse(&source).unwrap_err();
    assert_eq!((refused.findings.len(), refused.warnings.len()), (4, 1));
    for finding in refused.findings.iter().chain(&refused.warnings) {
        assert!(
            !finding.wrong.is_empty() && !finding.right.is_empty(),
            "{finding}"
        );
        assert!(finding.to_string().ends_with(&finding.right));
    }
}

/// The minimal configuration with an update block in its plan.
fn updating(block: &str) -> String {
    format!("{}    update: {block}\n", minimal())
}

#[test]
fn watch_times_are_what_a_director_takes() {
    for right in ["30000", "1000-2000", "' 1000 - 2000 '", "5-5", "''"] {
        parse(&updating(&format!(
            "{{max_in_flight: 1, canary_watch_time: {right}, update_watch_time: {right}}}"
        )))
        .unwrap_or_else(|invalid| panic!("{right}: {invalid}"));
    }
    for (wrong, reported) in [
        ("60s", "is `60s`, which the Director rejects; "),
        ("1-2-3", "is `1-2-3`, which the Director rejects; "),
        ("1.5", "is `1.5`, which the Director rejects; "),
        ("'-5'", "is `-5`, which the Director rejects; "),
        ("9-3", "is `9-3`, which ends before it begins; "),
    ] {
        for key in ["canary_watch_time", "update_watch_time"] {
            let found = findings(&updating(&format!("{{max_in_flight: 1, {key}: {wrong}}}")));
            assert_eq!(found.len(), 1, "{found:?}");
            let reported = format!("`service_catalog.plans[0].update.{key}` {reported}");
            assert!(found[0].contains(&reported), "{found:?}");
            assert!(found[0].ends_with("such as `30000-240000`"), "{found:?}");
        }
    }
}

#[test]
fn max_in_flight_is_a_count_or_a_share_of_all_at_most() {
    for right in ["1", "25%", "'100%'", "0%"] {
        parse(&updating(&format!("{{max_in_flight: {right}}}")))
            .unwrap_or_else(|invalid| panic!("{right}: {invalid}"));
    }
    for wrong in [
        "150%",
        "about 25%",
        "25% or so",
        "half",
        "99999999999999999999%",
    ] {
        let found = findings(&updating(&format!("{{max_in_flight: {wrong}}}")));
        assert_eq!(found.len(), 1, "{found:?}");
        let reported = format!(
            "`service_catalog.plans[0].update.max_in_flight` is `{wrong}`; give a count of VMs or a percentage such as `25%`, \
             at most `100%`"
        );
        assert!(found[0].ends_with(&reported), "{found:?}");
    }
}

#[test]
fn a_plan_has_another_id_than_its_offering() {
    let found = findings(&minimal().replace("plan_id: plan-1", "plan_id: offering-1"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with(
            "`service_catalog.plans[0].plan_id` is also `service_catalog.id`, the id of the service offering; give the plan an \
             id of its own"
        ),
        "{found:?}"
    );
}
