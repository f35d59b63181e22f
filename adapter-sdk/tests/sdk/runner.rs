//! An adapter called as the broker calls it: arguments and stdin in, streams and exit code out.

use odb_adapter_sdk::protocol::{
    Binding, CreateBinding, DeleteBinding, ExitCode, GenerateManifest, GeneratedManifest,
    PlanSchemas, Subcommand,
};
use odb_adapter_sdk::{Adapter, AdapterError, runner};
use serde_json::json;

const DEPLOYMENT: &str = r#"{"deployment_name":"a","releases":[],"stemcells":[]}"#;
const PLAN: &str = r#"{"instance_groups":[]}"#;

#[test]
fn the_answer_to_the_stdin_form_is_json() {
    let run = run(&Plain, &["generate-manifest"], &manifest_input());
    assert_eq!(run.code, ExitCode::Success);
    assert_eq!(
        run.stdout,
        r#"{"manifest":"name: a\n","secrets":null,"configs":null}"#
    );
    assert_eq!(run.stderr, "[odb-sdk] handling generate-manifest\n");
}

#[test]
fn the_answer_to_the_argument_form_is_a_bare_manifest() {
    let run = run(
        &Plain,
        &[
            "generate-manifest",
            DEPLOYMENT,
            PLAN,
            "{}",
            "",
            "null",
            "surplus",
        ],
        "",
    );
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (ExitCode::Success, "name: a\n")
    );
}

#[test]
fn an_operator_reads_that_old_brokers_store_no_secrets() {
    struct Secretive;
    impl Adapter for Secretive {
        fn generate_manifest(
            &self,
            _: GenerateManifest,
        ) -> Result<GeneratedManifest, AdapterError> {
            Ok(GeneratedManifest::from_text(
                "name: a\nsecret: ((odb_secret:b))\n".into(),
            ))
        }
    }
    let arguments = ["generate-manifest", DEPLOYMENT, PLAN, "{}", "", "null"];
    let by_arguments = run(&Secretive, &arguments, "");
    assert_eq!(by_arguments.code, ExitCode::Success);
    let reported = "their secrets do not reach a broker that passes arguments\n";
    assert!(
        by_arguments.stderr.ends_with(reported),
        "{}",
        by_arguments.stderr
    );
    let by_stdin = run(&Secretive, &["generate-manifest"], &manifest_input());
    assert!(!by_stdin.stderr.contains(reported), "{}", by_stdin.stderr);
}

#[test]
fn an_operator_reads_which_manifest_cannot_be_read() {
    struct Reading;
    impl Adapter for Reading {
        fn generate_manifest(
            &self,
            call: GenerateManifest,
        ) -> Result<GeneratedManifest, AdapterError> {
            call.previous()?;
            Ok(GeneratedManifest::from_text("name: a\n".into()))
        }
        fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
            call.deployed()?;
            Ok(Binding::default())
        }
    }
    let generate = [
        "generate-manifest",
        DEPLOYMENT,
        PLAN,
        "{}",
        "a: [hunter2",
        "null",
    ];
    let bind = ["create-binding", "b-1", "{}", "a: [hunter2", "{}"];
    for (arguments, manifest) in [(&generate[..], "previous"), (&bind[..], "deployed")] {
        let run = run(&Reading, arguments, "");
        assert_eq!(run.code, ExitCode::Failure);
        let reported = format!("[odb-sdk] the {manifest} manifest cannot be read: ");
        assert!(run.stderr.contains(&reported), "{}", run.stderr);
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }
}

#[test]
fn bindings_are_made_and_removed_in_both_forms() {
    let input = json!({"create_binding": {"binding_id": "b-1", "bosh_vms": "{}"}, "delete_binding": {"binding_id": "b-1"}});
    let arguments = ["b-1", "{}", "name: a", "{}"];
    for subcommand in ["create-binding", "delete-binding"] {
        let stdin_form = run(&Plain, &[subcommand], &input.to_string());
        let argument_form = run(&Plain, &[&[subcommand], &arguments[..]].concat(), "");
        let answer = if subcommand == "create-binding" {
            "{\"credentials\":\"b-1\"}\n"
        } else {
            ""
        };
        assert_eq!(
            (stdin_form.code, stdin_form.stdout.as_str()),
            (ExitCode::Success, answer)
        );
        assert_eq!(
            (argument_form.code, argument_form.stdout.as_str()),
            (ExitCode::Success, answer)
        );
    }
}

#[test]
fn plan_schemas_are_asked_for_with_a_flag_of_go() {
    let inline = format!("-plan-json={PLAN}");
    for arguments in [
        vec!["--plan-json", PLAN],
        vec!["-plan-json", PLAN],
        vec![&inline],
    ] {
        let run = run(
            &Plain,
            &[vec!["generate-plan-schemas"], arguments].concat(),
            "",
        );
        assert_eq!(run.code, ExitCode::Success, "{}", run.stderr);
    }
    for arguments in [
        vec!["--plan-json", ""],
        vec!["--plan-json"],
        vec!["--plan", PLAN],
        vec![PLAN],
    ] {
        let run = run(
            &Plain,
            &[vec!["generate-plan-schemas"], arguments].concat(),
            "",
        );
        assert_eq!((run.code, run.stdout.as_str()), (ExitCode::Failure, ""));
        assert!(
            run.stderr
                .contains("usage: generate-plan-schemas --plan-json <plan-JSON>"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn too_few_arguments_show_the_usage() {
    let run = run(&Plain, &["generate-manifest", DEPLOYMENT], "");
    assert_eq!((run.code, run.stdout.as_str()), (ExitCode::Failure, ""));
    assert!(
        run.stderr
            .contains("usage: generate-manifest <service-deployment-JSON>"),
        "{}",
        run.stderr
    );
}

#[test]
fn without_a_known_subcommand_the_operator_reads_what_there_is() {
    let implemented = "this adapter implements: create-binding, delete-binding, generate-manifest, generate-plan-schemas";
    let none = run(&Plain, &[], "");
    assert_eq!((none.code, none.stdout.as_str()), (ExitCode::Failure, ""));
    assert_eq!(
        none.stderr,
        format!("[odb-sdk] no subcommand; {implemented}\n")
    );
    let unknown = run(&Plain, &["explode"], "");
    assert_eq!(
        (unknown.code, unknown.stdout.as_str()),
        (ExitCode::Failure, "")
    );
    assert_eq!(
        unknown.stderr,
        format!(
            "[odb-sdk] handling explode\n[odb-sdk] unknown subcommand `explode`; {implemented}\n"
        )
    );
}

#[test]
fn what_is_not_implemented_does_not_look_at_its_input() {
    let run = run(&Plain, &["dashboard-url"], "garbage");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (ExitCode::NotImplemented, "")
    );
}

#[test]
fn only_the_manifest_must_be_implemented() {
    struct Bare;
    impl Adapter for Bare {
        fn generate_manifest(
            &self,
            _: GenerateManifest,
        ) -> Result<GeneratedManifest, AdapterError> {
            Ok(GeneratedManifest::from_text("name: a\n".into()))
        }
    }
    let run = run(&Bare, &["create-binding"], "{}");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (ExitCode::NotImplemented, "")
    );
}

#[test]
fn faulty_input_is_for_the_operator_only() {
    for input in [
        "",
        "garbage",
        "[]",
        "{}",
        r#"{"generate_manifest":{"plan":{}}}"#,
    ] {
        let run = run(&Plain, &["generate-manifest"], input);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (ExitCode::Failure, ""),
            "{input}"
        );
        assert_eq!(run.stderr.lines().count(), 2, "{}", run.stderr);
    }
}

#[test]
fn input_beyond_the_limit_is_refused() {
    let endless = std::io::repeat(b' ');
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = runner::execute(
        &Plain,
        &["generate-manifest".to_owned()],
        endless,
        &mut stdout,
        &mut stderr,
    );
    assert_eq!((code, stdout.len()), (ExitCode::Failure, 0));
    assert!(
        String::from_utf8(stderr)
            .unwrap()
            .contains("longer than 67108864 bytes")
    );
}

#[test]
fn user_and_operator_read_different_things() {
    let user = failing("generate-manifest", || {
        AdapterError::for_user("choose fewer").caused_by("quota 3")
    });
    assert_eq!(
        (user.code, user.stdout.as_str()),
        (ExitCode::Failure, "choose fewer")
    );
    assert!(
        user.stderr.ends_with("[odb-sdk] choose fewer: quota 3\n"),
        "{}",
        user.stderr
    );
    let operator = failing("generate-manifest", || {
        AdapterError::from(std::io::Error::other("no route"))
    });
    assert_eq!(
        (operator.code, operator.stdout.as_str()),
        (ExitCode::Failure, "")
    );
    assert!(
        operator.stderr.ends_with("[odb-sdk] no route\n"),
        "{}",
        operator.stderr
    );
}

#[test]
fn bindings_have_exit_codes_of_their_own() {
    let cases: [(_, fn() -> AdapterError, _); 6] = [
        (
            "create-binding",
            AdapterError::binding_exists,
            ExitCode::BindingExists,
        ),
        (
            "create-binding",
            AdapterError::app_guid_required,
            ExitCode::AppGuidRequired,
        ),
        (
            "create-binding",
            AdapterError::binding_not_found,
            ExitCode::Failure,
        ),
        (
            "delete-binding",
            AdapterError::binding_not_found,
            ExitCode::BindingNotFound,
        ),
        (
            "delete-binding",
            AdapterError::binding_exists,
            ExitCode::Failure,
        ),
        (
            "generate-manifest",
            AdapterError::app_guid_required,
            ExitCode::Failure,
        ),
    ];
    for (subcommand, error, code) in cases {
        assert_eq!(failing(subcommand, error).code, code, "{subcommand}");
    }
}

#[test]
fn a_panic_is_a_failure_that_says_nothing_of_its_values() {
    struct Panics;
    impl Adapter for Panics {
        fn generate_manifest(
            &self,
            _: GenerateManifest,
        ) -> Result<GeneratedManifest, AdapterError> {
            panic!("hunter2")
        }
    }
    let run = run(&Panics, &["generate-manifest"], &manifest_input());
    assert_eq!((run.code, run.stdout.as_str()), (ExitCode::Failure, ""));
    assert!(
        run.stderr.ends_with("[odb-sdk] the adapter panicked\n"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("hunter2"));
}

struct Plain;

impl Adapter for Plain {
    fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        Ok(GeneratedManifest::from_text(
            format!("name: {}\n", call.service_deployment.deployment_name).into(),
        ))
    }

    fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
        Ok(Binding::with_credentials(call.binding_id))
    }

    fn delete_binding(&self, _: DeleteBinding) -> Result<(), AdapterError> {
        Ok(())
    }

    fn generate_plan_schemas(
        &self,
        _: odb_adapter_sdk::protocol::GeneratePlanSchemas,
    ) -> Result<PlanSchemas, AdapterError> {
        Ok(PlanSchemas::default())
    }

    fn subcommands(&self) -> &[Subcommand] {
        &[
            Subcommand::GenerateManifest,
            Subcommand::CreateBinding,
            Subcommand::DeleteBinding,
            Subcommand::GeneratePlanSchemas,
        ]
    }
}

/// Fails at everything.
struct Failing(fn() -> AdapterError);

impl Adapter for Failing {
    fn generate_manifest(&self, _: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
        Err(self.0())
    }

    fn create_binding(&self, _: CreateBinding) -> Result<Binding, AdapterError> {
        Err(self.0())
    }

    fn delete_binding(&self, _: DeleteBinding) -> Result<(), AdapterError> {
        Err(self.0())
    }
}

fn failing(subcommand: &str, error: fn() -> AdapterError) -> Run {
    let mut input: serde_json::Value = serde_json::from_str(&manifest_input()).unwrap();
    input["create_binding"] = json!({});
    input["delete_binding"] = json!({});
    run(&Failing(error), &[subcommand], &input.to_string())
}

fn manifest_input() -> String {
    json!({"generate_manifest": {"service_deployment": DEPLOYMENT, "plan": PLAN}}).to_string()
}

struct Run {
    code: ExitCode,
    stdout: String,
    stderr: String,
}

fn run(adapter: &impl Adapter, arguments: &[&str], input: &str) -> Run {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = runner::execute(
        adapter,
        &arguments,
        input.as_bytes(),
        &mut stdout,
        &mut stderr,
    );
    Run {
        code,
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}
