//! Compares JSON documents: members, types, and the values that machines read.

use serde_json::Value;

use crate::{
    names::{Kind, Names},
    opaque::without_opaque,
};

/// Members of which only the type is compared, because they depend on the Director and the machine.
const LOOSE: [&str; 22] = [
    "timestamp",
    "started_at",
    "time",
    "timeout",
    "created_at",
    "orphaned_at",
    "vm_created_at",
    "cpi",
    "cid",
    "vm_cid",
    "disk_cid",
    "agent_id",
    "blobstore_id",
    "sha1",
    "commit_hash",
    "uncommitted_changes",
    "urls",
    "url",
    "vitals",
    "parent_id",
    "size",
    "uid",
];

/// A comparison of JSON documents.
pub(crate) struct Comparison<'a> {
    /// The path of the call.
    pub(crate) path: &'a str,
    pub(crate) names: &'a mut Names,
    /// The differences.
    pub(crate) found: &'a mut Vec<String>,
}

impl Comparison<'_> {
    /// Compares element by element.
    pub(crate) fn lists(&mut self, location: &str, theirs: &[Value], actual: &[Value]) {
        if theirs.len() != actual.len() {
            self.found.push(format!(
                "{location}: {} elements instead of {}: {}",
                actual.len(),
                theirs.len(),
                Value::Array(actual.to_vec())
            ));
            return;
        }
        for (index, (theirs, actual)) in theirs.iter().zip(actual).enumerate() {
            self.values(&format!("{location}[{index}]"), theirs, actual);
        }
    }

    fn values(&mut self, location: &str, theirs: &Value, actual: &Value) {
        let key = location.rsplit(['.', '[']).next().unwrap_or_default();
        let member = location.rsplit('.').next().unwrap_or_default();
        let member = member.split('[').next().unwrap_or_default();
        if let Some(kind) = self.kind(location, key) {
            self.ids(location, kind, theirs, actual);
            return;
        }
        match (theirs, actual) {
            _ if is_loose(location) => self.shapes(location, theirs, actual),
            (Value::Object(theirs), Value::Object(actual)) => {
                let keys = |map: &serde_json::Map<String, Value>| {
                    map.keys().cloned().collect::<Vec<_>>().join(", ")
                };
                if keys(theirs) != keys(actual) {
                    self.found.push(format!(
                        "{location}: members {} instead of {}",
                        keys(actual),
                        keys(theirs)
                    ));
                    return;
                }
                for (key, theirs) in theirs {
                    self.values(&format!("{location}.{key}"), theirs, &actual[key]);
                }
            }
            (Value::Array(theirs), Value::Array(actual)) if member == "processes" => {
                // The processes depend on the job; their form depends on the Director.
                if let (Some(theirs), Some(actual)) = (theirs.first(), actual.first()) {
                    self.shapes(location, theirs, actual);
                }
            }
            (Value::Array(theirs), Value::Array(actual)) => {
                let is_list_of_instances = theirs.iter().any(|one| one.get("job").is_some());
                let (mut theirs, mut actual) = (theirs.clone(), actual.clone());
                if is_list_of_instances {
                    (theirs, actual) = (by_instance(theirs), by_instance(actual));
                }
                if member == "deployments" {
                    theirs.sort_by_key(ToString::to_string);
                    actual.sort_by_key(ToString::to_string);
                }
                self.lists(location, &theirs, &actual);
            }
            // The name of a VM or disk, which a CPI gives as it likes.
            (Value::String(name), _) if key == "object_name" && !name.contains(['/', ':', '_']) => {
                self.shapes(location, theirs, actual);
            }
            (Value::String(theirs), Value::String(actual)) => {
                compare_texts(location, theirs, actual, self.names, self.found);
            }
            _ if theirs == actual => {}
            _ => self
                .found
                .push(format!("{location}: {actual} instead of {theirs}")),
        }
    }

    /// Whether both have the same type.
    fn shapes(&mut self, location: &str, theirs: &Value, actual: &Value) {
        match (theirs, actual) {
            (Value::Object(theirs), Value::Object(actual)) => {
                for (key, theirs) in theirs {
                    let actual = actual.get(key).unwrap_or(&Value::Null);
                    self.shapes(&format!("{location}.{key}"), theirs, actual);
                }
            }
            (Value::String(_), Value::String(_))
            | (Value::Number(_), Value::Number(_))
            | (Value::Bool(_), Value::Bool(_))
            | (Value::Array(_), Value::Array(_))
            | (Value::Null, Value::Null) => {}
            _ => self.found.push(format!(
                "{location}: {actual} has another type than {theirs}"
            )),
        }
    }

    fn ids(&mut self, location: &str, kind: Kind, theirs: &Value, actual: &Value) {
        if theirs.is_null() && actual.is_null() {
            return;
        }
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if theirs.is_string() != actual.is_string() {
            self.found.push(format!(
                "{location}: {actual} has another type than {theirs}"
            ));
            return;
        }
        match self.names.actual(kind, &text(theirs)) {
            Some(expected) if expected == text(actual) => {}
            Some(expected) => self
                .found
                .push(format!("{location}: id {actual} instead of {expected}")),
            None => self.names.learn(kind, &text(theirs), &text(actual)),
        }
    }

    /// The kind of id in a member of this answer, if it is one.
    fn kind(&self, location: &str, key: &str) -> Option<Kind> {
        let endpoint = self.path.trim_start_matches('/').split('/').next()?;
        match (endpoint, key) {
            ("tasks", "id") => {
                (!location.contains("instance") && self.is_task()).then_some(Kind::Task)
            }
            (_, "task_id") | ("events", "task") => Some(Kind::Task),
            ("configs", "id" | "latest_id" | "expected_latest_id") => Some(Kind::Config),
            ("links", "id") => Some(Kind::Link),
            ("link_providers", "id") | (_, "link_provider_id") => Some(Kind::Provider),
            ("link_consumers", "id") | (_, "link_consumer_id") => Some(Kind::Consumer),
            _ if location.contains("cloud_config_ids[") || location.ends_with("config.id") => {
                Some(Kind::Config)
            }
            _ => None,
        }
    }

    fn is_task(&self) -> bool {
        !self.path.ends_with("/output")
    }
}

/// Ids of audit records, stemcells and deployments are numbers of a database.
fn is_loose(location: &str) -> bool {
    let mut members = location
        .split(['.', '['])
        .filter(|part| !part.ends_with(']'));
    members.any(|part| LOOSE.contains(&part))
        || location.ends_with("].id")
        || location.contains("disk_cids[")
}

/// Compares texts without what differs from Director to Director.
pub(crate) fn compare_texts(
    location: &str,
    theirs: &str,
    actual: &str,
    names: &Names,
    found: &mut Vec<String>,
) {
    let expected = without_opaque(&names.in_text(theirs));
    let got = without_opaque(actual);
    if expected != got {
        found.push(format!("{location}: {got:?} instead of {expected:?}"));
    }
}

/// A database lists instances in any order.
pub(crate) fn by_instance(mut instances: Vec<Value>) -> Vec<Value> {
    instances.sort_by_key(|instance| {
        let group = instance.get("job").or_else(|| instance.get("job_name"));
        (
            group.and_then(Value::as_str).map(str::to_owned),
            instance["index"].as_u64(),
        )
    });
    instances
}
