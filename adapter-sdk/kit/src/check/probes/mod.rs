//! The parts of a check. Each part is a function that calls the adapter and checks the answers against the rules.
//!
//! | file | checks |
//! | --- | --- |
//! | `orders` | orders without parameters, and what must not change |
//! | `forms` | other forms of request, malformed input, other subcommands |
//! | `parameters` | what users choose |
//! | `bindings` | bindings and dashboards |
//! | `schemas` | plan schemas |

mod bindings;
mod forms;
mod orders;
mod parameters;
mod schemas;

pub(super) use orders::Ordered;

use super::session::Session;

pub(super) fn check_everything(session: &mut Session<'_>) {
    let ordered = orders::check_orders(session);
    forms::check_subcommands(session);
    let Some(first) = ordered.first() else {
        return;
    };
    orders::check_stability(session, &ordered);
    let schemas = schemas::check_schemas(session, &ordered);
    forms::check_forms(session, first);
    forms::check_malformed(session, first);
    parameters::check_parameters(session, &ordered);
    parameters::check_refused_parameters(session, &ordered, schemas.as_ref());
    parameters::check_plan_changes(session);
    bindings::check_bindings(session, &ordered);
    bindings::check_dashboard(session, first);
}

/// The instance that a case of the inputs is for: of the plan that it names, else of the first one.
fn of_plan<'o>(
    session: &Session<'_>,
    ordered: &'o [Ordered],
    plan: Option<&String>,
) -> Option<&'o Ordered> {
    let plan = plan.unwrap_or(&session.inputs.first_plan().name);
    ordered.iter().find(|ordered| ordered.plan.name == *plan)
}

fn called(kind: &str, name: Option<&String>, nth: usize) -> String {
    match name {
        Some(name) => format!("{kind} `{name}`"),
        None => format!("{kind} number {}", nth + 1),
    }
}
