//! A plan as adapters get to see it.

use odb_adapter_sdk::protocol;
use odb_config::{Offering, Plan};

/// The plan without its name, id, quotas and metadata, with the properties of all plans under its own
/// (`spec/contracts/adapter-protocol.md` §2.2).
pub fn plan_for_adapter(offering: &Offering, plan: &Plan) -> protocol::Plan {
    let mut seen = protocol::Plan::new(plan.instance_groups.clone());
    seen.properties = offering.properties(plan);
    seen.lifecycle_errands.clone_from(&plan.lifecycle_errands);
    seen.update.clone_from(&plan.update);
    seen
}
