//! The members of a service or a plan, each with what it must be.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value};

use super::problems::Problems;
use crate::cloud_controller::model::{Feature, MaintenanceInfo};

const DESCRIPTION_LIMIT: usize = 10_000;
const SCHEMA_LIMIT: usize = 65_536;
const MAINTENANCE_INFO_LIMIT: usize = 2_000;
const FEATURES: [(&str, Feature); 5] = [
    ("bindable", Feature::Bindable),
    ("plan_updateable", Feature::PlanUpdateable),
    ("instances_retrievable", Feature::InstancesRetrievable),
    ("bindings_retrievable", Feature::BindingsRetrievable),
    ("allow_context_updates", Feature::AllowContextUpdates),
];
const SCHEMAS: [(&str, &str); 3] = [
    ("service_instance", "create"),
    ("service_instance", "update"),
    ("service_binding", "create"),
];

/// Reads the members of one service or plan and notes what is wrong with them.
pub(super) struct Members<'a> {
    pub(super) object: &'a Map<String, Value>,
    pub(super) kind: &'static str,
    pub(super) problems: &'a mut Problems,
}

impl Members<'_> {
    fn given(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&mut self, key: &str, must: &str) {
        self.problems
            .say(format_args!("{} {key} {must}", self.kind));
    }

    pub(super) fn required_text(&mut self, key: &str) -> String {
        let text = match self.given(key) {
            None => Err("is required"),
            Some(Value::String(text)) if text.trim().is_empty() => Err("must not be blank"),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err("must be a string"),
        };
        text.unwrap_or_else(|must| {
            self.wrong(key, must);
            String::new()
        })
    }

    pub(super) fn description(&mut self) -> String {
        let description = self.required_text("description");
        if description.chars().count() > DESCRIPTION_LIMIT {
            self.wrong(
                "description",
                &format!("may not have more than {DESCRIPTION_LIMIT} characters"),
            );
        }
        description
    }

    pub(super) fn features(&mut self) -> BTreeSet<Feature> {
        if self.given("bindable").is_none() {
            self.wrong("bindable", "is required");
        }
        FEATURES
            .into_iter()
            .filter(|(key, _)| self.flag(key).unwrap_or_default())
            .map(|(_, feature)| feature)
            .collect()
    }

    pub(super) fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.given(key)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.wrong(key, "must be a boolean");
        }
        flag
    }

    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.given(key) else {
            return Vec::new();
        };
        let texts = value.as_array().and_then(|items| {
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
        });
        texts.unwrap_or_else(|| {
            self.wrong(key, "must be a list of strings");
            Vec::new()
        })
    }

    pub(super) fn object(&mut self, key: &str) -> Map<String, Value> {
        let Some(value) = self.given(key) else {
            return Map::new();
        };
        value.as_object().cloned().unwrap_or_else(|| {
            self.wrong(key, "must be an object");
            Map::new()
        })
    }

    pub(super) fn seconds(&mut self, key: &str) -> Option<Duration> {
        let value = self.given(key)?;
        let seconds = value.as_u64();
        if seconds.is_none() {
            self.wrong(key, "must be an integer");
        }
        seconds.map(Duration::from_secs)
    }

    pub(super) fn dashboard_client(&mut self) {
        let client = self.object("dashboard_client");
        if self.given("dashboard_client").is_some() {
            for key in ["id", "secret", "redirect_uri"] {
                if !client.get(key).is_some_and(Value::is_string) {
                    self.wrong(
                        &format!("dashboard client {key}"),
                        "is required and must be a string",
                    );
                }
            }
        }
    }

    pub(super) fn maintenance_info(&mut self) -> Option<MaintenanceInfo> {
        let info = self.given("maintenance_info")?.clone();
        let key = "maintenance_info";
        if info.to_string().len() > MAINTENANCE_INFO_LIMIT {
            self.wrong(
                key,
                &format!("must be {MAINTENANCE_INFO_LIMIT} characters or less as JSON"),
            );
        }
        let Value::Object(members) = &info else {
            self.wrong(key, "must be an object");
            return None;
        };
        for unknown in members
            .keys()
            .filter(|key| !["version", "description"].contains(&key.as_str()))
        {
            self.wrong(key, &format!("contains an invalid key: '{unknown}'"));
        }
        let version = members
            .get("version")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if semver::Version::parse(version).is_err() {
            self.wrong("maintenance_info version", "must be a semantic version");
        }
        let description = members
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned);
        Some(MaintenanceInfo {
            version: version.to_owned(),
            description,
        })
    }

    pub(super) fn schemas(&mut self) -> Value {
        let schemas = Value::Object(self.object("schemas"));
        for (kind, moment) in SCHEMAS {
            let Some(schema) = schemas.pointer(&format!("/{kind}/{moment}/parameters")) else {
                continue;
            };
            if !schema.is_object() {
                self.wrong(
                    &format!("schema {kind}.{moment}.parameters"),
                    "must be an object",
                );
            }
            if schema.to_string().len() > SCHEMA_LIMIT {
                self.wrong(
                    &format!("schema {kind}.{moment}.parameters"),
                    "must not be larger than 64KB",
                );
            }
            if has_external_reference(schema) {
                self.wrong(
                    &format!("schema {kind}.{moment}.parameters"),
                    "must not have external references",
                );
            }
        }
        schemas
    }
}

fn has_external_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| {
            let external = key == "$ref"
                && value
                    .as_str()
                    .is_some_and(|reference| !reference.starts_with('#'));
            external || has_external_reference(value)
        }),
        Value::Array(items) => items.iter().any(has_external_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
