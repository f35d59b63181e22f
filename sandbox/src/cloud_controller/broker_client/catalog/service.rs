//! A service of a catalog.
//!
//! A plan of a catalog.
//!
//! The members of a service or a plan, each with what it must be.
//!
//! The errors of a catalog.

use std::{collections::BTreeSet, fmt, time::Duration};

use serde_json::{Map, Value};

use super::{CatalogPlan, CatalogService, schemas};
use crate::{
    cloud_controller::model::{Feature, MaintenanceInfo},
    director::ruby::inspect,
};

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

const DESCRIPTION_LIMIT: usize = 10_000;

/// Reads the members of one service or plan and notes what is wrong with them.
pub(super) struct Members<'a> {
    pub(super) object: &'a Map<String, Value>,
    pub(super) errors: &'a mut CatalogErrors,
}

impl<'a> Members<'a> {
    pub(super) fn given(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// `label` is the name of the member in an error.
    pub(super) fn required_text(&mut self, key: &str, label: &str) -> String {
        match self.given(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => return text.clone(),
            None | Some(Value::String(_)) => self.errors.say(format!("{label} is required")),
            Some(other) => self.wrong(label, "a string", other),
        }
        String::new()
    }

    pub(super) fn description(&mut self, label: &str) -> String {
        let description = self.required_text("description", label);
        if description.chars().count() > DESCRIPTION_LIMIT {
            self.errors.say(format!(
                "{label} may not have more than {DESCRIPTION_LIMIT} characters"
            ));
        }
        description
    }

    pub(super) fn required_flag(&mut self, key: &str, label: &str) -> bool {
        if self.given(key).is_none() {
            self.errors.say(format!("{label} is required"));
        }
        self.flag(key, label).unwrap_or_default()
    }

    pub(super) fn flag(&mut self, key: &str, label: &str) -> Option<bool> {
        let value = self.given(key)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.wrong(label, "a boolean", value);
        }
        flag
    }

    pub(super) fn integer(&mut self, key: &str, label: &str) -> Option<i64> {
        let value = self.given(key)?;
        let integer = value.as_i64();
        if integer.is_none() {
            self.wrong(label, "an integer", value);
        }
        integer
    }

    /// Absent is empty, `null` is wrong.
    pub(super) fn texts(&mut self, key: &str, label: &str) -> Vec<String> {
        let Some(value) = self.object.get(key) else {
            return Vec::new();
        };
        let texts = value.as_array().and_then(|items| {
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
        });
        texts.unwrap_or_else(|| {
            self.wrong(label, "an array of strings", value);
            Vec::new()
        })
    }

    pub(super) fn hash(&mut self, key: &str, label: &str) -> Option<&'a Map<String, Value>> {
        let value = self.given(key)?;
        let hash = value.as_object();
        if hash.is_none() {
            self.wrong(label, "a hash", value);
        }
        hash
    }

    pub(super) fn wrong(&mut self, label: &str, must_be: &str, value: &Value) {
        let value = inspect(value);
        self.errors
            .say(format!("{label} must be {must_be}, but has value {value}"));
    }
}

/// The errors of a catalog, a service, a plan or its schemas, with those of its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cloud_controller) struct CatalogErrors {
    found: Vec<String>,
    below: Vec<(String, CatalogErrors)>,
}

impl CatalogErrors {
    pub(super) fn are_none(&self) -> bool {
        self.found.is_empty() && self.below.is_empty()
    }

    pub(super) fn say(&mut self, error: impl Into<String>) {
        self.found.push(error.into());
    }

    pub(super) fn below(&mut self, heading: impl Into<String>, found: Self) {
        if !found.are_none() {
            self.below.push((heading.into(), found));
        }
    }

    /// Takes over what was found elsewhere on this level.
    pub(super) fn append(&mut self, mut other: Self) {
        self.found.append(&mut other.found);
        self.below.append(&mut other.below);
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = 2 * depth;
        for error in &self.found {
            writeln!(f, "{:indent$}{error}", "")?;
        }
        for (heading, below) in &self.below {
            writeln!(f, "{:indent$}{heading}", "")?;
            below.write(f, depth + 1)?;
        }
        Ok(())
    }
}

/// A line each, those below indented.
impl fmt::Display for CatalogErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}
