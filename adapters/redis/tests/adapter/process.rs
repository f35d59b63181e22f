//! The adapter as an executable: configuration, arguments, exit codes.

use serde_json::json;

use crate::adapter::{Adapter, plan, run, service_deployment};

#[test]
fn a_dashboard_has_the_id_of_its_instance() {
    let input = json!({"dashboard_url": {"instance_id": "i-1", "plan": plan().to_string(), "manifest": "name: a"}});
    let run = Adapter::plain().run(&["dashboard-url"], &input.to_string());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (
            0,
            "{\"dashboard_url\":\"https://example.com/dashboard/i-1\"}\n"
        )
    );
}

#[test]
fn plan_schemas_are_not_implemented() {
    let run = Adapter::plain().run(&["generate-plan-schemas"], "not even JSON");
    assert_eq!((run.code, run.stdout.as_str()), (10, ""));
}

#[test]
fn an_unknown_subcommand_is_answered_with_the_known_ones() {
    for arguments in [&[][..], &["explode"]] {
        let run = Adapter::plain().run(arguments, "");
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        assert!(
            run.stderr
                .contains("create-binding, dashboard-url, delete-binding, generate-manifest\n"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn arguments_of_old_brokers_are_answered_with_a_bare_manifest() {
    let arguments = [
        "generate-manifest",
        &service_deployment().to_string(),
        &plan().to_string(),
        r#"{"parameters":{"maxclients":7}}"#,
        "",
        "null",
    ];
    let run = Adapter::plain().run(&arguments, "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.starts_with("name: service-instance_") && run.stdout.contains("maxclients: 7\n")
    );
}

#[test]
fn without_a_configuration_file_the_defaults_hold() {
    let run = run(
        &[],
        &["dashboard-url", "i-1", &plan().to_string(), "name: a"],
        "",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn an_invalid_configuration_is_told_before_anything_else() {
    for configuration in [
        "redis_instance_group_name: [hunter2]\n",
        "secure_manifests_enabled: hunter2\n",
        "- a\n",
        "a: [\n",
    ] {
        let run = Adapter::configured(configuration).run(&["generate-plan-schemas"], "");
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{configuration}");
        assert!(
            run.stderr.contains("is not a valid configuration") && !run.stderr.contains("hunter2"),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1);
    }
    let run = run(
        &[("REDIS_ADAPTER_CONFIG", "/does/not/exist")],
        &["dashboard-url"],
        "",
    );
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(
        run.stderr.contains("could not read `/does/not/exist`"),
        "{}",
        run.stderr
    );
}
