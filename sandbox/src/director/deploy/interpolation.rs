//! Properties: which of them a job sees, and the variables in them.
//!
//! The variables that a manifest declares.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    links::{LinkedInstances, addresses_behind},
    manifest::VariableSpec,
    plan::Plan,
};
use crate::{
    cpi::Job,
    director::{
        audit::Deed,
        tasks::{TaskFailure, TaskRun},
        variables::{GenerationError, VariableRequest, absolute_name, check_declared},
    },
};

/// The properties that a job declares, from the manifest or else by default. All others are left out.
pub(super) fn declared(job: &Job, given: &Map<String, Value>) -> Value {
    let mut seen = Map::new();
    for (path, property) in &job.properties {
        let value = at(given, path).or(property.default.as_ref());
        if let Some(value) = value {
            put(&mut seen, path, value.clone());
        }
    }
    Value::Object(seen)
}

pub(super) fn selected(properties: &Value, paths: &[String]) -> Value {
    let mut selection = Map::new();
    if let Value::Object(all) = properties {
        for path in paths {
            if let Some(value) = at(all, path) {
                put(&mut selection, path, value.clone());
            }
        }
    }
    Value::Object(selection)
}

/// Replaces every `((reference))` in a value by the result of `resolve`. All errors are reported, not only the first.
pub(super) fn interpolated<E>(
    value: &Value,
    resolve: &mut impl FnMut(&str) -> Result<Value, E>,
) -> Result<Value, Vec<E>> {
    match value {
        Value::String(text) => interpolated_text(text, resolve),
        Value::Array(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| interpolated(item, resolve))
                .collect();
            collected(items).map(Value::Array)
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| interpolated(value, resolve).map(|value| (key.clone(), value)));
            let members: Vec<_> = members.collect();
            collected::<_, _, Vec<_>>(members)
                .map(|members| Value::Object(members.into_iter().collect()))
        }
        other => Ok(other.clone()),
    }
}

/// A text that is one reference becomes the value that is meant; references within a text become part of it.
fn interpolated_text<E>(
    text: &str,
    resolve: &mut impl FnMut(&str) -> Result<Value, E>,
) -> Result<Value, Vec<E>> {
    let mut result = String::new();
    let mut errors = Vec::new();
    let mut rest = text;
    while let Some((before, name, after)) = next_reference(rest) {
        match resolve(name) {
            Ok(value) if before.is_empty() && result.is_empty() && after.is_empty() => {
                return Ok(value);
            }
            Ok(Value::String(value)) => result.extend([before, &value]),
            Ok(value) => result.extend([before, &value.to_string()]),
            Err(error) => errors.push(error),
        }
        rest = after;
    }
    result.push_str(rest);
    if errors.is_empty() {
        Ok(Value::String(result))
    } else {
        Err(errors)
    }
}

/// The first `((name))` or `((!name))` of a text, with what is before and after it.
fn next_reference(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("((")?;
    let (name, after) = rest.split_once("))")?;
    Some((before, name.strip_prefix('!').unwrap_or(name), after))
}

fn collected<T, E, C: FromIterator<T>>(results: Vec<Result<T, Vec<E>>>) -> Result<C, Vec<E>> {
    let mut errors = Vec::new();
    let values: Vec<T> = results
        .into_iter()
        .filter_map(|result| result.map_err(|more| errors.extend(more)).ok())
        .collect();
    if errors.is_empty() {
        Ok(values.into_iter().collect())
    } else {
        Err(errors)
    }
}

fn at<'a>(properties: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let value = match path.split_once('.') {
        None => properties.get(path),
        Some((first, rest)) => at(properties.get(first)?.as_object()?, rest),
    };
    value.filter(|value| !value.is_null())
}

fn put(into: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        into.insert(path.to_owned(), value);
        return;
    };
    let below = into
        .entry(first)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(below) = below {
        put(below, rest, value);
    }
}

/// Makes sure that every declared variable has a value, in the order of the manifest: authorities come first there.
pub(super) async fn generate(
    run: &TaskRun,
    plan: &Plan,
    instances: &LinkedInstances,
) -> Result<BTreeMap<String, Uuid>, TaskFailure> {
    let director = &run.director.inner;
    let absolute =
        |name: &str| absolute_name(name, &director.settings.name, run.deployment.as_ref());
    let row = director.deployments.find(run.deployment.as_ref());
    let known = row.map(|row| row.variables.clone()).unwrap_or_default();
    let mut declared = BTreeMap::new();
    for variable in &plan.variables {
        check_declared(&variable.name).map_err(TaskFailure::VariableName)?;
        let mut options = variable.options.clone();
        if let Some(Value::String(ca)) = options.get_mut("ca") {
            *ca = absolute(ca);
        }
        add_addresses(variable, &mut options, plan, instances);
        let name = absolute(&variable.name);
        let request = VariableRequest {
            name: name.clone(),
            kind: variable.kind.clone(),
            options,
            mode: variable.mode,
        };
        let id = director.variables.ensure(request).await;
        let id = id.map_err(|error| failure(&name, &variable.kind, error))?;
        if known.get(&name) != Some(&id) {
            run.record(
                Deed::new("create", "variable")
                    .named(&name)
                    .with(json!({"name": name, "id": id})),
            );
        }
        declared.insert(name, id);
    }
    Ok(declared)
}

/// Adds a variable's values from links to its options. There is no DNS here, so addresses replace names.
fn add_addresses(
    variable: &VariableSpec,
    options: &mut Map<String, Value>,
    plan: &Plan,
    instances: &LinkedInstances,
) {
    for (what, provider) in &variable.consumes {
        let addresses = addresses_behind(provider, plan, instances).unwrap_or_default();
        match what.as_str() {
            "alternative_name" => {
                let names = options
                    .entry("alternative_names")
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(names) = names {
                    names.extend(addresses.into_iter().map(Value::String));
                }
            }
            "common_name" if !options.contains_key("common_name") => {
                if let Some(address) = addresses.into_iter().next() {
                    options.insert("common_name".to_owned(), Value::String(address));
                }
            }
            _ => {}
        }
    }
}

fn failure(name: &str, kind: &str, error: GenerationError) -> TaskFailure {
    match error {
        GenerationError::Refused { code, error } => TaskFailure::VariableGeneration {
            name: name.to_owned(),
            kind: kind.to_owned(),
            code,
            error,
        },
        GenerationError::Off => TaskFailure::ConfigServerOff,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve(name: &str) -> Result<Value, String> {
        match name {
            "pw" => Ok(json!("secret")),
            "port" => Ok(json!(6379)),
            other => Err(format!("no {other}")),
        }
    }

    #[test]
    fn a_reference_keeps_its_type_alone_and_becomes_text_within_text() {
        let value = json!({"a": "((pw))", "b": ["((!port))", "x((pw))-((port))"], "c": 1, "d": "(( no reference"});
        assert_eq!(
            interpolated(&value, &mut resolve).unwrap(),
            json!({"a": "secret", "b": [6379, "xsecret-6379"], "c": 1, "d": "(( no reference"})
        );
    }

    #[test]
    fn every_reference_that_cannot_be_resolved_is_reported() {
        let value = json!({"a": "((one))", "b": ["((pw))", "((two))"]});
        assert_eq!(
            interpolated(&value, &mut resolve).unwrap_err(),
            ["no one", "no two"]
        );
    }

    #[test]
    fn only_selected_paths_are_shared() {
        let properties = json!({"redis": {"password": "p", "port": 1}, "other": 2});
        assert_eq!(
            selected(
                &properties,
                &["redis.password".to_owned(), "absent".to_owned()]
            ),
            json!({"redis": {"password": "p"}})
        );
    }
}
