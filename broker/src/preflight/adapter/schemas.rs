//! Requests the parameter schemas of all plans at the same time, once.

use std::time::Duration;

use futures_util::future::join_all;
use odb_adapter_sdk::protocol::{ExitCode, GeneratePlanSchemas};
use odb_api_types::{code::Code, ids::PlanId};
use odb_config::{Offering, Plan, PlanSchemaSupport};
use odb_core::{
    finding::Finding,
    offering::{BrokenSchema, PlanSchemas, Schemas},
};
use odb_engine_bosh::adapter::{AdapterError, ServiceAdapter, plan_for_adapter};
use tokio::time::Instant;
use tracing::Instrument;

use crate::preflight::start::Checked;

const KEY: &str = "broker.enable_plan_schemas";
const ASK_THE_KIT: &str = "`odb-adapter check` finds errors of an adapter";

/// The schemas of all plans; none where the operator has not switched them on.
pub(crate) async fn check(
    settings: &odb_config::Adapter,
    offering: &Offering,
    limit: Duration,
    adapter: &ServiceAdapter,
) -> Checked<Schemas> {
    if settings.plan_schemas == PlanSchemaSupport::Disabled {
        return Ok(Schemas::default());
    }
    let deadline = Instant::now() + limit;
    let answers = join_all(offering.plans.iter().map(|plan| {
        // The adapter's stderr is logged.
        let span = tracing::info_span!("plan_schemas", plan.name = %plan.name);
        of_plan(adapter, offering, plan, deadline).instrument(span)
    }));
    let (mut schemas, mut findings) = (Vec::new(), Vec::new());
    for answer in answers.await {
        match answer {
            Ok(of_plan) => schemas.push(of_plan),
            Err(of_plan) => findings.extend(of_plan),
        }
    }
    if findings.is_empty() {
        return Ok(Schemas::from_iter(schemas));
    }
    // An error of the adapter is not reported for each plan.
    let not_implemented = not_implemented();
    let count = findings.len();
    findings.retain(|finding| *finding != not_implemented);
    if findings.len() < count {
        findings.push(not_implemented);
    }
    Err(findings)
}

async fn of_plan(
    adapter: &ServiceAdapter,
    offering: &Offering,
    plan: &Plan,
    deadline: Instant,
) -> Checked<(PlanId, PlanSchemas)> {
    let request = GeneratePlanSchemas::new(plan_for_adapter(offering, plan));
    let answer = match adapter.plan_schemas(&request, deadline).await {
        Ok(answer) => answer,
        Err(AdapterError::Failed {
            code: ExitCode::NotImplemented,
            ..
        }) => return Err(not_implemented().into()),
        Err(error) => {
            let name = &plan.name;
            let found = format!("could not get the schemas of plan `{name}` (`{KEY}`)");
            return Err(finding(found, ASK_THE_KIT).because(&error).into());
        }
    };
    let broken = |error: BrokenSchema| {
        let name = &plan.name;
        let found = format!("the adapter's schemas of plan `{name}` cannot be used (`{KEY}`)");
        finding(found, ASK_THE_KIT).because(&error)
    };
    match PlanSchemas::new(answer) {
        Ok(schemas) => Ok((plan.id.clone(), schemas)),
        Err(errors) => Err(errors.into_iter().map(broken).collect()),
    }
}

fn not_implemented() -> Finding {
    let found = "`broker.enable_plan_schemas` is on but the adapter does not implement `generate-plan-schemas`";
    finding(found, "switch it off, or use an adapter that does")
}

fn finding(found: impl Into<String>, remedy: &str) -> Finding {
    Finding::error(Code::PlanSchemas, KEY, found, remedy)
}
