use serde_json::{Map, Value};

use crate::check::adapter_request::{AdapterRequest, Generate};
use crate::check::answers::{Generated, Outcome, Refused};
use crate::check::difference::{kind, manifest_differences};
use crate::check::location::Location;
use crate::check::manifest_rules::check_manifest;
use crate::check::probes::orders::Ordered;
use crate::check::probes::stability::{Baseline, check_baseline};
use crate::check::report::Area;
use crate::check::rules::parameters;
use crate::check::secret_rules::{Occasion, check_entered, check_secrets};
use crate::check::session::Session;
use crate::inputs::ParameterCase;

/// Orders and updates with valid parameters, and checks that the parameters persist.
pub(in crate::check) fn check_parameters(session: &mut Session<'_>, ordered: &[Ordered]) {
    let cases = &session.inputs.parameters;
    if cases.is_empty() {
        session.skip(Area::Parameters, "the inputs name no `parameters`");
        return;
    }
    session.begin(Area::Parameters);
    for (nth, case) in cases.iter().enumerate() {
        let plan = case
            .plan
            .as_deref()
            .unwrap_or(&session.inputs.first_plan().name);
        if let Some(ordered) = ordered.iter().find(|ordered| ordered.plan.name == plan) {
            let name = match &case.name {
                Some(name) => format!("parameters `{name}`"),
                None => format!("parameters number {}", nth + 1),
            };
            check_case(session, &name, case, ordered);
        }
    }
}

fn check_case(session: &mut Session<'_>, name: &str, case: &ParameterCase, ordered: &Ordered) {
    let entered = entered(session, case);
    let plan = &ordered.plan;
    let adapter_request = AdapterRequest::generate(&Generate::order(
        session.inputs,
        plan,
        &case.create,
        Value::Null,
    ));
    let answer = match session.generate(&format!("order with {name}"), &adapter_request) {
        Outcome::Answered(answer) => answer,
        Outcome::Refused(refused) => return refused_though_valid(session, name, &refused),
        Outcome::Broken => return,
    };
    check_manifest(session, &answer, &plan.document);
    check_secrets(session, &answer, Occasion::Order);
    check_entered(session, &answer, &entered);
    check_expectations(session, &case.expect, &answer);

    let deployed = session.deploy(&answer, None);
    let mut chosen = chosen(&ordered.answer, &answer, &ordered.generated);
    let baseline = Baseline {
        name: &format!("an order with {name}"),
        plan,
        deployed: &deployed,
        generated: &ordered.generated,
        chosen: &chosen,
        uaa_client: Value::Null,
        entered: &entered,
    };
    check_baseline(session, &baseline);

    let Some(update) = &case.update else { return };
    let adapter_request = AdapterRequest::generate(&Generate::update(
        session.inputs,
        plan,
        plan,
        &deployed,
        update,
    ));
    let updated = match session.generate(&format!("update with {name}"), &adapter_request) {
        Outcome::Answered(updated) => updated,
        Outcome::Refused(refused) => return refused_though_valid(session, name, &refused),
        Outcome::Broken => return,
    };
    check_manifest(session, &updated, &plan.document);
    check_secrets(session, &updated, Occasion::Deployed(&deployed));
    check_entered(session, &updated, &entered);
    check_expectations(session, &case.expect_after_update, &updated);
    chosen.extend(self::chosen(&answer, &updated, &ordered.generated));
    let deployed = session.deploy(&updated, Some(&deployed));
    check_baseline(
        session,
        &Baseline {
            name: &format!("an update with {name}"),
            plan,
            deployed: &deployed,
            generated: &ordered.generated,
            chosen: &chosen,
            uaa_client: Value::Null,
            entered: &entered,
        },
    );
}

/// Checks an answer against the values that the inputs expect at each location.
fn check_expectations(
    session: &mut Session<'_>,
    expected: &Map<String, Value>,
    answer: &Generated,
) {
    for (text, expected) in expected {
        let detail = match text.parse::<Location>() {
            Err(error) => error.to_string(),
            Ok(location) => match location.look_up(&answer.manifest) {
                Some(found) if found == expected => continue,
                Some(found) => match (kind(found), kind(expected)) {
                    (found, expected) if found == expected => {
                        format!("`{location}` has {found} other than the expected one")
                    }
                    (found, expected) => {
                        format!("`{location}` is {found}, expected {expected}")
                    }
                },
                None => format!("`{location}` is missing, expected {}", kind(expected)),
            },
        };
        session.find(&parameters::NOT_AS_EXPECTED, text, detail, Some(answer.id));
    }
}

fn refused_though_valid(session: &mut Session<'_>, name: &str, refused: &Refused) {
    let detail = session.rejection(refused);
    session.find_failure(&parameters::VALID_REFUSED, name, detail, refused.id);
}

/// The values of a case's secret parameters, which the check treats as secrets from here on.
fn entered(session: &mut Session<'_>, case: &ParameterCase) -> Vec<String> {
    let all = [Some(&case.create), case.update.as_ref()];
    let values: Vec<String> = all
        .into_iter()
        .flatten()
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
