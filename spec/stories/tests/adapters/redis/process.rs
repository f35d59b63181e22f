//! The adapter as an executable: configuration, arguments, exit codes.

use std::path::Path;

use serde_json::{Value, json};

use super::adapter::{Implementation, plan, service_deployment};

of_each_implementation! {
    a_dashboard_has_the_id_of_its_instance,
    a_catalog_shows_the_parameters,
    an_unknown_subcommand_is_answered_with_the_known_ones,
    arguments_of_old_brokers_are_answered_with_a_bare_manifest,
    without_a_configuration_file_the_defaults_hold,
    an_invalid_configuration_is_reported_before_anything_else,
}

fn a_dashboard_has_the_id_of_its_instance(implementation: Implementation) {
    let input = json!({"dashboard_url": {"instance_id": "i-1", "plan": plan().to_string(), "manifest": "name: a"}});
    let run = implementation
        .plain()
        .run(&["dashboard-url"], &input.to_string());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (
            Some(0),
            "{\"dashboard_url\":\"https://example.com/dashboard/i-1\"}\n"
        )
    );
}

/// Beyond the Go example, which does not describe them.
fn a_catalog_shows_the_parameters(implementation: Implementation) {
    let input = json!({"generate_plan_schemas": {"plan": plan().to_string()}});
    let run = implementation
        .plain()
        .run(&["generate-plan-schemas"], &input.to_string());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let schemas: Value = serde_json::from_str(&run.stdout).unwrap();
    for when in ["create", "update"] {
        let schema = &schemas["service_instance"][when]["parameters"];
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-04/schema#");
        assert_eq!(schema["additionalProperties"], false, "{schema}");
        let properties = schema["properties"].as_object().unwrap();
        let mut names: Vec<_> = properties.keys().collect();
        names.sort();
        let all = [
            "credhub_secret_path",
            "maxclients",
            "odb_managed_secret",
            "vm_extensions_config",
        ];
        assert_eq!(names, all);
    }
    // The adapter ignores the parameters of bindings.
    let schema = &schemas["service_binding"]["create"]["parameters"];
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-04/schema#");
    assert_ne!(schema["additionalProperties"], false, "{schema}");
}

fn an_unknown_subcommand_is_answered_with_the_known_ones(implementation: Implementation) {
    for arguments in [&[][..], &["explode"]] {
        let run = implementation.plain().run(arguments, "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
        run.expect_said("create-binding, dashboard-url, delete-binding, generate-manifest");
    }
}

fn arguments_of_old_brokers_are_answered_with_a_bare_manifest(implementation: Implementation) {
    let arguments = [
        "generate-manifest",
        &service_deployment().to_string(),
        &plan().to_string(),
        r#"{"parameters":{"maxclients":7}}"#,
        "",
        "null",
    ];
    let run = implementation.plain().run(&arguments, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("name: service-instance_") && run.stdout.contains("maxclients: 7\n")
    );
}

fn without_a_configuration_file_the_defaults_hold(implementation: Implementation) {
    let run = implementation.executable(None).run(
        &["dashboard-url", "i-1", &plan().to_string(), "name: a"],
        "",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

fn an_invalid_configuration_is_reported_before_anything_else(implementation: Implementation) {
    for configuration in [
        "redis_instance_group_name: [hunter2]\n",
        "secure_manifests_enabled: hunter2\n",
        "- a\n",
        "a: [\n",
    ] {
        let adapter = implementation.configured(configuration);
        let run = adapter.run(&["generate-plan-schemas"], "");
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(1), ""),
            "{configuration}"
        );
        assert!(
            run.stderr.contains(adapter.settings()) && !run.stderr.contains("hunter2"),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1);
    }
    let run = implementation
        .executable(Some(Path::new("/does/not/exist")))
        .run(&["dashboard-url"], "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    run.expect_said("/does/not/exist");
}
