//! The catalog as platforms read it (`spec/contracts/broker-behaviour.md` §3.2, `spec/contracts/osb-api.md` §2).

use odb_api_types::ids::{OfferingId, PlanId};
use odb_config::{MaintenanceConflict, MaintenanceInfo, Offering, Plan, PlanVersion};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::schemas::Schemas;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    #[error("service-id `{service}` is not in the catalog")]
    UnknownService { service: OfferingId },
    #[error("plan-id `{plan}` is not in the catalog")]
    UnknownPlan { plan: PlanId },
    #[error(transparent)]
    Maintenance(#[from] MaintenanceConflict),
    #[error(
        "neither `plan_id` nor `previous_values.plan_id` is given, and the plan of the instance is not recorded"
    )]
    NoPlan,
    #[error("the plan of a service instance of this offering cannot be changed")]
    PlanNotUpdatable,
    /// The instance is older than its plan; another change would hide the pending ones.
    #[error(
        "the instance is at version `{recorded}` and its plan at `{published}`; it needs to be upgraded before updating"
    )]
    UpgradeFirst {
        recorded: String,
        published: PlanVersion,
    },
}

pub fn catalog(offering: &Offering, schemas: &Schemas, instances_retrievable: bool) -> Value {
    let client = offering.dashboard_client.as_ref().map(|client| {
        let secret = client.secret.expose_secret();
        json!({ "id": client.id, "secret": secret, "redirect_uri": client.redirect_uri })
    });
    let plans = offering.plans.iter().map(|entry| plan(entry, schemas));
    let service = without_nulls(json!({
        "id": offering.id,
        "name": offering.name,
        "description": offering.description,
        "bindable": offering.bindable,
        "plan_updateable": offering.plan_updatable,
        "instances_retrievable": instances_retrievable.then_some(true),
        "bindings_retrievable": offering.bindings_retrievable.then_some(true),
        "tags": Some(&offering.tags).filter(|tags| !tags.is_empty()),
        "requires": Some(&offering.requires).filter(|requires| !requires.is_empty()),
        "metadata": offering.metadata,
        "dashboard_client": client,
        "plans": plans.collect::<Value>(),
    }));
    json!({ "services": [service] })
}

fn plan(plan: &Plan, schemas: &Schemas) -> Value {
    without_nulls(json!({
        "id": plan.id,
        "name": plan.name,
        "description": plan.description,
        "free": plan.free,
        "bindable": plan.bindable,
        "metadata": plan.metadata,
        "schemas": schemas.in_catalog(&plan.id),
        "maintenance_info": maintenance_info(&plan.maintenance_info),
    }))
}

/// Platforms refuse a catalog with any other key in it.
fn maintenance_info(info: &MaintenanceInfo) -> Option<Value> {
    let version = PlanVersion::of(info)?;
    Some(without_nulls(json!({
        "version": version.as_str(),
        "description": info.description,
    })))
}

fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null());
    }
    object
}
