use odb_adapter_sdk::protocol::{
    Call, CreateBinding, DnsAddresses, ExitCode, GenerateDashboardUrl, Subcommand,
};
use serde_json::Value;

use super::forms::{check_form_of, check_forms_of, other_forms};
use super::parameters::check_user_text;
use super::{Ordered, called, of_plan};
use crate::check::answers::{Outcome, Refused};
use crate::check::difference::kind;
use crate::check::report::Area;
use crate::check::request::{AdapterRequest, INSTANCE_ID, PLATFORM, plan_id};
use crate::check::rules;
use crate::check::secrets::check_generated_credentials;
use crate::check::session::{CallId, Called, Session};
use crate::inputs::{BindingCase, BindingOutcome, UnbindingCase, UnbindingOutcome};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    /// Created and deleted.
    Whole,
    /// Something else, whether expected or held against the adapter.
    Other,
    NotImplemented,
}

pub(super) fn check_bindings(session: &mut Session<'_>, all: &[Ordered]) {
    session.begin(Area::Bindings);
    let inputs = session.inputs;
    let default = [BindingCase::default()];
    let cases = inputs.bindings.as_deref().unwrap_or(&default);
    if cases.is_empty() && inputs.unbindings.is_empty() {
        session.skip("the inputs want none");
        return;
    }
    let mut whole = None;
    for (nth, case) in cases.iter().enumerate() {
        let Some(ordered) = of_plan(session, all, case.plan.as_ref()) else {
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
        check_unbinding(session, case, &all[0]);
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
    let name = called("binding", case.name.as_ref(), nth);
    let binding = bind(case, ordered, &format!("odb-adapter-check-{nth}"));
    let creation = AdapterRequest::create_binding(&binding);
    match session.ask(&format!("creation of {name}"), &creation) {
        Outcome::Answered((id, answer)) if case.outcome == BindingOutcome::Created => {
            check_credentials(session, case, id, &answer);
            check_generated_credentials(session, &answer["credentials"], ordered, id);
        }
        Outcome::Answered((id, _)) => {
            session.find(&rules::BINDING_OUTCOME, &name, "it succeeds", id);
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
    let is_deleted = check_deletion(session, &format!("deletion of {name}"), binding, ordered);
    if is_deleted && case.outcome == BindingOutcome::Created {
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
            let detail = failure(session, refused);
            session.find(&rules::BINDING_FAILS, name, detail, refused.id);
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

fn failure(session: &Session<'_>, refused: &Refused) -> String {
    format!(
        "it ends with {}{}",
        session.rejection(refused),
        session.last_words(refused.id)
    )
}

fn check_code(session: &mut Session<'_>, name: &str, refused: &Refused, expected: ExitCode) {
    if refused.code != expected {
        let (code, expected) = (refused.code.code(), expected.code());
        let detail = format!("it ends with exit code {code}, expected is {expected}");
        session.find(&rules::BINDING_OUTCOME, name, detail, refused.id);
    }
}

/// Deletes a binding, and returns whether that succeeds.
fn check_deletion(
    session: &mut Session<'_>,
    purpose: &str,
    binding: CreateBinding,
    ordered: &Ordered,
) -> bool {
    match delete(session, purpose, binding, ordered) {
        Outcome::Answered(_) => return true,
        Outcome::Broken => {}
        Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
            let detail = "`delete-binding` ends with exit code 10, `create-binding` does not";
            session.find(&rules::HALF_BINDINGS, "", detail, refused.id);
        }
        Outcome::Refused(refused) => {
            let detail = failure(session, &refused);
            session.find(&rules::UNBINDING_FAILS, "", detail, refused.id);
        }
    }
    false
}

fn delete(
    session: &mut Session<'_>,
    purpose: &str,
    binding: CreateBinding,
    ordered: &Ordered,
) -> Outcome<Called> {
    let call = session.call_of(&deletion(binding, ordered));
    session.attempt(purpose, Subcommand::DeleteBinding, call)
}

fn deletion(mut binding: CreateBinding, ordered: &Ordered) -> AdapterRequest {
    binding.request_parameters = PLATFORM.unbind(&plan_id(&ordered.plan.name));
    AdapterRequest::delete_binding(&binding)
}

fn check_unbinding(session: &mut Session<'_>, case: &UnbindingCase, ordered: &Ordered) {
    let name = format!("deletion of binding `{}`", case.binding_id);
    let of_case = BindingCase {
        bosh_vms: case.bosh_vms.clone(),
        dns_addresses: DnsAddresses::new(),
        ..BindingCase::default()
    };
    let binding = bind(&of_case, ordered, &case.binding_id);
    if case.outcome == UnbindingOutcome::Removed {
        check_deletion(session, &name, binding, ordered);
        return;
    }
    match delete(session, &name, binding, ordered) {
        Outcome::Refused(refused) => {
            check_code(session, &name, &refused, ExitCode::BindingNotFound);
        }
        Outcome::Answered(called) => {
            session.find(&rules::BINDING_OUTCOME, &name, "it succeeds", called.id);
        }
        Outcome::Broken => {}
    }
}

/// Nothing can be bound: then there must be nothing to unbind either.
fn check_other_half(session: &mut Session<'_>, ordered: &Ordered) {
    let binding = bind(&BindingCase::default(), ordered, "odb-adapter-check");
    let id = match delete(session, "deletion of a binding", binding, ordered) {
        Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => return,
        Outcome::Refused(refused) => refused.id,
        Outcome::Answered(called) => called.id,
        Outcome::Broken => return,
    };
    let detail = "`create-binding` ends with exit code 10, `delete-binding` does not";
    session.find(&rules::HALF_BINDINGS, "", detail, id);
}

/// Creates and deletes a separate binding in every other form. Arguments never carry secrets, so the check skips the
/// argument form for an adapter that needs secrets.
fn check_binding_forms(session: &mut Session<'_>, case: &BindingCase, ordered: &Ordered) {
    let needs_stdin = session.inputs.secure_manifests && ordered.deployed.has_references();
    for (nth, form) in other_forms(session).into_iter().enumerate() {
        if needs_stdin && form.is_arguments() {
            continue;
        }
        let binding = bind(case, ordered, &format!("odb-adapter-check-form-{nth}"));
        let creation = AdapterRequest::create_binding(&binding);
        if !check_form_of(session, &creation, form) {
            // For there to be one to delete.
            let purpose = "creation of a binding to delete in another form";
            session.ask(purpose, &creation);
        }
        check_form_of(session, &deletion(binding, ordered), form);
    }
}

fn check_credentials(session: &mut Session<'_>, case: &BindingCase, id: CallId, answer: &Value) {
    const INSTEAD: [&str; 3] = ["syslog_drain_url", "route_service_url", "backup_agent_url"];
    let credentials = &answer["credentials"];
    // The credentials of applications are secret.
    session.learn_secret(answer);
    let mut expected = case.credentials.iter();
    let missing = expected.find(|name| credentials.get(name.as_str()).is_none());
    let has_url = INSTEAD
        .iter()
        .any(|key| answer[key].as_str().is_some_and(|url| !url.is_empty()));
    let detail = match (credentials, missing) {
        (_, Some(missing)) => format!("they have no `{missing}`"),
        (Value::Object(_), None) => return,
        (Value::Null, None) if has_url => return,
        (other, None) => format!("`credentials` is {}", kind(other)),
    };
    session.find(&rules::NO_CREDENTIALS, detail.clone(), detail, id);
}

fn bind(case: &BindingCase, ordered: &Ordered, binding_id: &str) -> CreateBinding {
    let vms = case.bosh_vms.clone();
    let plan_id = plan_id(&ordered.plan.name);
    let mut binding = CreateBinding::new(
        binding_id,
        vms.unwrap_or_else(|| ordered.deployed.bosh_vms()),
        ordered.deployed.text.clone(),
        PLATFORM.bind(&plan_id, &case.app_guid, &case.parameters),
    );
    binding.secrets = ordered.deployed.secrets();
    binding.dns_addresses.clone_from(&case.dns_addresses);
    binding
}

pub(super) fn check_dashboard(session: &mut Session<'_>, ordered: &Ordered) {
    session.begin(Area::Dashboard);
    let (plan, manifest) = (ordered.plan.plan.clone(), ordered.deployed.text.clone());
    let call = GenerateDashboardUrl::new(INSTANCE_ID, plan, manifest);
    let request = AdapterRequest(Call::DashboardUrl(Box::new(call)));
    match session.ask("dashboard", &request) {
        Outcome::Answered((id, answer)) => {
            match answer["dashboard_url"].as_str() {
                Some(url) if is_address(url) => {}
                Some(url) => {
                    let detail = format!("it is \"{url}\"");
                    session.find(&rules::WRONG_DASHBOARD, "", detail, id);
                }
                None => {
                    let detail = "`dashboard_url` is missing or not a text";
                    session.find(&rules::WRONG_SHAPE, "dashboard-url", detail, id);
                }
            }
            check_forms_of(session, &request);
        }
        Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
            session.skip("`dashboard-url` is not implemented");
        }
        Outcome::Refused(refused) => {
            session.find_rejection(&rules::DASHBOARD_FAILS, "", &refused);
        }
        Outcome::Broken => {}
    }
}

fn is_address(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !url.contains(char::is_whitespace)
}
