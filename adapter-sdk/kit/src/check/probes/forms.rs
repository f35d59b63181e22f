use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use serde_json::{Map, json};

use super::Ordered;
use crate::check::answers::{Generated, Outcome, Refused};
use crate::check::difference::manifest_differences;
use crate::check::report::Area;
use crate::check::request::{AdapterRequest, Shape, order};
use crate::check::rules::{self, Rule};
use crate::check::session::{Manners, Session};
use crate::process::ProcessCall;

/// Another form of the same request.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Appended to the description of the request.
    how: &'static str,
    /// Is broken by an adapter that does not understand it.
    rule: &'static Rule,
    /// On stdin; in arguments without one.
    shape: Option<Shape>,
}

/// Documents that say the same as the one of the Go broker.
const DOCUMENTS: [Form; 3] = [
    Form {
        how: "with the subcommand's section alone",
        rule: &rules::OWN_SECTION_ONLY,
        shape: Some(Shape::OwnSection),
    },
    Form {
        how: "with unknown fields",
        rule: &rules::UNKNOWN_FIELDS,
        shape: Some(Shape::UnknownFields),
    },
    Form {
        how: "without what may be absent",
        rule: &rules::ABSENT_MEMBERS,
        shape: Some(Shape::WithoutOptionals),
    },
];

const ARGUMENTS: Form = Form {
    how: "in arguments",
    rule: &rules::ARGUMENT_FORM,
    shape: None,
};

impl Form {
    /// Whether the request is in arguments, which have no room for secrets.
    pub(super) fn is_arguments(self) -> bool {
        self.shape.is_none()
    }
}

/// All forms except the one that the check already uses for an adapter on stdin.
pub(super) fn other_forms(session: &Session<'_>) -> Vec<Form> {
    if !session.on_stdin {
        return Vec::new();
    }
    let arguments = session.inputs.forms.arguments.then_some(ARGUMENTS);
    DOCUMENTS.into_iter().chain(arguments).collect()
}

/// Asks for the same manifest in other ways.
pub(super) fn check_forms(session: &mut Session<'_>, ordered: &Ordered) {
    session.begin(Area::Forms);
    let call = order(session.inputs, &ordered.plan, &Map::new());
    let request = AdapterRequest::generate(call);
    for form in other_forms(session) {
        let purpose = format!("order {}", form.how);
        let outcome = match form.shape {
            Some(shape) => session.generate_as(&purpose, request.on_stdin(shape)),
            None => session.generate_in_arguments(&purpose, &request),
        };
        match outcome {
            Outcome::Answered(answer) => check_answer(session, form, ordered, &answer),
            Outcome::Refused(refused) => {
                let name = Subcommand::GenerateManifest.name();
                session.find_rejection(form.rule, name, &refused);
            }
            Outcome::Broken => {}
        }
    }
}

/// Two answers to the same order differ in generated values and nothing else.
fn check_answer(session: &mut Session<'_>, form: Form, ordered: &Ordered, answer: &Generated) {
    let name = Subcommand::GenerateManifest.name();
    if form.is_arguments() && answer.manifest.get("manifest").is_some() {
        let detail = "stdout is a JSON object with the manifest in it; in this form it is the manifest itself";
        session.find(form.rule, name, detail, answer.id);
        return;
    }
    let differences = manifest_differences(&ordered.answer.manifest, &answer.manifest);
    let wrong = differences
        .into_iter()
        .find(|difference| !ordered.generated.contains(&difference.location));
    if let Some(difference) = wrong {
        let rule = if form.is_arguments() {
            &rules::FORMS_DIFFER
        } else {
            form.rule
        };
        let detail = format!("the answer is another: {difference}");
        session.find(rule, name, detail, answer.id);
    }
}

/// Sends the request of another subcommand in every form.
pub(super) fn check_forms_of(session: &mut Session<'_>, request: &AdapterRequest) {
    for form in other_forms(session) {
        check_form_of(session, request, form);
    }
}

/// Sends the request of another subcommand in a form, records a rejection as a finding of the form, and returns whether
/// there was none.
pub(super) fn check_form_of(
    session: &mut Session<'_>,
    request: &AdapterRequest,
    form: Form,
) -> bool {
    let subcommand = request.subcommand();
    let purpose = format!("{subcommand} {}", form.how);
    let call = match form.shape {
        Some(shape) => request.on_stdin(shape),
        None => request.in_arguments(),
    };
    let refused: Option<Refused> = if subcommand == Subcommand::DeleteBinding {
        // Its answer says nothing.
        session.attempt(&purpose, subcommand, call).refused()
    } else {
        session.ask_as(&purpose, subcommand, call).refused()
    };
    if let Some(refused) = &refused {
        session.find_rejection(form.rule, subcommand.name(), refused);
    }
    refused.is_none()
}

/// Requests manifests and a binding with input that breaks the protocol. The adapter must not answer, and needs no text
/// for users.
pub(super) fn check_malformed(session: &mut Session<'_>, ordered: &Ordered) {
    session.begin(Area::MalformedInput);
    if !session.on_stdin {
        session.skip("the adapter does not read stdin");
        return;
    }
    let call = order(session.inputs, &ordered.plan, &Map::new());
    let request = AdapterRequest::generate(call);
    let subcommand = Subcommand::GenerateManifest;
    let of = |document: &str| ProcessCall::document(subcommand, document);
    let with_plan = |plan| request.on_stdin_with("plan", plan);
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
            with_plan(json!(ordered.plan.plan)),
        ),
        (
            "a plan that is not JSON",
            with_plan(json!("{\"instance_groups\": [")),
        ),
    ];
    for (what, call) in inputs {
        check_malformed_input(session, subcommand, what, call);
    }
    let bindings = session.inputs.bindings.as_ref();
    if bindings.is_none_or(|cases| !cases.is_empty()) {
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
        let detail = "it ends with 0";
        session.find(&rules::MALFORMED_ACCEPTED, what, detail, called.id);
    } else if called.stdout.iter().any(|byte| !byte.is_ascii_whitespace()) {
        let detail = session.user_text(called.id);
        session.find(&rules::CALLER_ERROR_FOR_USER, "", detail, called.id);
    }
}

/// Calls the adapter without a subcommand, and with an unknown one.
pub(super) fn check_subcommands(session: &mut Session<'_>) {
    session.begin(Area::Subcommands);
    let unknown = "odb-adapter-check-unknown".to_owned();
    for (what, arguments) in [
        ("no subcommand", Vec::new()),
        ("an unknown subcommand", vec![unknown]),
    ] {
        let call = ProcessCall {
            arguments,
            stdin: None,
        };
        let Some(called) = session.call(None, what, call, Manners::Rough) else {
            continue;
        };
        if !matches!(called.code, ExitCode::Failure | ExitCode::Other(_)) {
            let detail = format!("it ends with exit code {}", called.code.code());
            session.find(&rules::ACCEPTS_ANY_SUBCOMMAND, what, detail, called.id);
        }
    }
}
