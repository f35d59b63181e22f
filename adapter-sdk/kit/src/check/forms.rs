use odb_adapter_sdk::protocol::Subcommand;
use serde_json::Map;
use serde_json::Value;

use super::answers::{Generated, Outcome, Refused};
use super::difference::manifest_differences;
use super::orders::Ordered;
use super::question::{Question, Shape};
use super::report::Area;
use super::rules::{Rule, calls};
use super::session::Session;
use crate::process::ProcessCall;

/// Another way to ask the same question.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Goes after what is asked.
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
        how: "with fields that nobody knows",
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
    /// Whether the question stands in arguments, where there is no room for secrets.
    pub(super) fn is_arguments(self) -> bool {
        self.wording == Wording::Arguments
    }

    fn call(self, question: &Question) -> ProcessCall {
        match self.wording {
            Wording::Document(shape) => question.on_stdin(shape),
            Wording::Arguments => question.in_arguments(),
        }
    }
}

impl Session<'_> {
    /// The forms other than the one that an adapter on stdin is asked in anyway.
    pub(super) fn other_forms(&self) -> Vec<Form> {
        if !self.asks_on_stdin() {
            return Vec::new();
        }
        let arguments = self.inputs.forms.arguments.then_some(ARGUMENTS);
        DOCUMENTS.into_iter().chain(arguments).collect()
    }

    /// Asks for the same manifest in other ways.
    pub(super) fn check_forms(&mut self, ordered: &Ordered) {
        self.begin(Area::Forms);
        let question = Question::generate(&self.order(&ordered.plan, &Map::new(), Value::Null));
        for form in self.other_forms() {
            let purpose = format!("order {}", form.how);
            let outcome = match form.wording {
                Wording::Document(shape) => self.generate_as(&purpose, question.on_stdin(shape)),
                Wording::Arguments => self.generate_in_arguments(&purpose, &question),
            };
            match outcome {
                Outcome::Answered(answer) if form.is_arguments() => {
                    self.check_bare_answer(ordered, &answer);
                }
                Outcome::Answered(answer) => self.compare_forms(form.rule, ordered, &answer),
                Outcome::Refused(refused) => self.form_refused(form.rule, &refused),
                Outcome::Broken => {}
            }
        }
    }

    /// Asks the question of another subcommand in every form.
    pub(super) fn check_forms_of(&mut self, question: &Question) {
        for form in self.other_forms() {
            self.check_form_of(question, form);
        }
    }

    /// Asks the question of another subcommand in a form, holds a refusal against the form, and
    /// tells whether there was none.
    pub(super) fn check_form_of(&mut self, question: &Question, form: Form) -> bool {
        let subcommand = question.subcommand();
        let purpose = format!("{subcommand} {}", form.how);
        let call = form.call(question);
        let refused = if subcommand == Subcommand::DeleteBinding {
            // Its answer says nothing.
            self.attempt(&purpose, subcommand, call).refused()
        } else {
            self.ask_as(&purpose, subcommand, call).refused()
        };
        if let Some(refused) = &refused {
            self.form_refused(form.rule, refused);
        }
        refused.is_none()
    }

    fn form_refused(&mut self, rule: &'static Rule, refused: &Refused) {
        let detail = self.refusal(refused);
        let about = self.subcommand_of(refused.id).map_or("", Subcommand::name);
        self.find_failure(rule, about, detail, refused.id);
    }

    fn check_bare_answer(&mut self, ordered: &Ordered, answer: &Generated) {
        if answer.manifest.get("manifest").is_some() {
            let detail = "stdout is a JSON object with the manifest in it; in this form it is the manifest itself";
            self.find(
                &calls::ARGUMENT_FORM,
                "generate-manifest",
                detail,
                Some(answer.id),
            );
        } else {
            self.compare_forms(&calls::FORMS_DIFFER, ordered, answer);
        }
    }

    /// Two answers to the same order differ in generated values and nothing else.
    fn compare_forms(&mut self, rule: &'static Rule, ordered: &Ordered, answer: &Generated) {
        let differences = manifest_differences(&ordered.answer.manifest, &answer.manifest);
        let wrong = differences
            .into_iter()
            .find(|difference| !ordered.generated.contains(&difference.place));
        if let Some(difference) = wrong {
            let detail = format!("the answer is another: {difference}");
            self.find(rule, "generate-manifest", detail, Some(answer.id));
        }
    }
}
