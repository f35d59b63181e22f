//! A service of a catalog.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    CatalogPlan, CatalogService, errors::CatalogErrors, members::Members, plan::read_plan,
};
use crate::{cloud_controller::model::Feature, director::ruby::inspect};

const TAGS_LIMIT: usize = 2_048;
const PERMISSIONS: [&str; 3] = ["syslog_drain", "route_forwarding", "volume_mount"];
const OPTIONAL_FEATURES: [(&str, Feature); 4] = [
    ("plan_updateable", Feature::PlanUpdateable),
    ("bindings_retrievable", Feature::BindingsRetrievable),
    ("instances_retrievable", Feature::InstancesRetrievable),
    ("allow_context_updates", Feature::AllowContextUpdates),
];

pub(super) fn read_service(
    object: &Map<String, Value>,
    errors: &mut CatalogErrors,
) -> CatalogService {
    let mut found = CatalogErrors::default();
    let mut members = Members {
        object,
        errors: &mut found,
    };
    let mut service = CatalogService {
        id: members.required_text("id", "Service id"),
        name: members.required_text("name", "Service name"),
        description: members.description("Service description"),
        features: features(&mut members),
        tags: members.texts("tags", "Service tags"),
        requires: members.texts("requires", "Service \"requires\" field"),
        metadata: metadata(&mut members),
        dashboard_client: dashboard_client(&mut members),
        plans: Vec::new(),
    };
    if service.tags.concat().chars().count() > TAGS_LIMIT {
        found.say(format!(
            "Tags for the service {} must be {TAGS_LIMIT} characters or less.",
            service.name
        ));
    }
    for unknown in &service.requires {
        if !PERMISSIONS.contains(&unknown.as_str()) {
            found.say(format!(
                "Service \"requires\" field contains unsupported value \"{unknown}\""
            ));
        }
    }
    service.plans = plans(object, &service.name, &mut found);
    let name = object.get("name").and_then(Value::as_str);
    errors.below(format!("Service {}", name.unwrap_or_default()), found);
    service
}

fn features(members: &mut Members<'_>) -> BTreeSet<Feature> {
    let bindable = members.required_flag("bindable", "Service \"bindable\" field");
    let bindable = bindable.then_some(Feature::Bindable);
    let optional = OPTIONAL_FEATURES.into_iter().filter_map(|(key, feature)| {
        let flag = members.flag(key, &format!("Service \"{key}\" field"));
        flag.unwrap_or_default().then_some(feature)
    });
    bindable.into_iter().chain(optional).collect()
}

fn metadata(members: &mut Members<'_>) -> Map<String, Value> {
    let Some(metadata) = members.hash("metadata", "Service metadata") else {
        return Map::new();
    };
    let mut shareable = Members {
        object: metadata,
        errors: &mut *members.errors,
    };
    shareable.flag("shareable", "Service metadata shareable");
    metadata.clone()
}

/// The id of the client that the broker's dashboard wants to have at the UAA.
fn dashboard_client(members: &mut Members<'_>) -> Option<String> {
    let client = members.hash("dashboard_client", "Service dashboard client attributes")?;
    let mut of_client = Members {
        object: client,
        errors: &mut *members.errors,
    };
    let id = of_client.required_text("id", "Service dashboard client id");
    of_client.required_text("secret", "Service dashboard client secret");
    of_client.required_text("redirect_uri", "Service dashboard client redirect_uri");
    Some(id)
}

/// Checks the plans together only if each of them is valid.
fn plans(
    service: &Map<String, Value>,
    service_name: &str,
    errors: &mut CatalogErrors,
) -> Vec<CatalogPlan> {
    let plans = match service.get("plans") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(Value::as_object).collect(),
        Some(_) => None,
    };
    let Some(plans) = plans else {
        let value = inspect(service.get("plans").unwrap_or(&Value::Null));
        errors.say(format!(
            "Service plans list must be an array of hashes, but has value {value}"
        ));
        return Vec::new();
    };
    if plans.is_empty() {
        errors.say("At least one plan is required");
    }
    let plans: Vec<_> = plans
        .into_iter()
        .map(|plan| read_plan(plan, errors))
        .collect();
    for id in repeated(plans.iter().map(|plan| &plan.id)) {
        errors.say(format!(
            "Plan ids must be unique. Service {service_name} already has a plan with id '{id}'"
        ));
    }
    for name in repeated(plans.iter().map(|plan| &plan.name)) {
        errors.say(format!(
            "Plan names must be unique within a service. Service {service_name} already has a plan named {name}"
        ));
    }
    plans
}

/// The values that are there more than once, each of them once.
pub(super) fn repeated<'a>(values: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut seen = BTreeSet::new();
    let mut repeated = Vec::new();
    for value in values.filter(|value| !value.is_empty()) {
        if !seen.insert(value) && !repeated.contains(&value) {
            repeated.push(value);
        }
    }
    repeated
}
