use std::collections::BTreeMap;

use odb_adapter_sdk::protocol::ExitCode;
use serde_json::{Map, Value, json};

use super::orders::{Baseline, check_baseline};
use super::schemas::Schemas;
use super::{Ordered, called, of_plan};
use crate::check::answers::{Deployed, Generated, Outcome, Refused};
use crate::check::difference::{Location, kind, manifest_differences};
use crate::check::manifest_rules::check_manifest;
use crate::check::report::Area;
use crate::check::request::{order, update};
use crate::check::rules;
use crate::check::secrets::{check_entered, check_secrets};
use crate::check::session::Session;
use crate::inputs::{
    NamedPlan, ParameterCase, PlanChange, PlanChangeOutcome, RefusedOn, UnknownParameters,
};

/// A parameter that no service has.
const UNKNOWN: &str = "odb_adapter_check_unknown";

/// Orders and updates with valid parameters, and checks that the parameters persist.
pub(super) fn check_parameters(session: &mut Session<'_>, ordered: &[Ordered]) {
    session.begin(Area::Parameters);
    let cases = &session.inputs.parameters;
    if cases.is_empty() {
        session.skip("the inputs name no `parameters`");
    }
    for (nth, case) in cases.iter().enumerate() {
        if let Some(ordered) = of_plan(session, ordered, case.plan.as_ref()) {
            let name = called("parameters", case.name.as_ref(), nth);
            check_case(session, &name, case, ordered);
        }
    }
}

fn check_case(session: &mut Session<'_>, name: &str, case: &ParameterCase, ordered: &Ordered) {
    let entered = entered(session, case);
    let plan = &ordered.plan;
    let call = order(session.inputs, plan, &case.create);
    let outcome = session.generate(&format!("order with {name}"), call);
    let Some(answer) = session.expect(outcome, &rules::VALID_REFUSED, name) else {
        return;
    };
    check_choices(session, &answer, plan, None, &entered, &case.expect);
    let deployed = session.deploy(&answer, None);
    let mut chosen = chosen(&ordered.answer, &answer, &ordered.generated);
    let subject = format!("an order with {name}");
    let baseline = Baseline {
        chosen: &chosen,
        entered: &entered,
        ..Baseline::of(&subject, ordered, &deployed)
    };
    check_baseline(session, &baseline);

    let Some(parameters) = &case.update else {
        return;
    };
    let call = update(session.inputs, plan, plan, &deployed, parameters);
    let outcome = session.generate(&format!("update with {name}"), call);
    let Some(updated) = session.expect(outcome, &rules::VALID_REFUSED, name) else {
        return;
    };
    let expected = &case.expect_after_update;
    check_choices(session, &updated, plan, Some(&deployed), &entered, expected);
    chosen.extend(self::chosen(&answer, &updated, &ordered.generated));
    let deployed = session.deploy(&updated, Some(&deployed));
    let subject = format!("an update with {name}");
    let baseline = Baseline {
        chosen: &chosen,
        entered: &entered,
        ..Baseline::of(&subject, ordered, &deployed)
    };
    check_baseline(session, &baseline);
}

fn check_choices(
    session: &mut Session<'_>,
    answer: &Generated,
    plan: &NamedPlan,
    deployed: Option<&Deployed>,
    entered: &[String],
    expected: &Map<String, Value>,
) {
    check_manifest(session, answer, &plan.plan);
    check_secrets(session, answer, deployed);
    check_entered(session, answer, entered);
    for (text, expected) in expected {
        let detail = match text.parse::<Location>() {
            Err(error) => error.to_string(),
            Ok(location) => match location.look_up(&answer.manifest) {
                Some(found) if found == expected => continue,
                Some(found) => match (kind(found), kind(expected)) {
                    (found, expected) if found == expected => {
                        format!("`{location}` has {found} other than the expected one")
                    }
                    (found, expected) => format!("`{location}` is {found}, expected {expected}"),
                },
                None => format!("`{location}` is missing, expected {}", kind(expected)),
            },
        };
        session.find(&rules::NOT_AS_EXPECTED, text, detail, answer.id);
    }
}

/// The values of a case's secret parameters, which the check treats as secrets from here on.
fn entered(session: &mut Session<'_>, case: &ParameterCase) -> Vec<String> {
    let all = [&case.create].into_iter().chain(&case.update);
    let values: Vec<String> = all
        .flat_map(|parameters| case.secrets.iter().filter_map(|name| parameters.get(name)))
        .filter_map(|value| Some(value.as_str()?.to_owned()))
        .collect();
    for value in &values {
        session.learn_secret(&value.as_str().into());
    }
    values
}

/// The locations at which a manifest differs because of the user's choice.
fn chosen(without: &Generated, with: &Generated, generated: &[Location]) -> Vec<Location> {
    manifest_differences(&without.manifest, &with.manifest)
        .into_iter()
        .map(|difference| difference.location)
        .filter(|location| !generated.contains(location))
        .collect()
}

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
pub(super) fn check_refused_parameters(
    session: &mut Session<'_>,
    ordered: &[Ordered],
    schemas: Option<&Schemas>,
) {
    session.begin(Area::RefusedParameters);
    let inputs = session.inputs;
    for (nth, case) in inputs.refused_parameters.iter().enumerate() {
        if let Some(ordered) = of_plan(session, ordered, case.plan.as_ref()) {
            let wrong = Wrong {
                name: called("refused parameters", None, nth),
                parameters: case.parameters.clone(),
                on: case.on,
                message: case.message.as_deref(),
            };
            check_wrong(session, &wrong, ordered);
        }
    }
    if inputs.unknown_parameters == UnknownParameters::Refused {
        check_unknown(session, &ordered[0], schemas);
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

/// Orders with an unknown parameter, alone and next to secret ones. The adapter's messages must not contain the secrets.
fn check_unknown(session: &mut Session<'_>, ordered: &Ordered, schemas: Option<&Schemas>) {
    let wrong = |name: &str, mut parameters: Map<String, Value>, on| {
        parameters.insert(UNKNOWN.to_owned(), true.into());
        Wrong {
            name: name.to_owned(),
            parameters,
            on,
            message: Some(UNKNOWN),
        }
    };
    let name = "a parameter that no service has";
    let alone = wrong(name, Map::new(), RefusedOn::Both);
    check_wrong(session, &alone, ordered);
    let mut cases = session.inputs.parameters.iter();
    if let Some(case) = cases.find(|case| !case.secrets.is_empty()) {
        let name = format!("{name}, beside secret ones");
        let beside = wrong(&name, case.create.clone(), RefusedOn::Create);
        check_wrong(session, &beside, ordered);
    }
    let lax = schemas.filter(|schemas| schemas.create.is_valid(&json!({UNKNOWN: true})));
    if let Some(schemas) = lax {
        let detail = "it accepts parameters of any name";
        session.find(&rules::SCHEMA_TOO_LAX, "unknown", detail, schemas.id);
    }
}

fn check_wrong(session: &mut Session<'_>, wrong: &Wrong<'_>, ordered: &Ordered) {
    let (inputs, plan, parameters) = (session.inputs, &ordered.plan, &wrong.parameters);
    let create = order(inputs, plan, parameters);
    let update = update(inputs, plan, plan, &ordered.deployed, parameters);
    for (what, call, not_if) in [
        ("order", create, RefusedOn::Update),
        ("update", update, RefusedOn::Create),
    ] {
        if wrong.on == not_if {
            continue;
        }
        let purpose = format!("{what} with {}", wrong.name);
        match session.generate(&purpose, call) {
            Outcome::Answered(answer) => {
                let about = format!("{what} {}", wrong.name);
                let detail = "it is accepted";
                session.find(&rules::INVALID_ACCEPTED, about, detail, answer.id);
            }
            Outcome::Refused(refused) => check_user_text(session, &refused, wrong.message),
            Outcome::Broken => {}
        }
    }
}

pub(super) fn check_user_text(session: &mut Session<'_>, refused: &Refused, message: Option<&str>) {
    let text = &refused.for_user;
    // Codes with another meaning than a rejection.
    let is_special = !matches!(
        refused.code,
        ExitCode::Success | ExitCode::Failure | ExitCode::Other(_)
    );
    let detail = if text.trim().is_empty() {
        format!("stdout is empty{}", session.last_words(refused.id))
    } else if is_special {
        format!("it ends with exit code {}, not 1", refused.code.code())
    } else if let Some(message) = message.filter(|message| !text.contains(message)) {
        let user_text = session.user_text(refused.id);
        format!("{user_text}, which does not hold \"{message}\"")
    } else {
        return;
    };
    session.find(&rules::REFUSED_WITHOUT_TEXT, "", detail, refused.id);
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

pub(super) fn check_plan_changes(session: &mut Session<'_>) {
    session.begin(Area::PlanChanges);
    let inputs = session.inputs;
    if inputs.plan_changes.is_empty() {
        session.skip("the inputs name no `plan_changes`");
    }
    for change in &inputs.plan_changes {
        let plans = (inputs.plan(&change.from), inputs.plan(&change.to));
        if let (Some(from), Some(to)) = plans {
            check_plan_change(session, change, from, to);
        }
    }
}

fn check_plan_change(
    session: &mut Session<'_>,
    change: &PlanChange,
    from: &NamedPlan,
    to: &NamedPlan,
) {
    let name = format!("change from plan `{}` to `{}`", from.name, to.name);
    let call = order(session.inputs, from, &Map::new());
    let ordered = session.generate(&format!("order before a {name}"), call);
    let Some(ordered) = ordered.answer() else {
        return;
    };
    let deployed = session.deploy(&ordered, None);
    let call = update(session.inputs, to, from, &deployed, &Map::new());
    match (session.generate(&name, call), change.outcome) {
        (Outcome::Answered(answer), PlanChangeOutcome::Accepted) => {
            check_manifest(session, &answer, &to.plan);
            check_secrets(session, &answer, Some(&deployed));
            let baseline = Baseline {
                name: &format!("a {name}"),
                plan: to,
                deployed: &session.deploy(&answer, Some(&deployed)),
                generated: &[],
                chosen: &[],
                uaa_client: None,
                entered: &[],
            };
            check_baseline(session, &baseline);
        }
        (Outcome::Answered(answer), PlanChangeOutcome::Refused) => {
            session.find(&rules::PLAN_CHANGE, &name, "it is accepted", answer.id);
        }
        (Outcome::Refused(refused), PlanChangeOutcome::Accepted) => {
            session.find_rejection(&rules::PLAN_CHANGE, &name, &refused);
        }
        (Outcome::Refused(refused), PlanChangeOutcome::Refused) => {
            check_user_text(session, &refused, change.message.as_deref());
        }
        (Outcome::Broken, _) => {}
    }
}
