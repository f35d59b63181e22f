//! The files of `schemas/`, and whether values of `adapter.yml` go with them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, bail, ensure};
use odb_adapter_sdk::json;
use odb_adapter_sdk::parameters::Draft4Schema;
use serde_json::{Map, Value, json};

use super::description::{Description, KeptValue};
use super::{DESCRIPTION, unreadable};
use crate::near::NearNames;
use crate::template::Shape;

/// The only dialect that the broker takes (`spec/contracts/adapter-protocol.md`, "Plan schemas").
const DIALECT: &str = "http://json-schema.org/draft-04/schema#";

const PLAN_PROPERTIES: &str = "plan-properties.json";
const CREATE: &str = "create.json";
const UPDATE: &str = "update.json";
const NAMES: [&str; 4] = [PLAN_PROPERTIES, CREATE, UPDATE, "bind.json"];

pub(crate) struct Schemas {
    /// Without the file anything is valid.
    pub(crate) plan_properties: Option<Draft4Schema>,
    /// Parameters of a create; without the file there are none.
    pub(crate) create: Draft4Schema,
    /// When they update one.
    pub(crate) update: Draft4Schema,
    /// When they bind one.
    pub(crate) bind: Draft4Schema,
    has_update: bool,
    /// Whether there is any schema for users.
    pub(crate) is_for_users: bool,
}

impl Schemas {
    pub(super) fn load(adapter: &Path) -> anyhow::Result<Self> {
        let folder = adapter.join("schemas");
        if let Some(path) = misplaced(adapter, &folder).with_context(unreadable(adapter))? {
            bail!(
                "`{}` is not read: schemas are read from `{}`",
                path.display(),
                folder.display()
            );
        }
        if folder.exists() {
            for entry in fs::read_dir(&folder).with_context(unreadable(&folder))? {
                let path = entry.with_context(unreadable(&folder))?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_json = path.extension().is_some_and(|end| end == "json");
                if is_json && !name.starts_with('.') && !NAMES.contains(&&*name) {
                    let near = NearNames::to(&name, NAMES);
                    bail!("`{}` is not a known schema; {near}", path.display());
                }
            }
        }
        let read_file = |name: &str| -> anyhow::Result<Option<Draft4Schema>> {
            let path = folder.join(name);
            let text = match fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                outcome => outcome.with_context(unreadable(&path))?,
            };
            read(&path.display().to_string(), &text).map(Some)
        };
        let [plan_properties, create, update, bind] = NAMES.map(read_file);
        let (create, update, bind) = (create?, update?, bind?);
        Ok(Self {
            plan_properties: plan_properties?,
            has_update: update.is_some(),
            is_for_users: create.is_some() || update.is_some() || bind.is_some(),
            create: create.unwrap_or_else(of_nothing),
            update: update.unwrap_or_else(of_nothing),
            bind: bind.unwrap_or_else(of_nothing),
        })
    }

    /// Checks that users can send the parameters that values come from, and that the schemas accept the defaults.
    pub(super) fn check_values(&self, description: &Description) -> anyhow::Result<()> {
        for (name, value) in &description.values {
            self.check_parameter(name, value)?;
            self.check_default(name, value)?;
        }
        Ok(())
    }

    fn check_parameter(&self, name: &str, value: &KeptValue) -> anyhow::Result<()> {
        let Some(parameter) = &value.parameter else {
            return Ok(());
        };
        let is_updated = self.has_update && value.may_change;
        let update = is_updated.then_some((UPDATE, &self.update));
        for (file, schema) in [(CREATE, &self.create)].into_iter().chain(update) {
            if let Shape::Closed(names) = shape(schema)
                && !names.contains_key(parameter)
            {
                let near = NearNames::to(parameter, names.keys());
                bail!(
                    "{DESCRIPTION}: `values.{name}.parameter`: `{parameter}` is not in `schemas/{file}`; {near}"
                );
            }
        }
        Ok(())
    }

    fn check_default(&self, name: &str, value: &KeptValue) -> anyhow::Result<()> {
        let Some(default) = &value.default else {
            return Ok(());
        };
        let (plan_properties, property) = (self.plan_properties.as_ref(), &value.plan_property);
        for (file, schema, member) in [
            (CREATE, Some(&self.create), &value.parameter),
            (PLAN_PROPERTIES, plan_properties, property),
        ] {
            if let (Some(schema), Some(member)) = (schema, member) {
                ensure!(
                    takes_member(schema, member, default),
                    "{DESCRIPTION}: `values.{name}.default` does not fit `{member}` of `schemas/{file}`"
                );
            }
        }
        Ok(())
    }
}

fn read(name: &str, text: &str) -> anyhow::Result<Draft4Schema> {
    let mut document: Value =
        json::from_str(text).with_context(|| format!("the schema of `{name}` is not JSON"))?;
    if let Value::Object(members) = &mut document {
        members.entry("$schema").or_insert_with(|| DIALECT.into());
    }
    Ok(Draft4Schema::new(name, document)?)
}

/// The schema that lets no parameter through.
fn of_nothing() -> Draft4Schema {
    let document = json!({"$schema": DIALECT, "type": "object", "properties": {}, "additionalProperties": false});
    Draft4Schema::new("no parameters", document).expect("this is a schema")
}

/// The names that are known before there is a value.
pub(super) fn shape(schema: &Draft4Schema) -> Shape {
    let document = schema.document();
    match (
        document.get("properties"),
        document.get("additionalProperties"),
    ) {
        (Some(Value::Object(properties)), Some(Value::Bool(false))) => {
            Shape::of_names(properties.keys())
        }
        _ => Shape::Open,
    }
}

/// Whether the schema accepts this value for one member, regardless of the other members.
fn takes_member(schema: &Draft4Schema, name: &str, value: &Value) -> bool {
    let parts = ["$schema", "definitions", "properties"];
    let alone = parts
        .into_iter()
        .filter_map(|part| Some((part.to_owned(), schema.document().get(part)?.clone())))
        .collect();
    let member = Map::from_iter([(name.to_owned(), value.clone())]);
    // A schema with references to other parts of the document cannot be used alone.
    Draft4Schema::new(name, Value::Object(alone))
        .map_or(true, |schema| schema.check_parameters(&member).is_ok())
}

/// A file named like a schema that `schemas/` does not have, beside it or in another folder.
fn misplaced(adapter: &Path, schemas: &Path) -> io::Result<Option<PathBuf>> {
    let mut folders = vec![adapter.to_owned()];
    for entry in fs::read_dir(adapter)? {
        let path = entry?.path();
        if path.is_dir() && path != schemas {
            folders.push(path);
        }
    }
    let missing = NAMES
        .into_iter()
        .filter(|name| !schemas.join(name).exists());
    let mut paths = missing.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    Ok(paths.find(|path| path.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_of_draft_4_are_taken() {
        let read = |text| read("create.json", text);
        assert!(read(r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#).is_err());
        assert!(read(r#"{"type": "hunter2"}"#).is_err());
        assert!(read("[]").is_err());
        assert_eq!(read("{}").unwrap().document()["$schema"], DIALECT);
    }
}
