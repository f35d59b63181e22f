//! The adapter that the crate's documentation begins with does what it is there to show.

use odb_adapter_sdk::protocol::{
    AdapterInput, BoshVms, CreateBinding, ExitCode, GenerateManifest, GeneratedManifest,
};
use odb_adapter_sdk::{manifest::JobProperty, runner};
use serde_json::{Value, json};

use crate::calls::{Deployed, create_of, group, request};

mod cache {
    #![expect(dead_code, reason = "its `main` is the example's")]

    include!("../../examples/cache/adapter.rs");

    pub(super) fn adapter() -> impl Adapter {
        Cache
    }
}

const SOURCE: &str = include_str!("../../examples/cache/adapter.rs");
const CLIENTS: JobProperty = JobProperty::new("cache", "cache-server", "/clients");
const PASSWORD: JobProperty = JobProperty::new("cache", "cache-server", "/password");

#[test]
fn it_fits_on_one_screen() {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    assert!(SOURCE.lines().filter(is_code).count() <= 40);
}

#[test]
fn it_keeps_what_the_user_chose_and_what_it_made_itself() {
    let mut deployed = Deployed::default();
    deployed.take(&answered(&create(&json!({"clients": 7}))));
    let password = deployed.value(PASSWORD).unwrap();
    for call in [
        deployed.search_for_pending_changes(create(&json!({}))),
        deployed.upgrade(create(&json!({}))),
        deployed.update(create(&json!({"clients": 7}))),
    ] {
        assert_eq!(answered(&call).manifest.as_str(), deployed.manifest);
    }
    deployed.take(&answered(&deployed.update(create(&json!({"clients": 8})))));
    assert_eq!(deployed.property(CLIENTS).unwrap(), 8);
    assert_eq!(deployed.value(PASSWORD).unwrap(), password);

    let vms: BoshVms = [("cache".to_owned(), vec!["10.0.0.1".to_owned()])].into();
    let mut bind = CreateBinding::new(
        "b",
        vms,
        deployed.manifest.as_str().into(),
        request(&json!({})),
    );
    bind.secrets = Some(deployed.secrets());
    let (code, stdout) = run("create-binding", &AdapterInput::create_binding(&bind));
    assert_eq!(code, ExitCode::Success);
    let binding: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        binding,
        json!({"credentials": {"hosts": ["10.0.0.1"], "password": password}})
    );
}

#[test]
fn it_reports_users_what_they_may_choose() {
    let call = create(&json!({"clients": "many"}));
    let (code, stdout) = run("generate-manifest", &AdapterInput::generate_manifest(&call));
    assert_eq!(code, ExitCode::Failure);
    assert!(stdout.contains("`clients`"), "{stdout}");
}

fn create(parameters: &Value) -> GenerateManifest {
    let mut call = create_of(vec![group("cache")]);
    call.service_deployment.releases[0]
        .jobs
        .push("cache-server".to_owned());
    call.request_parameters = request(&json!({"plan_id": "p", "parameters": parameters}));
    call
}

fn answered(call: &GenerateManifest) -> GeneratedManifest {
    let (code, stdout) = run("generate-manifest", &AdapterInput::generate_manifest(call));
    assert_eq!(code, ExitCode::Success, "{stdout}");
    serde_json::from_str(&stdout).unwrap()
}

fn run(subcommand: &str, input: &AdapterInput) -> (ExitCode, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = runner::execute(
        &cache::adapter(),
        &[subcommand.to_owned()],
        input.to_json().as_bytes(),
        &mut stdout,
        &mut stderr,
    );
    (code, String::from_utf8(stdout).unwrap())
}
