use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::ExitCode;
use serde_json::{Map, Value, json};

use crate::check::adapter_request::{AdapterRequest, Generate};
use crate::check::answers::{Outcome, Refused};
use crate::check::probes::orders::Ordered;
use crate::check::probes::schemas::Schemas;
use crate::check::report::Area;
use crate::check::rules::{parameters, schemas as schema_rules};
use crate::check::session::Session;
use crate::inputs::{RefusedOn, UnknownParameters};

/// A parameter that no service has.
const UNKNOWN: &str = "odb_adapter_check_unknown";

/// Parameters that must be refused.
struct Wrong<'w> {
    /// The name in the report.
    name: String,
    parameters: Map<String, Value>,
    on: RefusedOn,
    /// Text that the message for the user must contain.
    message: Option<&'w str>,
}

/// Orders and updates with parameters that have to be refused: those of the inputs, one that no
/// service has, and known ones of another type.
pub(in crate::check) fn check_refused_parameters(
    session: &mut Session<'_>,
    ordered: &[Ordered],
    schemas: Option<&Schemas>,
) {
    session.begin(Area::RefusedParameters);
    let inputs = session.inputs;
    for (nth, case) in inputs.refused_parameters.iter().enumerate() {
        let plan = case.plan.as_deref().unwrap_or(&inputs.first_plan().name);
        if let Some(ordered) = ordered.iter().find(|ordered| ordered.plan.name == plan) {
            let wrong = Wrong {
                name: format!("refused parameters number {}", nth + 1),
                parameters: case.parameters.clone(),
                on: case.on,
                message: case.message.as_deref(),
            };
            check_wrong(session, &wrong, ordered);
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
        check_wrong(session, &wrong, &ordered[0]);
        check_beside_secrets(session, &ordered[0]);
        if let Some(schemas) =
            schemas.filter(|schemas| schemas.create.is_valid(&json!({UNKNOWN: true})))
        {
            let detail = "it accepts parameters of any name";
            session.find(
                &schema_rules::SCHEMA_TOO_LAX,
                "unknown",
                detail,
                Some(schemas.id),
            );
        }
    }
    for (name, value) in parameters_of_other_types(session) {
        let wrong = Wrong {
            name: format!("`{name}` of another type"),
            parameters: Map::from_iter([(name.clone(), value)]),
            on: RefusedOn::Create,
            message: Some(&name),
        };
        check_wrong(session, &wrong, &ordered[0]);
    }
}

/// Orders with an unknown parameter next to secret ones. The adapter's messages must not contain the secrets.
fn check_beside_secrets(session: &mut Session<'_>, ordered: &Ordered) {
    let Some(case) = session
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
    check_wrong(session, &wrong, ordered);
}

fn check_wrong(session: &mut Session<'_>, wrong: &Wrong<'_>, ordered: &Ordered) {
    let plan = &ordered.plan;
    let create = Generate::order(session.inputs, plan, &wrong.parameters, Value::Null);
    let update = Generate::update(
        session.inputs,
        plan,
        plan,
        &ordered.deployed,
        &wrong.parameters,
    );
    let asked = [
        ("order", create, RefusedOn::Update),
        ("update", update, RefusedOn::Create),
    ];
    for (what, asked, not_if) in asked {
        if wrong.on == not_if {
            continue;
        }
        let purpose = format!("{what} with {}", wrong.name);
        match session.generate(&purpose, &AdapterRequest::generate(&asked)) {
            Outcome::Answered(answer) => {
                let about = format!("{what} {}", wrong.name);
                session.find(
                    &parameters::INVALID_ACCEPTED,
                    about,
                    "it is accepted",
                    Some(answer.id),
                );
            }
            Outcome::Refused(refused) => check_user_text(session, &refused, wrong.message),
            Outcome::Broken => {}
        }
    }
}

/// Checks that a rejection helps the user.
pub(in crate::check) fn check_user_text(
    session: &mut Session<'_>,
    refused: &Refused,
    message: Option<&str>,
) {
    let text = &refused.for_user;
    let detail = if text.trim().is_empty() {
        format!("stdout is empty{}", session.last_words(refused.id))
    } else if refused.code != ExitCode::Failure
        && refused.code.code() != 0
        && is_special(refused.code)
    {
        format!("it ends with exit code {}, not 1", refused.code.code())
    } else if let Some(message) = message.filter(|message| !text.contains(message)) {
        format!(
            "{}, which does not hold \"{message}\"",
            session.user_text(refused.id)
        )
    } else {
        return;
    };
    session.find(
        &parameters::REFUSED_WITHOUT_TEXT,
        "",
        detail,
        Some(refused.id),
    );
}

/// Every parameter of valid orders with a value of another type.
fn parameters_of_other_types(session: &Session<'_>) -> BTreeMap<String, Value> {
    let valid = session.inputs.valid_parameters().flatten();
    valid
        .filter(|(name, _)| !session.inputs.untyped_parameters.contains(name))
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

/// Codes with another meaning than a rejection.
fn is_special(code: ExitCode) -> bool {
    matches!(
        code,
        ExitCode::NotImplemented
            | ExitCode::BindingNotFound
            | ExitCode::AppGuidRequired
            | ExitCode::BindingExists
    )
}
