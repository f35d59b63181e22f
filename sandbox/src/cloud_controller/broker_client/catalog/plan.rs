//! A plan of a catalog.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{CatalogPlan, errors::CatalogErrors, members::Members, schemas};
use crate::{cloud_controller::model::MaintenanceInfo, director::ruby::inspect};

const MAINTENANCE_INFO_LIMIT: usize = 2_000;
const MAINTENANCE_INFO_KEYS: [&str; 2] = ["version", "description"];

pub(super) fn read_plan(object: &Map<String, Value>, errors: &mut CatalogErrors) -> CatalogPlan {
    let mut found = CatalogErrors::default();
    let mut members = Members {
        object,
        errors: &mut found,
    };
    let plan = CatalogPlan {
        id: members.required_text("id", "Plan id"),
        name: members.required_text("name", "Plan name"),
        description: members.description("Plan description"),
        metadata: members
            .hash("metadata", "Plan metadata")
            .cloned()
            .unwrap_or_default(),
        free: members.flag("free", "Plan free").unwrap_or(true),
        bindable: members.flag("bindable", "Plan bindable"),
        updateable: members.flag("plan_updateable", "Plan updateable"),
        maximum_polling_duration: members
            .integer("maximum_polling_duration", "Maximum polling duration")
            .map(|seconds| Duration::from_secs(seconds.try_into().unwrap_or_default())),
        schemas: members
            .hash("schemas", "Plan schemas")
            .cloned()
            .map_or(Value::Null, Value::Object),
        maintenance_info: maintenance_info(&mut members),
    };
    if let Value::Object(given) = &plan.schemas {
        found.below("Schemas", schemas::errors(given));
    }
    let name = object.get("name").and_then(Value::as_str);
    errors.below(format!("Plan {}", name.unwrap_or_default()), found);
    plan
}

fn maintenance_info(members: &mut Members<'_>) -> Option<MaintenanceInfo> {
    let info = members.hash("maintenance_info", "Maintenance info")?;
    let mut of_info = Members {
        object: info,
        errors: &mut *members.errors,
    };
    let version = of_info.required_text("version", "Maintenance info version");
    if semver::Version::parse(&version).is_err() {
        let value = inspect(info.get("version").unwrap_or(&Value::Null));
        of_info.errors.say(format!(
            "Maintenance info version must be a Semantic Version, but has value {value}"
        ));
    }
    let description = of_info.given("description");
    if let Some(other) = description.filter(|description| !description.is_string()) {
        of_info.wrong("Maintenance info description", "a string", other);
    }
    let length = Value::Object(info.clone()).to_string().chars().count();
    if length > MAINTENANCE_INFO_LIMIT {
        of_info.errors.say(format!(
            "Maintenance info must serialize to {MAINTENANCE_INFO_LIMIT} characters or fewer in JSON, but serializes \
             to {length} characters"
        ));
    }
    let unknown: Vec<&str> = info
        .keys()
        .map(String::as_str)
        .filter(|key| !MAINTENANCE_INFO_KEYS.contains(key))
        .collect();
    if !unknown.is_empty() {
        of_info.errors.say(format!(
            "Maintenance info contains invalid key(s): {}",
            unknown.join(", ")
        ));
    }
    Some(MaintenanceInfo {
        version,
        description: description.and_then(Value::as_str).map(str::to_owned),
    })
}
