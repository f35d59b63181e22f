use odb_adapter_sdk::protocol::Subcommand;
use serde_json::Map;
use serde_json::Value;

use crate::check::adapter_request::{AdapterRequest, Generate, Shape};
use crate::check::answers::{Generated, Outcome, Refused};
use crate::check::difference::manifest_differences;
use crate::check::probes::orders::Ordered;
use crate::check::report::Area;
use crate::check::rules::{Rule, calls};
use crate::check::session::Session;
use crate::process::ProcessCall;

/// Another form of the same request.
#[derive(Clone, Copy)]
pub(in crate::check) struct Form {
    /// Appended to the description of the request.
    how: &'static str,
    /// Is broken by an adapter that does not understand it.
    rule: &'static Rule,
    wording: Wording,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wording {
    Document(Shape),
    Arguments,
}

/// Documents that say the same as the one of the Go broker.
const DOCUMENTS: [Form; 3] = [
    Form {
        how: "with the subcommand's section alone",
        rule: &calls::OWN_SECTION_ONLY,
        wording: Wording::Document(Shape::OwnSection),
    },
    Form {
        how: "with unknown fields",
        rule: &calls::UNKNOWN_FIELDS,
        wording: Wording::Document(Shape::UnknownFields),
    },
    Form {
        how: "without what may be absent",
        rule: &calls::ABSENT_MEMBERS,
        wording: Wording::Document(Shape::WithoutOptionals),
    },
];

const ARGUMENTS: Form = Form {
    how: "in arguments",
    rule: &calls::ARGUMENT_FORM,
    wording: Wording::Arguments,
};

impl Form {
    /// Whether the request is in arguments, which have no room for secrets.
    pub(in crate::check) fn is_arguments(self) -> bool {
        self.wording == Wording::Arguments
    }

    fn call(self, adapter_request: &AdapterRequest) -> ProcessCall {
        match self.wording {
            Wording::Document(shape) => adapter_request.on_stdin(shape),
            Wording::Arguments => adapter_request.in_arguments(),
        }
    }
}

/// All forms except the one that the check already uses for an adapter on stdin.
pub(in crate::check) fn other_forms(session: &Session<'_>) -> Vec<Form> {
    if !session.asks_on_stdin() {
        return Vec::new();
    }
    let arguments = session.inputs.forms.arguments.then_some(ARGUMENTS);
    DOCUMENTS.into_iter().chain(arguments).collect()
}

/// Asks for the same manifest in other ways.
pub(in crate::check) fn check_forms(session: &mut Session<'_>, ordered: &Ordered) {
    session.begin(Area::Forms);
    let adapter_request = AdapterRequest::generate(&Generate::order(
        session.inputs,
        &ordered.plan,
        &Map::new(),
        Value::Null,
    ));
    for form in other_forms(session) {
        let purpose = format!("order {}", form.how);
        let outcome = match form.wording {
            Wording::Document(shape) => {
                session.generate_as(&purpose, adapter_request.on_stdin(shape))
            }
            Wording::Arguments => session.generate_in_arguments(&purpose, &adapter_request),
        };
        match outcome {
            Outcome::Answered(answer) if form.is_arguments() => {
                check_bare_answer(session, ordered, &answer);
            }
            Outcome::Answered(answer) => compare_forms(session, form.rule, ordered, &answer),
            Outcome::Refused(refused) => form_refused(session, form.rule, &refused),
            Outcome::Broken => {}
        }
    }
}

/// Sends the request of another subcommand in every form.
pub(in crate::check) fn check_forms_of(
    session: &mut Session<'_>,
    adapter_request: &AdapterRequest,
) {
    for form in other_forms(session) {
        check_form_of(session, adapter_request, form);
    }
}

/// Sends the request of another subcommand in a form, records a rejection as a finding of the form, and returns whether
/// there was none.
pub(in crate::check) fn check_form_of(
    session: &mut Session<'_>,
    adapter_request: &AdapterRequest,
    form: Form,
) -> bool {
    let subcommand = adapter_request.subcommand();
    let purpose = format!("{subcommand} {}", form.how);
    let call = form.call(adapter_request);
    let refused = if subcommand == Subcommand::DeleteBinding {
        // Its answer says nothing.
        session.attempt(&purpose, subcommand, call).refused()
    } else {
        session.ask_as(&purpose, subcommand, call).refused()
    };
    if let Some(refused) = &refused {
        form_refused(session, form.rule, refused);
    }
    refused.is_none()
}

fn form_refused(session: &mut Session<'_>, rule: &'static Rule, refused: &Refused) {
    let detail = session.rejection(refused);
    let about = session
        .subcommand_of(refused.id)
        .map_or("", Subcommand::name);
    session.find_failure(rule, about, detail, refused.id);
}

fn check_bare_answer(session: &mut Session<'_>, ordered: &Ordered, answer: &Generated) {
    if answer.manifest.get("manifest").is_some() {
        let detail = "stdout is a JSON object with the manifest in it; in this form it is the manifest itself";
        session.find(
            &calls::ARGUMENT_FORM,
            "generate-manifest",
            detail,
            Some(answer.id),
        );
    } else {
        compare_forms(session, &calls::FORMS_DIFFER, ordered, answer);
    }
}

/// Two answers to the same order differ in generated values and nothing else.
fn compare_forms(
    session: &mut Session<'_>,
    rule: &'static Rule,
    ordered: &Ordered,
    answer: &Generated,
) {
    let differences = manifest_differences(&ordered.answer.manifest, &answer.manifest);
    let wrong = differences
        .into_iter()
        .find(|difference| !ordered.generated.contains(&difference.location));
    if let Some(difference) = wrong {
        let detail = format!("the answer is another: {difference}");
        session.find(rule, "generate-manifest", detail, Some(answer.id));
    }
}
