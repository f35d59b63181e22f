use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use serde_json::{Map, Value, json};

use crate::check::adapter_request::{AdapterRequest, Generate};
use crate::check::probes::orders::Ordered;
use crate::check::report::Area;
use crate::check::rules::{calls, streams};
use crate::check::session::{Manners, Session};
use crate::process::ProcessCall;

/// Requests manifests and a binding with input that breaks the protocol. The adapter must not answer, and needs no text
/// for users.
pub(in crate::check) fn check_malformed(session: &mut Session<'_>, ordered: &Ordered) {
    if !session.asks_on_stdin() {
        session.skip(Area::MalformedInput, "the adapter does not read stdin");
        return;
    }
    session.begin(Area::MalformedInput);
    let adapter_request = AdapterRequest::generate(&Generate::order(
        session.inputs,
        &ordered.plan,
        &Map::new(),
        Value::Null,
    ));
    let subcommand = Subcommand::GenerateManifest;
    let of = |document: &str| ProcessCall::document(subcommand, document);
    let inputs = [
        ("an empty stdin", of("")),
        (
            "a document that is cut off",
            of("{\"generate_manifest\": {"),
        ),
        ("a document that is not an object", of("[]\n")),
        ("a document without the section", of("{}\n")),
        (
            "an object instead of a string",
            adapter_request.on_stdin_with("plan", ordered.plan.document.clone()),
        ),
        (
            "a plan that is not JSON",
            adapter_request.on_stdin_with("plan", json!("{\"instance_groups\": [")),
        ),
    ];
    for (what, call) in inputs {
        check_malformed_input(session, subcommand, what, call);
    }
    let wants_bindings = session
        .inputs
        .bindings
        .as_ref()
        .is_none_or(|cases| !cases.is_empty());
    if wants_bindings {
        let subcommand = Subcommand::CreateBinding;
        let call = ProcessCall::document(subcommand, "{\"create_binding\": {");
        check_malformed_input(session, subcommand, "a binding that is cut off", call);
    }
}

fn check_malformed_input(
    session: &mut Session<'_>,
    subcommand: Subcommand,
    what: &str,
    call: ProcessCall,
) {
    let Some(called) = session.call(Some(subcommand), what, call, Manners::Rough) else {
        return;
    };
    if called.code == ExitCode::Success {
        session.find(
            &calls::MALFORMED_ACCEPTED,
            what,
            "it ends with 0",
            Some(called.id),
        );
    } else if called.stdout.iter().any(|byte| !byte.is_ascii_whitespace()) {
        let detail = session.user_text(called.id);
        session.find(&streams::CALLER_ERROR_FOR_USER, "", detail, Some(called.id));
    }
}
