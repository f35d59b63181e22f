use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use serde_json::Value;

use super::answers::{Outcome, Refused};
use super::difference::kind;
use super::orders::Ordered;
use super::question::{Bind, Question};
use super::report::Area;
use super::requests;
use super::rules::{bindings, calls};
use super::session::{CallId, Session};
use crate::inputs::{BindingCase, BindingOutcome, UnbindingCase, UnbindingOutcome};

/// What became of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Created and deleted.
    Whole,
    /// Something else, whether expected or held against the adapter.
    Other,
    NotImplemented,
}

impl Session<'_> {
    /// Binds and unbinds.
    pub(super) fn check_bindings(&mut self, ordered: &[Ordered]) {
        let inputs = self.inputs;
        let default = [BindingCase::default()];
        let cases = inputs.bindings.as_deref().unwrap_or(&default);
        if cases.is_empty() && inputs.unbindings.is_empty() {
            self.skip(Area::Bindings, "the inputs want none");
            return;
        }
        self.begin(Area::Bindings);
        let mut whole = None;
        for (nth, case) in cases.iter().enumerate() {
            let plan = case.plan.as_deref().unwrap_or(&inputs.first_plan().name);
            let Some(ordered) = ordered.iter().find(|ordered| ordered.plan.name == plan) else {
                continue;
            };
            match self.check_binding(nth, case, ordered) {
                Course::Whole => {
                    whole.get_or_insert((case, ordered));
                }
                Course::Other => {}
                Course::NotImplemented => {
                    self.check_other_half(ordered);
                    return;
                }
            }
        }
        for case in &inputs.unbindings {
            self.check_unbinding(case, &ordered[0]);
        }
        // What fails in the usual form says nothing of another.
        if let Some((case, ordered)) = whole {
            self.check_binding_forms(case, ordered);
        }
    }

    fn check_binding(&mut self, nth: usize, case: &BindingCase, ordered: &Ordered) -> Course {
        let name = match &case.name {
            Some(name) => format!("binding `{name}`"),
            None => format!("binding number {}", nth + 1),
        };
        let mut asked = bind(case, ordered, &format!("odb-adapter-check-{nth}"));
        let outcome = self.ask(
            &format!("creation of {name}"),
            &Question::create_binding(&asked),
        );
        match outcome {
            Outcome::Answered((id, answer)) if case.outcome == BindingOutcome::Created => {
                self.check_credentials(case, id, &answer);
                self.check_generated_credentials(&answer["credentials"], ordered, id);
            }
            Outcome::Answered((id, _)) => {
                self.find(&bindings::BINDING_OUTCOME, &name, "it succeeds", Some(id));
            }
            Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
                return Course::NotImplemented;
            }
            Outcome::Refused(refused) => {
                self.check_refused_binding(&name, case, &refused);
                return Course::Other;
            }
            Outcome::Broken => return Course::Other,
        }
        asked.request = requests::unbind(&ordered.plan.name);
        if self.check_deletion(&format!("deletion of {name}"), &asked)
            && case.outcome == BindingOutcome::Created
        {
            Course::Whole
        } else {
            Course::Other
        }
    }

    fn check_refused_binding(&mut self, name: &str, case: &BindingCase, refused: &Refused) {
        let expected = match case.outcome {
            BindingOutcome::Created => {
                let words = format!(
                    "{}{}",
                    self.user_text(refused.id),
                    self.last_words(refused.id)
                );
                let detail = format!("it ends with exit code {}; {words}", refused.code.code());
                self.find(&bindings::BINDING_FAILS, name, detail, Some(refused.id));
                return;
            }
            BindingOutcome::Refused => {
                self.check_user_text(refused, case.message.as_deref());
                ExitCode::Failure
            }
            BindingOutcome::Exists => ExitCode::BindingExists,
            BindingOutcome::AppGuidRequired => ExitCode::AppGuidRequired,
        };
        self.check_code(name, refused, expected);
    }

    fn check_code(&mut self, name: &str, refused: &Refused, expected: ExitCode) {
        if refused.code != expected {
            let (code, expected) = (refused.code.code(), expected.code());
            let detail = format!("it ends with exit code {code}, expected is {expected}");
            self.find(&bindings::BINDING_OUTCOME, name, detail, Some(refused.id));
        }
    }

    /// Deletes a binding, and tells whether that succeeds.
    fn check_deletion(&mut self, purpose: &str, asked: &Bind) -> bool {
        let call = self.call_of(&Question::delete_binding(asked));
        let refused = match self.attempt(purpose, Subcommand::DeleteBinding, call) {
            Outcome::Answered(_) => return true,
            Outcome::Broken => return false,
            Outcome::Refused(refused) => refused,
        };
        if refused.code == ExitCode::NotImplemented {
            let detail = "`delete-binding` ends with exit code 10, `create-binding` does not";
            self.find(&calls::HALF_BINDINGS, "", detail, Some(refused.id));
        } else {
            let words = format!(
                "{}{}",
                self.user_text(refused.id),
                self.last_words(refused.id)
            );
            let detail = format!("it ends with exit code {}; {words}", refused.code.code());
            self.find(&bindings::UNBINDING_FAILS, "", detail, Some(refused.id));
        }
        false
    }

    fn check_unbinding(&mut self, case: &UnbindingCase, ordered: &Ordered) {
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
            self.check_deletion(&name, &asked);
            return;
        }
        let call = self.call_of(&Question::delete_binding(&asked));
        match self.attempt(&name, Subcommand::DeleteBinding, call) {
            Outcome::Refused(refused) => {
                self.check_code(&name, &refused, ExitCode::BindingNotFound);
            }
            Outcome::Answered(called) => {
                self.find(
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
    fn check_other_half(&mut self, ordered: &Ordered) {
        let mut asked = bind(&BindingCase::default(), ordered, "odb-adapter-check");
        asked.request = requests::unbind(&ordered.plan.name);
        let call = self.call_of(&Question::delete_binding(&asked));
        let outcome = self.attempt("deletion of a binding", Subcommand::DeleteBinding, call);
        let id = match outcome {
            Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => return,
            Outcome::Refused(refused) => refused.id,
            Outcome::Answered(called) => called.id,
            Outcome::Broken => return,
        };
        let detail = "`create-binding` ends with exit code 10, `delete-binding` does not";
        self.find(&calls::HALF_BINDINGS, "", detail, Some(id));
    }

    /// Creates and deletes a binding of its own in every other form. Secrets do not travel in
    /// arguments, so an adapter that needs them is not asked in that way.
    fn check_binding_forms(&mut self, case: &BindingCase, ordered: &Ordered) {
        let needs_stdin = self.inputs.secure_manifests && ordered.deployed.has_references();
        for (nth, form) in self.other_forms().into_iter().enumerate() {
            if needs_stdin && form.is_arguments() {
                continue;
            }
            let mut asked = bind(case, ordered, &format!("odb-adapter-check-form-{nth}"));
            let creation = Question::create_binding(&asked);
            if !self.check_form_of(&creation, form) {
                // For there to be one to delete.
                let purpose = "creation of a binding to delete in another form";
                self.ask(purpose, &creation);
            }
            asked.request = requests::unbind(&ordered.plan.name);
            self.check_form_of(&Question::delete_binding(&asked), form);
        }
    }

    fn check_credentials(&mut self, case: &BindingCase, id: CallId, answer: &Value) {
        const INSTEAD: [&str; 3] = ["syslog_drain_url", "route_service_url", "backup_agent_url"];
        let credentials = &answer["credentials"];
        // What applications are given is nobody else's business.
        self.learn_secret(answer);
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
        self.find(&bindings::NO_CREDENTIALS, detail.clone(), detail, Some(id));
    }
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
