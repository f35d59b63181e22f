use serde_json::{Map, Value};

use crate::check::adapter_request::{AdapterRequest, Generate};
use crate::check::answers::Outcome;
use crate::check::manifest_rules::check_manifest;
use crate::check::probes::refused_parameters::check_user_text;
use crate::check::probes::stability::{Baseline, check_baseline};
use crate::check::report::Area;
use crate::check::rules::parameters;
use crate::check::secret_rules::{Occasion, check_secrets};
use crate::check::session::Session;
use crate::inputs::{NamedPlan, PlanChange, PlanChangeOutcome};

/// Moves instances from plan to plan.
pub(in crate::check) fn check_plan_changes(session: &mut Session<'_>) {
    let changes = &session.inputs.plan_changes;
    if changes.is_empty() {
        session.skip(Area::PlanChanges, "the inputs name no `plan_changes`");
        return;
    }
    session.begin(Area::PlanChanges);
    for change in changes {
        let plans = (
            session.inputs.plan(&change.from),
            session.inputs.plan(&change.to),
        );
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
    let order = AdapterRequest::generate(&Generate::order(
        session.inputs,
        from,
        &Map::new(),
        Value::Null,
    ));
    let Some(ordered) = session
        .generate(&format!("order before a {name}"), &order)
        .answer()
    else {
        return;
    };
    let deployed = session.deploy(&ordered, None);
    let adapter_request = AdapterRequest::generate(&Generate::update(
        session.inputs,
        to,
        from,
        &deployed,
        &Map::new(),
    ));
    match (session.generate(&name, &adapter_request), change.outcome) {
        (Outcome::Answered(answer), PlanChangeOutcome::Accepted) => {
            check_manifest(session, &answer, &to.document);
            check_secrets(session, &answer, Occasion::Deployed(&deployed));
            let deployed = session.deploy(&answer, Some(&deployed));
            check_baseline(
                session,
                &Baseline {
                    name: &format!("a {name}"),
                    plan: to,
                    deployed: &deployed,
                    generated: &[],
                    chosen: &[],
                    uaa_client: Value::Null,
                    entered: &[],
                },
            );
        }
        (Outcome::Answered(answer), PlanChangeOutcome::Refused) => {
            session.find(
                &parameters::PLAN_CHANGE,
                &name,
                "it is accepted",
                Some(answer.id),
            );
        }
        (Outcome::Refused(refused), PlanChangeOutcome::Accepted) => {
            let detail = session.rejection(&refused);
            session.find_failure(&parameters::PLAN_CHANGE, &name, detail, refused.id);
        }
        (Outcome::Refused(refused), PlanChangeOutcome::Refused) => {
            check_user_text(session, &refused, change.message.as_deref());
        }
        (Outcome::Broken, _) => {}
    }
}
