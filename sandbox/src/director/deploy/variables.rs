//! The variables that a manifest declares.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    links::{LinkedInstances, addresses_behind},
    manifest::VariableSpec,
    plan::Plan,
};
use crate::director::{
    audit::Deed,
    tasks::{TaskFailure, TaskRun},
    variables::{GenerationError, VariableRequest, absolute_name, check_declared},
};

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
