use odb_adapter_sdk::protocol::ExitCode;
use serde_json::{Map, Value};

use crate::check::adapter_request::{AdapterRequest, Generate};
use crate::check::answers::{Generated, Outcome};
use crate::check::deployed::Deployed;
use crate::check::difference::{Change, manifest_differences};
use crate::check::location::Location;
use crate::check::manifest_rules::check_manifest;
use crate::check::report::Area;
use crate::check::rules::{calls, stability};
use crate::check::secret_rules::{Occasion, check_generated, check_secrets};
use crate::check::session::Session;
use crate::inputs::NamedPlan;

/// An instance of a plan that was ordered without parameters.
pub(in crate::check) struct Ordered {
    pub(in crate::check) plan: NamedPlan,
    pub(in crate::check) answer: Generated,
    pub(in crate::check) deployed: Deployed,
    /// The locations of values that are generated anew for each order.
    pub(in crate::check) generated: Vec<Location>,
}

/// Orders an instance of each plan, twice.
pub(in crate::check) fn check_orders(session: &mut Session<'_>) -> Vec<Ordered> {
    session.begin(Area::Orders);
    let plans = &session.inputs.plans;
    plans
        .iter()
        .filter_map(|plan| check_order(session, plan))
        .collect()
}

fn check_order(session: &mut Session<'_>, plan: &NamedPlan) -> Option<Ordered> {
    let purpose = format!("order of plan `{}`", plan.name);
    let adapter_request = AdapterRequest::generate(&Generate::order(
        session.inputs,
        plan,
        &Map::new(),
        Value::Null,
    ));
    let answer = first_answer(session, &purpose, &adapter_request)?;
    check_manifest(session, &answer, &plan.document);
    check_secrets(session, &answer, Occasion::Order);
    let again = session.generate(&format!("the same {purpose}"), &adapter_request);
    let generated = match again.answer() {
        Some(again) => compare_orders(session, &answer, &again),
        None => Vec::new(),
    };
    check_generated(session, &answer, &generated);
    let deployed = session.deploy(&answer, None);
    Some(Ordered {
        plan: plan.clone(),
        answer,
        deployed,
        generated,
    })
}

/// The answer to an order, on stdin or, where that is not understood, in arguments.
fn first_answer(
    session: &mut Session<'_>,
    purpose: &str,
    adapter_request: &AdapterRequest,
) -> Option<Generated> {
    let refused = match session.generate(purpose, adapter_request) {
        Outcome::Answered(answer) => return Some(answer),
        Outcome::Broken => return None,
        Outcome::Refused(refused) => refused,
    };
    if refused.code == ExitCode::NotImplemented {
        session.find(
            &calls::NO_MANIFEST,
            "",
            "it ends with exit code 10",
            Some(refused.id),
        );
        return None;
    }
    if session.asks_on_stdin() {
        let purpose = format!("{purpose}, in arguments");
        if let Some(answer) = session
            .generate_in_arguments(&purpose, adapter_request)
            .answer()
        {
            let words = session.rejection(&refused);
            let detail = format!("the same request succeeds in arguments; {words}");
            session.find_failure(&calls::STDIN_FORM, "", detail, refused.id);
            session.ask_in_arguments();
            return Some(answer);
        }
    }
    let detail = session.rejection(&refused);
    session.find_failure(&calls::PLAIN_ORDER_FAILS, purpose, detail, refused.id);
    None
}

/// Where two equal orders got different values. Anything else that differs is a finding.
fn compare_orders(session: &mut Session<'_>, one: &Generated, other: &Generated) -> Vec<Location> {
    let mut generated = Vec::new();
    for difference in manifest_differences(&one.manifest, &other.manifest) {
        match &difference.change {
            Change::Changed(from, to)
                if is_scalar(from) && is_scalar(to) && !difference.location.is_harmless() =>
            {
                session.learn_secret(from);
                session.learn_secret(to);
                generated.push(difference.location);
            }
            _ => {
                let about = difference.location.to_string();
                session.find(
                    &stability::UNSTABLE_ORDER,
                    about,
                    difference.to_string(),
                    Some(other.id),
                );
            }
        }
    }
    generated
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}
