use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::ExitCode;
use serde_json::{Map, Value, json};

use super::answers::{Outcome, Refused};
use super::orders::Ordered;
use super::question::Question;
use super::report::Area;
use super::rules::{parameters, schemas as schema_rules};
use super::schemas::Schemas;
use super::session::Session;
use crate::inputs::{RefusedOn, UnknownParameters};

/// A parameter that no service has.
const UNKNOWN: &str = "odb_adapter_check_unknown";

/// Parameters that must be refused.
struct Wrong<'w> {
    /// What the report calls them.
    name: String,
    parameters: Map<String, Value>,
    on: RefusedOn,
    /// What the text for the user has to hold.
    message: Option<&'w str>,
}

impl Session<'_> {
    /// Orders and updates with parameters that have to be refused: those of the inputs, one that no
    /// service has, and known ones of another type.
    pub(super) fn check_refused_parameters(
        &mut self,
        ordered: &[Ordered],
        schemas: Option<&Schemas>,
    ) {
        self.begin(Area::RefusedParameters);
        let inputs = self.inputs;
        for (nth, case) in inputs.refused_parameters.iter().enumerate() {
            let plan = case.plan.as_deref().unwrap_or(&inputs.first_plan().name);
            if let Some(ordered) = ordered.iter().find(|ordered| ordered.plan.name == plan) {
                let wrong = Wrong {
                    name: format!("refused parameters number {}", nth + 1),
                    parameters: case.parameters.clone(),
                    on: case.on,
                    message: case.message.as_deref(),
                };
                self.check_wrong(&wrong, ordered);
            }
        }
        if inputs.unknown_parameters == UnknownParameters::Refused {
            let unknown = Map::from_iter([(UNKNOWN.to_owned(), true.into())]);
            let wrong = Wrong {
                name: "a parameter that no service has".to_owned(),
                parameters: unknown,
                on: RefusedOn::Both,
                message: Some(UNKNOWN),
            };
            self.check_wrong(&wrong, &ordered[0]);
            self.check_beside_secrets(&ordered[0]);
            if let Some(schemas) =
                schemas.filter(|schemas| schemas.create.is_valid(&json!({UNKNOWN: true})))
            {
                let detail = "it accepts parameters of any name";
                self.find(
                    &schema_rules::SCHEMA_TOO_LAX,
                    "unknown",
                    detail,
                    Some(schemas.id),
                );
            }
        }
        for (name, value) in self.parameters_of_other_types() {
            let wrong = Wrong {
                name: format!("`{name}` of another type"),
                parameters: Map::from_iter([(name.clone(), value)]),
                on: RefusedOn::Create,
                message: Some(&name),
            };
            self.check_wrong(&wrong, &ordered[0]);
        }
    }

    /// Orders with an unknown parameter beside secret ones: what the adapter says must not hold those.
    fn check_beside_secrets(&mut self, ordered: &Ordered) {
        let Some(case) = self
            .inputs
            .parameters
            .iter()
            .find(|case| !case.secrets.is_empty())
        else {
            return;
        };
        let mut parameters = case.create.clone();
        parameters.insert(UNKNOWN.to_owned(), true.into());
        let wrong = Wrong {
            name: "a parameter that no service has, beside secret ones".to_owned(),
            parameters,
            on: RefusedOn::Create,
            message: Some(UNKNOWN),
        };
        self.check_wrong(&wrong, ordered);
    }

    fn check_wrong(&mut self, wrong: &Wrong<'_>, ordered: &Ordered) {
        let plan = &ordered.plan;
        let create = self.order(plan, &wrong.parameters, Value::Null);
        let update = self.update(plan, plan, &ordered.deployed, &wrong.parameters);
        let asked = [
            ("order", create, RefusedOn::Update),
            ("update", update, RefusedOn::Create),
        ];
        for (what, asked, not_if) in asked {
            if wrong.on == not_if {
                continue;
            }
            let purpose = format!("{what} with {}", wrong.name);
            match self.generate(&purpose, &Question::generate(&asked)) {
                Outcome::Answered(answer) => {
                    let about = format!("{what} {}", wrong.name);
                    self.find(
                        &parameters::INVALID_ACCEPTED,
                        about,
                        "it is accepted",
                        Some(answer.id),
                    );
                }
                Outcome::Refused(refused) => self.check_user_text(&refused, wrong.message),
                Outcome::Broken => {}
            }
        }
    }

    /// Holds a refusal to being of use to the user.
    pub(super) fn check_user_text(&mut self, refused: &Refused, message: Option<&str>) {
        let text = &refused.for_user;
        let detail = if text.trim().is_empty() {
            format!("stdout is empty{}", self.last_words(refused.id))
        } else if refused.code != ExitCode::Failure
            && refused.code.code() != 0
            && is_special(refused.code)
        {
            format!("it ends with exit code {}, not 1", refused.code.code())
        } else if let Some(message) = message.filter(|message| !text.contains(message)) {
            format!(
                "{}, which does not hold \"{message}\"",
                self.user_text(refused.id)
            )
        } else {
            return;
        };
        self.find(
            &parameters::REFUSED_WITHOUT_TEXT,
            "",
            detail,
            Some(refused.id),
        );
    }

    /// Every parameter of valid orders with a value of another type.
    fn parameters_of_other_types(&self) -> BTreeMap<String, Value> {
        let valid = self.inputs.valid_parameters().flatten();
        valid
            .filter(|(name, _)| !self.inputs.untyped_parameters.contains(name))
            .map(|(name, value)| {
                let other = if value.is_object() {
                    json!("text")
                } else {
                    json!({"unexpected": [true]})
                };
                (name.clone(), other)
            })
            .collect()
    }
}

/// Codes that mean something else than a refusal.
fn is_special(code: ExitCode) -> bool {
    matches!(
        code,
        ExitCode::NotImplemented
            | ExitCode::BindingNotFound
            | ExitCode::AppGuidRequired
            | ExitCode::BindingExists
    )
}
