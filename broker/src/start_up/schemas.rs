//! Asks the adapter what parameters each plan takes, once and for all plans at a time.

use std::time::Duration;

use futures_util::future::join_all;
use odb_adapter_sdk::protocol::{ExitCode, GeneratePlanSchemas};
use odb_api_types::ids::PlanId;
use tokio::time::Instant;
use tracing::Instrument;

use super::{Checked, StartUpFault};
use crate::{
    adapter::{AdapterFault, ServiceAdapter, plan_for_adapter},
    config::{self, Offering, Plan, PlanSchemaSupport},
    offering::{BrokenSchema, PlanSchemas, Schemas},
};

/// Why there are no schemas of a plan.
#[derive(Debug, thiserror::Error)]
pub enum SchemasFault {
    /// The adapter knows nothing of schemas.
    #[error(
        "`broker.enable_plan_schemas` is on but the adapter does not implement `generate-plan-schemas`; switch it off, or use \
         an adapter that does"
    )]
    NotImplemented,
    /// The adapter did not answer.
    #[error(
        "could not get the schemas of plan `{plan}` (`broker.enable_plan_schemas`); `odb-adapter check` says what is wrong with \
         an adapter"
    )]
    NoAnswer {
        /// The plan's name.
        plan: String,
        /// Why.
        #[source]
        source: AdapterFault,
    },
    /// One of them is none.
    #[error(
        "the adapter's schemas of plan `{plan}` cannot be used (`broker.enable_plan_schemas`); `odb-adapter check` says what is \
         wrong with an adapter"
    )]
    Broken {
        /// The plan's name.
        plan: String,
        /// Which of them, and why.
        #[source]
        source: BrokenSchema,
    },
}

/// The schemas of all plans; none where the operator has not switched them on.
pub(crate) async fn check(
    settings: &config::Adapter,
    offering: &Offering,
    limit: Duration,
    adapter: &ServiceAdapter,
) -> Checked<Schemas> {
    if settings.plan_schemas == PlanSchemaSupport::Disabled {
        return Ok(Schemas::default());
    }
    let deadline = Instant::now() + limit;
    let answers = join_all(offering.plans.iter().map(|plan| {
        // The log has what the adapter says on the way.
        let span = tracing::info_span!("plan_schemas", plan.name = %plan.name);
        of_plan(adapter, offering, plan, deadline).instrument(span)
    }));
    let (mut schemas, mut faults) = (Vec::new(), Vec::new());
    for answer in answers.await {
        match answer {
            Ok(of_plan) => schemas.push(of_plan),
            Err(of_plan) => faults.extend(of_plan),
        }
    }
    if faults.is_empty() {
        return Ok(Schemas::from_iter(schemas));
    }
    // What holds for the adapter need not be said of every plan.
    let (unknown, mut faults): (Vec<_>, Vec<_>) = faults
        .into_iter()
        .partition(|fault| matches!(fault, SchemasFault::NotImplemented));
    faults.extend(unknown.into_iter().take(1));
    Err(faults.into_iter().map(StartUpFault::from).collect())
}

async fn of_plan(
    adapter: &ServiceAdapter,
    offering: &Offering,
    plan: &Plan,
    deadline: Instant,
) -> Result<(PlanId, PlanSchemas), Vec<SchemasFault>> {
    let request = GeneratePlanSchemas::new(plan_for_adapter(offering, plan));
    let name = || plan.name.clone();
    let answer = match adapter.plan_schemas(&request, deadline).await {
        Ok(answer) => answer,
        Err(AdapterFault::Failed {
            code: ExitCode::NotImplemented,
            ..
        }) => return Err(vec![SchemasFault::NotImplemented]),
        Err(source) => {
            let plan = name();
            return Err(vec![SchemasFault::NoAnswer { plan, source }]);
        }
    };
    let broken = |source| SchemasFault::Broken {
        plan: name(),
        source,
    };
    match PlanSchemas::new(answer) {
        Ok(schemas) => Ok((plan.id.clone(), schemas)),
        Err(faults) => Err(faults.into_iter().map(broken).collect()),
    }
}
