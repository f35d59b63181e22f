//! The service adapter at a start: the digest of its executable, and the parameter schemas of all plans.

pub(crate) mod executable;
pub(crate) mod trial;

use std::{path::Path, time::Duration};

use futures_util::future::join_all;
use odb_adapter_sdk::protocol::{ExitCode, GeneratePlanSchemas};
use odb_api_types::{code::Code, ids::PlanId};
use odb_config::{Adapter, Offering, Plan};
use odb_core::{
    finding::Finding,
    offering::{BrokenSchema, PlanSchemas, Schemas},
};
use odb_engine_bosh::adapter::{AdapterError, ExecutableDigest, ServiceAdapter, plan_for_adapter};
use odb_redaction::Chain;
use tokio::time::Instant;
use tracing::Instrument;

use crate::preflight::start::Checked;

const KEY: &str = "broker.enable_plan_schemas";
const ASK_THE_KIT: &str = "`odb-adapter check` finds errors of an adapter";

/// The digest of the adapter's executable, a part of each target. It is computed once, because a new adapter comes with a
/// new process. One that may be executed and not read is known by its path and length.
pub(crate) async fn digest(adapter: &Adapter) -> ExecutableDigest {
    let path = adapter.path.clone();
    // The task is never cancelled, and does not panic.
    let read = tokio::task::spawn_blocking(move || read(&path)).await;
    read.unwrap_or_else(|_| ExecutableDigest::of(&[]))
}

fn read(path: &Path) -> ExecutableDigest {
    ExecutableDigest::read(path).unwrap_or_else(|error| {
        tracing::warn!(
            code = %Code::AdapterStart,
            error = %Chain(&error),
            "the service adapter cannot be read: a new one of the same length will not count as something new to deploy"
        );
        by_length(path)
    })
}

fn by_length(path: &Path) -> ExecutableDigest {
    let length = path.metadata().map(|known| known.len()).unwrap_or_default();
    ExecutableDigest::of(format!("{} {length}", path.display()).as_bytes())
}

pub(crate) async fn schemas(
    settings: &Adapter,
    offering: &Offering,
    limit: Duration,
    adapter: &ServiceAdapter,
) -> Checked<Schemas> {
    if !settings.plan_schemas {
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
    let (mut repeated, mut findings): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| *finding == not_implemented());
    findings.extend(repeated.pop());
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
