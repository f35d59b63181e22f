use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use serde_json::Value;

use crate::check::adapter_request::{AdapterRequest, Bind};
use crate::check::answers::{Outcome, Refused};
use crate::check::difference::kind;
use crate::check::probes::forms::{check_form_of, other_forms};
use crate::check::probes::orders::Ordered;
use crate::check::probes::refused_parameters::check_user_text;
use crate::check::report::Area;
use crate::check::requests;
use crate::check::rules::{bindings, calls};
use crate::check::secret_rules::check_generated_credentials;
use crate::check::session::{CallId, Session};
use crate::inputs::{BindingCase, BindingOutcome, UnbindingCase, UnbindingOutcome};

/// The outcome of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    /// Created and deleted.
    Whole,
    /// Something else, whether expected or held against the adapter.
    Other,
    NotImplemented,
}

/// Binds and unbinds.
pub(in crate::check) fn check_bindings(session: &mut Session<'_>, ordered: &[Ordered]) {
    let inputs = session.inputs;
    let default = [BindingCase::default()];
    let cases = inputs.bindings.as_deref().unwrap_or(&default);
    if cases.is_empty() && inputs.unbindings.is_empty() {
        session.skip(Area::Bindings, "the inputs want none");
        return;
    }
    session.begin(Area::Bindings);
    let mut whole = None;
    for (nth, case) in cases.iter().enumerate() {
        let plan = case.plan.as_deref().unwrap_or(&inputs.first_plan().name);
        let Some(ordered) = ordered.iter().find(|ordered| ordered.plan.name == plan) else {
            continue;
        };
        match check_binding(session, nth, case, ordered) {
            Sequence::Whole => {
                whole.get_or_insert((case, ordered));
            }
            Sequence::Other => {}
            Sequence::NotImplemented => {
                check_other_half(session, ordered);
                return;
            }
        }
    }
    for case in &inputs.unbindings {
        check_unbinding(session, case, &ordered[0]);
    }
    // A failure in the usual form says nothing about another form.
    if let Some((case, ordered)) = whole {
        check_binding_forms(session, case, ordered);
    }
}

fn check_binding(
    session: &mut Session<'_>,
    nth: usize,
    case: &BindingCase,
    ordered: &Ordered,
) -> Sequence {
    let name = match &case.name {
        Some(name) => format!("binding `{name}`"),
        None => format!("binding number {}", nth + 1),
    };
    let mut asked = bind(case, ordered, &format!("odb-adapter-check-{nth}"));
    let outcome = session.ask(
        &format!("creation of {name}"),
        &AdapterRequest::create_binding(&asked),
    );
    match outcome {
        Outcome::Answered((id, answer)) if case.outcome == BindingOutcome::Created => {
            check_credentials(session, case, id, &answer);
            check_generated_credentials(session, &answer["credentials"], ordered, id);
        }
        Outcome::Answered((id, _)) => {
            session.find(&bindings::BINDING_OUTCOME, &name, "it succeeds", Some(id));
        }
        Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
            return Sequence::NotImplemented;
        }
        Outcome::Refused(refused) => {
            check_refused_binding(session, &name, case, &refused);
            return Sequence::Other;
        }
        Outcome::Broken => return Sequence::Other,
    }
    asked.request = requests::unbind(&ordered.plan.name);
    if check_deletion(session, &format!("deletion of {name}"), &asked)
        && case.outcome == BindingOutcome::Created
    {
        Sequence::Whole
    } else {
        Sequence::Other
    }
}

fn check_refused_binding(
    session: &mut Session<'_>,
    name: &str,
    case: &BindingCase,
    refused: &Refused,
) {
    let expected = match case.outcome {
        BindingOutcome::Created => {
            let words = format!(
                "{}{}",
                session.user_text(refused.id),
                session.last_words(refused.id)
            );
            let detail = format!("it ends with exit code {}; {words}", refused.code.code());
            session.find(&bindings::BINDING_FAILS, name, detail, Some(refused.id));
            return;
        }
        BindingOutcome::Refused => {
            check_user_text(session, refused, case.message.as_deref());
            ExitCode::Failure
        }
        BindingOutcome::Exists => ExitCode::BindingExists,
        BindingOutcome::AppGuidRequired => ExitCode::AppGuidRequired,
    };
    check_code(session, name, refused, expected);
}

fn check_code(session: &mut Session<'_>, name: &str, refused: &Refused, expected: ExitCode) {
    if refused.code != expected {
        let (code, expected) = (refused.code.code(), expected.code());
        let detail = format!("it ends with exit code {code}, expected is {expected}");
        session.find(&bindings::BINDING_OUTCOME, name, detail, Some(refused.id));
    }
}

/// Deletes a binding, and returns whether that succeeds.
fn check_deletion(session: &mut Session<'_>, purpose: &str, asked: &Bind) -> bool {
    let call = session.call_of(&AdapterRequest::delete_binding(asked));
    let refused = match session.attempt(purpose, Subcommand::DeleteBinding, call) {
        Outcome::Answered(_) => return true,
        Outcome::Broken => return false,
        Outcome::Refused(refused) => refused,
    };
    if refused.code == ExitCode::NotImplemented {
        let detail = "`delete-binding` ends with exit code 10, `create-binding` does not";
        session.find(&calls::HALF_BINDINGS, "", detail, Some(refused.id));
    } else {
        let words = format!(
            "{}{}",
            session.user_text(refused.id),
            session.last_words(refused.id)
        );
        let detail = format!("it ends with exit code {}; {words}", refused.code.code());
        session.find(&bindings::UNBINDING_FAILS, "", detail, Some(refused.id));
    }
    false
}

fn check_unbinding(session: &mut Session<'_>, case: &UnbindingCase, ordered: &Ordered) {
    let name = format!("deletion of binding `{}`", case.binding_id);
    let asked = Bind {
        binding_id: case.binding_id.clone(),
        bosh_vms: vms(case.bosh_vms.as_ref(), ordered),
        manifest: ordered.deployed.text.clone(),
        request: requests::unbind(&ordered.plan.name),
        secrets: ordered.deployed.secrets(),
        dns_addresses: Value::Object(serde_json::Map::new()),
    };
    if case.outcome == UnbindingOutcome::Removed {
        check_deletion(session, &name, &asked);
        return;
    }
    let call = session.call_of(&AdapterRequest::delete_binding(&asked));
    match session.attempt(&name, Subcommand::DeleteBinding, call) {
        Outcome::Refused(refused) => {
            check_code(session, &name, &refused, ExitCode::BindingNotFound);
        }
        Outcome::Answered(called) => {
            session.find(
                &bindings::BINDING_OUTCOME,
                &name,
                "it succeeds",
                Some(called.id),
            );
        }
        Outcome::Broken => {}
    }
}

/// Nothing can be bound: then there must be nothing to unbind either.
fn check_other_half(session: &mut Session<'_>, ordered: &Ordered) {
    let mut asked = bind(&BindingCase::default(), ordered, "odb-adapter-check");
    asked.request = requests::unbind(&ordered.plan.name);
    let call = session.call_of(&AdapterRequest::delete_binding(&asked));
    let outcome = session.attempt("deletion of a binding", Subcommand::DeleteBinding, call);
    let id = match outcome {
        Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => return,
        Outcome::Refused(refused) => refused.id,
        Outcome::Answered(called) => called.id,
        Outcome::Broken => return,
    };
    let detail = "`create-binding` ends with exit code 10, `delete-binding` does not";
    session.find(&calls::HALF_BINDINGS, "", detail, Some(id));
}

/// Creates and deletes a separate binding in every other form. Arguments never carry secrets, so the check skips the
/// argument form for an adapter that needs secrets.
fn check_binding_forms(session: &mut Session<'_>, case: &BindingCase, ordered: &Ordered) {
    let needs_stdin = session.inputs.secure_manifests && ordered.deployed.has_references();
    for (nth, form) in other_forms(session).into_iter().enumerate() {
        if needs_stdin && form.is_arguments() {
            continue;
        }
        let mut asked = bind(case, ordered, &format!("odb-adapter-check-form-{nth}"));
        let creation = AdapterRequest::create_binding(&asked);
        if !check_form_of(session, &creation, form) {
            // For there to be one to delete.
            let purpose = "creation of a binding to delete in another form";
            session.ask(purpose, &creation);
        }
        asked.request = requests::unbind(&ordered.plan.name);
        check_form_of(session, &AdapterRequest::delete_binding(&asked), form);
    }
}

fn check_credentials(session: &mut Session<'_>, case: &BindingCase, id: CallId, answer: &Value) {
    const INSTEAD: [&str; 3] = ["syslog_drain_url", "route_service_url", "backup_agent_url"];
    let credentials = &answer["credentials"];
    // The credentials of applications are secret.
    session.learn_secret(answer);
    let missing = case
        .credentials
        .iter()
        .find(|name| credentials.get(name.as_str()).is_none());
    let has_url = INSTEAD
        .iter()
        .any(|key| answer[key].as_str().is_some_and(|url| !url.is_empty()));
    let detail = match (credentials, missing) {
        (_, Some(missing)) => format!("they have no `{missing}`"),
        (Value::Object(_), None) => return,
        (Value::Null, None) if has_url => return,
        (other, None) => format!("`credentials` is {}", kind(other)),
    };
    session.find(&bindings::NO_CREDENTIALS, detail.clone(), detail, Some(id));
}

fn bind(case: &BindingCase, ordered: &Ordered, binding_id: &str) -> Bind {
    Bind {
        binding_id: binding_id.to_owned(),
        bosh_vms: vms(case.bosh_vms.as_ref(), ordered),
        manifest: ordered.deployed.text.clone(),
        request: requests::bind(&ordered.plan.name, &case.app_guid, &case.parameters),
        secrets: ordered.deployed.secrets(),
        dns_addresses: case.dns_addresses.clone().into(),
    }
}

fn vms(given: Option<&serde_json::Map<String, Value>>, ordered: &Ordered) -> Value {
    given.map_or_else(|| ordered.deployed.bosh_vms(), |given| given.clone().into())
}
