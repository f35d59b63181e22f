//! The catalog as platforms read it (`spec/contracts/broker-behaviour.md` §3.2, `spec/contracts/osb-api.md` §2).

use odb_api_types::ids::{OfferingId, PlanId};
use odb_config::{MaintenanceInfo, Offering, Plan, PlanVersion};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use super::plan_schemas::Schemas;

/// The catalog has no such thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// No such service.
    #[error("service-id `{service}` is not in the catalog")]
    UnknownService {
        /// The requested service.
        service: OfferingId,
    },
    /// No such plan.
    #[error("plan-id `{plan}` is not in the catalog")]
    UnknownPlan {
        /// The requested plan.
        plan: PlanId,
    },
}

/// The complete catalog.
pub fn catalog(offering: &Offering, schemas: &Schemas, instances_retrievable: bool) -> Value {
    let mut service = Map::new();
    let mut set = |key: &str, value: Value| service.insert(key.to_owned(), value);
    set("id", json!(offering.id));
    set("name", json!(offering.name));
    set("description", json!(offering.description));
    set("bindable", json!(offering.bindable));
    set("plan_updateable", json!(offering.plan_updatable));
    if instances_retrievable {
        set("instances_retrievable", json!(true));
    }
    if offering.bindings_retrievable {
        set("bindings_retrievable", json!(true));
    }
    if !offering.tags.is_empty() {
        set("tags", json!(offering.tags));
    }
    if !offering.requires.is_empty() {
        set("requires", json!(offering.requires));
    }
    set("metadata", Value::Object(offering.metadata.clone()));
    if let Some(client) = &offering.dashboard_client {
        let secret = client.secret.expose_secret();
        set(
            "dashboard_client",
            json!({ "id": client.id, "secret": secret, "redirect_uri": client.redirect_uri }),
        );
    }
    let plans = offering.plans.iter().map(|entry| plan(entry, schemas));
    set("plans", plans.collect());
    json!({ "services": [service] })
}

fn plan(plan: &Plan, schemas: &Schemas) -> Value {
    let mut entry = Map::new();
    let mut set = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    set("id", json!(plan.id));
    set("name", json!(plan.name));
    set("description", json!(plan.description));
    if let Some(free) = plan.free {
        set("free", json!(free));
    }
    if let Some(bindable) = plan.bindable {
        set("bindable", json!(bindable));
    }
    set("metadata", Value::Object(plan.metadata.clone()));
    if let Some(schemas) = schemas.in_catalog(&plan.id) {
        set("schemas", schemas);
    }
    if let Some(info) = maintenance_info(&plan.maintenance_info) {
        set("maintenance_info", info);
    }
    Value::Object(entry)
}

/// Platforms refuse a catalog with any other key in it.
fn maintenance_info(info: &MaintenanceInfo) -> Option<Value> {
    let version = PlanVersion::of(info)?;
    let mut emitted = Map::new();
    emitted.insert("version".to_owned(), json!(version.as_str()));
    if let Some(description) = &info.description {
        emitted.insert("description".to_owned(), json!(description));
    }
    Some(Value::Object(emitted))
}
