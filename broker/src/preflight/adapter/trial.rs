//! A trial order of each plan, as far as the manifest. Nothing is deployed, and no upstream is called.

use futures_util::{StreamExt, stream};
use odb_api_types::code::Code;
use odb_config::{Config, Plan};
use odb_core::{
    finding::Finding,
    offering::{ParametersOf, Schemas},
};
use odb_engine_bosh::{Tried, adapter::ServiceAdapter, try_order};
use serde_json::Map;

use crate::preflight::{
    adapter,
    check::{Findings, in_one_clause},
};

/// Orders an instance of each plan without parameters, and notes why that would fail.
pub(crate) async fn look(config: &Config, adapter: &ServiceAdapter, findings: &mut Findings) {
    let plans = &config.offering.plans;
    let tried: Vec<Tried> = stream::iter(plans)
        .map(|plan| try_order(config, adapter, plan))
        .buffered(config.broker.timings.adapter_processes)
        .collect()
        .await;
    let mut errors = tried.iter().flat_map(|tried| &tried.errors);
    let schemas = if errors.any(|error| error.is_rejection) && config.adapter.plan_schemas {
        // Errors in the schemas are reported elsewhere.
        let limit = config.broker.timings.start_up;
        let schemas = adapter::schemas(&config.adapter, &config.offering, limit, adapter).await;
        schemas.unwrap_or_default()
    } else {
        Schemas::default()
    };
    for (index, (plan, tried)) in plans.iter().zip(tried).enumerate() {
        let key = format!("service_catalog.plans[{index}]");
        for error in tried.errors {
            if error.is_rejection && needs_parameters(&schemas, plan) {
                let text = "orders of plans that need parameters";
                if !findings.not_checked.contains(&text) {
                    findings.not_checked.push(text);
                }
                continue;
            }
            let finding = error.finding;
            let found = format!(
                "is plan `{}`, which cannot be ordered: {}",
                plan.name,
                in_one_clause(&finding)
            );
            let key = Some(key.clone().into());
            findings.add([Finding {
                key,
                found,
                ..finding
            }]);
        }
        for name in tried.ignored_groups {
            let mut groups = plan.instance_groups.iter();
            let group = groups.position(|group| group.name == name);
            let key = format!("{key}.instance_groups[{}].name", group.unwrap_or_default());
            let found = format!(
                "is `{name}`, and the adapter's manifest has no instance group of that name"
            );
            let remedy = "give the name that the adapter knows";
            let finding = Finding::error(Code::ConfigurationInvalid, key, found, remedy);
            findings.add([finding.warning()]);
        }
    }
}

/// Whether the broker itself would refuse an order without parameters.
fn needs_parameters(schemas: &Schemas, plan: &Plan) -> bool {
    let checked = schemas.check(&plan.id, ParametersOf::InstanceCreate, &Map::new());
    checked.is_err()
}
