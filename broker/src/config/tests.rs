use std::path::Path;

use secrecy::ExposeSecret;

use super::*;

/// A configuration that needs nothing but an executable, which the test's own is.
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

fn parse(source: &str) -> Result<Loaded, InvalidConfig> {
    Config::parse(Path::new("broker.yml"), source)
}

fn problems(source: &str) -> Vec<String> {
    parse(source)
        .unwrap_err()
        .problems
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn absent_keys_have_the_releases_defaults() {
    let config = parse(&minimal()).unwrap().config;
    assert_eq!(config.broker.shutdown_timeout.as_secs(), 60);
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
fn every_fault_is_reported_at_once_with_line_and_key() {
    let source = minimal()
        .replace("port: 8080", "port: 70000")
        .replace("  password: hunter2-broker\n", "")
        .replace("url: https://director.example", "url:")
        .replace("version: 1.10,", "version: latest,")
        .replace("instances: 1,", "instances: [1],")
        .replace("url: https://uaa.example", "url: ''");
    let found = problems(&source);
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
fn a_refusal_never_quotes_a_secret() {
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
        let told = problems(&broken).join("\n");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_typo_is_remarked_with_the_key_that_was_meant() {
    let source = minimal().replace(
        "  username: broker",
        "  username: broker\n  shutdown_timeout_in_second: 5",
    );
    let remarks = parse(&source).unwrap().remarks;
    assert_eq!(
        remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
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
    assert_eq!(loaded.remarks, []);
    assert!(!loaded.config.offering.has_quotas());
}

#[test]
fn features_that_are_not_there_are_refused_by_name() {
    for (line, key) in [
        (
            "  enable_secure_manifests: true",
            "broker.enable_secure_manifests",
        ),
        ("  enable_telemetry: yes", "broker.enable_telemetry"),
    ] {
        let source =
            minimal().replace("  username: broker", &format!("  username: broker\n{line}"));
        let found = problems(&source);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(key), "{found:?}");
    }
}

#[test]
fn adapters_read_stdin_and_describe_no_parameters_unless_the_operator_says_otherwise() {
    let decided = |source: &str| {
        let adapter = parse(source).unwrap().config.adapter;
        (adapter.form, adapter.plan_schemas)
    };
    let usual = (AdapterForm::Stdin, PlanSchemaSupport::Disabled);
    assert_eq!(decided(&minimal()), usual);
    let otherwise = minimal().replace(
        "  username: broker",
        "  username: broker\n  use_stdin: no\n  enable_plan_schemas: yes",
    );
    let expected = (AdapterForm::Arguments, PlanSchemaSupport::Enabled);
    assert_eq!(decided(&otherwise), expected);
}

#[test]
fn what_adapters_read_on_stdin_only_is_refused_where_they_get_arguments() {
    let arguments = minimal().replace(
        "  username: broker",
        "  username: broker\n  use_stdin: false",
    );
    for source in [
        arguments.replace(
            "  use_stdin: false",
            "  use_stdin: false\n  enable_secure_manifests: true",
        ),
        arguments.replace(
            "    description: One VM\n",
            "    description: One VM\n    binding_with_dns: [{name: a, link_provider: b, instance_group: c}]\n",
        ),
    ] {
        assert_eq!(problems(&source).len(), 1, "{source}");
    }
}

#[test]
fn quotas_without_somebody_to_count_at_refuse_the_start() {
    let source = minimal_without_cf()
        .replace(
            "  username: broker",
            "  username: broker\n  disable_cf_startup_checks: true",
        )
        .replace(
            "    description: One VM\n",
            "    description: One VM\n    quotas: {service_instance_limit: 5}\n",
        );
    assert!(problems(&source)[0].contains("cannot be enforced"));
}

#[test]
fn quotas_are_counted_with_the_service_instances_api_where_there_is_no_cloud_controller() {
    let source = without_cf(&minimal())
        .replace(
            "  username: broker",
            "  username: broker\n  disable_cf_startup_checks: true",
        )
        .replace(
            "service_adapter:\n",
            "service_instances_api:\n  url: https://instances.example/redis?all=1\n  authentication: {basic: {username: lister, password: hunter2-api}}\nservice_adapter:\n",
        )
        .replace(
            "    description: One VM\n",
            "    description: One VM\n    quotas: {service_instance_limit: 5}\n",
        );
    let loaded = parse(&source).unwrap();
    assert_eq!(loaded.remarks, []);
    let api = loaded.config.service_instances_api.unwrap();
    assert_eq!(api.url, "https://instances.example/redis?all=1");
    assert_eq!(api.username, "lister");
    assert_eq!(api.verification, Verification::On);
    assert!(!format!("{api:?}").contains("hunter2"));
}

#[test]
fn a_service_instances_api_beside_a_cloud_controller_is_remarked_on() {
    let source = minimal().replace(
        "service_adapter:\n",
        "service_instances_api: {url: 'https://instances.example'}\nservice_adapter:\n",
    );
    let remarks = parse(&source).unwrap().remarks;
    let [remark] = remarks.as_slice() else {
        panic!("{remarks:?}");
    };
    assert!(
        remark
            .to_string()
            .contains("`service_instances_api` stands beside `cf`"),
        "{remark}"
    );
}

#[test]
fn a_service_instances_api_without_an_address_is_none() {
    for (section, remarks) in [
        (
            "{url: , root_ca_cert: , authentication: {basic: {username: }}}",
            0,
        ),
        ("{authentication: {basic: {username: lister}}}", 1),
    ] {
        let source = minimal().replace(
            "service_adapter:\n",
            &format!("service_instances_api: {section}\nservice_adapter:\n"),
        );
        let loaded = parse(&source).unwrap();
        assert!(loaded.config.service_instances_api.is_none());
        assert_eq!(loaded.remarks.len(), remarks, "{:?}", loaded.remarks);
    }
}

#[test]
fn both_kinds_of_credentials_are_one_too_many() {
    let source = minimal().replace("    uaa:\n      client_credentials: {client_id: odb, client_secret: hunter2-bosh}", "    basic: {username: a, password: b}\n    uaa:\n      client_credentials: {client_id: odb, client_secret: hunter2-bosh}");
    assert_eq!(
        problems(&source),
        ["broker.yml:9:5: `bosh.authentication.uaa` stands beside `basic`; give one of the two"]
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
        let found = problems(&minimal().replace(&own, path));
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
        let source = minimal().replace(
            "    description: One VM\n",
            &format!("    description: One VM\n    lifecycle_errands: {{post_deploy: [{{name: check, instances: ['{selector}']}}]}}\n"),
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
        assert!(!problems(source).is_empty(), "{source:?}");
    }
}

#[test]
fn pending_changes_are_refused_unless_the_operator_says_otherwise() {
    let checked = minimal().replace("  skip_check_for_pending_changes: true\n", "");
    let decided = |source: &str| parse(source).unwrap().config.broker.pending_changes;
    assert_eq!(decided(&checked), PendingChanges::Refused);
    assert_eq!(decided(&minimal()), PendingChanges::LetIn);
}

#[test]
fn a_plans_version_is_semantic() {
    for (version, fine) in [
        ("1.2.3", true),
        ("1.2.3+b1", true),
        ("1.2", false),
        ("latest", false),
    ] {
        let source = minimal().replace(
            "    description: One VM\n",
            &format!("    description: One VM\n    maintenance_info: {{version: {version}}}\n"),
        );
        assert_eq!(parse(&source).is_ok(), fine, "{version}");
    }
}

#[test]
fn a_lifecycle_errand_that_nobody_has_is_remarked() {
    for (errand, remarks) in [("redis-server", 0), ("health-chekc", 1)] {
        let source = minimal().replace(
            "    description: One VM\n",
            &format!("    description: One VM\n    lifecycle_errands: {{post_deploy: [{{name: {errand}}}]}}\n"),
        );
        let found = parse(&source).unwrap().remarks;
        assert_eq!(found.len(), remarks, "{found:?}");
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
    let found = problems(&source);
    insta::assert_snapshot!(found.join("\n"), @r"
    broker.yml:24:17: `service_catalog.service_name` is blank; platforms refuse that
    broker.yml:25:24: `service_catalog.service_description` has 10001 characters; platforms take 10000
    broker.yml:23:3: `service_catalog.tags` have 2049 characters together; platforms take 2048
    broker.yml:28:28: `service_catalog.requires[1]` is `water`; platforms know `syslog_drain`, `route_forwarding`, `volume_mount`
    broker.yml:29:21: `service_catalog.dashboard_client.redirect_uri` is missing; give where a sign-on may return to, such as `https://dashboard.example.com`
    broker.yml:33:5: `service_catalog.plans[0].maintenance_info` has 2036 characters as JSON; platforms take 2000, so shorten the description
    ");
}

#[test]
fn a_clients_secret_is_read_under_its_other_spelling_with_a_remark() {
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

        let remarks: Vec<_> = loaded.remarks.iter().map(ToString::to_string).collect();
        assert_eq!(
            remarks,
            [format!(
                "broker.yml:{key} is read as `client_secret`; spell it so, for that is the key's name"
            )]
        );
        let PlatformCredentials::Client { client_secret, .. } =
            loaded.config.cloud_foundry.unwrap().credentials
        else {
            panic!("a client is configured");
        };
        assert_eq!(client_secret.expose_secret(), "hunter2-cf");
        let DirectorCredentials::Uaa { client_secret, .. } = loaded.config.bosh.credentials else {
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

    assert!(loaded.remarks[0].to_string().contains("ignored"));
    let Some(CloudFoundry {
        credentials: PlatformCredentials::Client { client_secret, .. },
        ..
    }) = loaded.config.cloud_foundry
    else {
        panic!("a client is configured");
    };
    assert_eq!(client_secret.expose_secret(), "hunter2-cf");
}

#[test]
fn a_cloud_controller_is_used_even_if_its_checks_are_skipped() {
    let checks = |source: &str| {
        let config = parse(source).unwrap().config;
        config.cloud_foundry.map(|cf| cf.checks)
    };
    let skipped = minimal().replace(
        "  username: broker",
        "  username: broker\n  disable_cf_startup_checks: true",
    );
    let with_quota = skipped.replace(
        "    description: One VM\n",
        "    description: One VM\n    quotas: {service_instance_limit: 5}\n",
    );

    assert_eq!(checks(&minimal()), Some(CloudFoundryChecks::Run));
    assert_eq!(checks(&skipped), Some(CloudFoundryChecks::Skipped));
    assert_eq!(checks(&with_quota), Some(CloudFoundryChecks::Skipped));
}

#[test]
fn what_the_go_broker_does_not_look_at_may_be_unfinished() {
    let skipped = minimal().replace(
        "  username: broker",
        "  username: broker\n  disable_cf_startup_checks: true",
    );
    for (unfinished, remarks) in [
        (skipped.replace("url: https://uaa.example", "url:"), 1),
        (skipped.replace("client_secret: hunter2-cf", "other: x"), 1),
        (without_cf(&skipped), 0),
    ] {
        let loaded = parse(&unfinished).unwrap();

        assert!(loaded.config.cloud_foundry.is_none());
        assert_eq!(loaded.remarks.len(), remarks, "{:?}", loaded.remarks);
    }
    assert!(!problems(&minimal_without_cf()).is_empty());
}

#[test]
fn who_lists_instances_elsewhere_needs_no_cloud_controller() {
    let source = format!(
        "{}service_instances_api: {{url: 'https://instances.example'}}\n",
        minimal_without_cf()
    );
    let told = parse(&source).err().map(|error| error.to_string());
    assert!(!told.unwrap_or_default().contains("`cf"));
}
