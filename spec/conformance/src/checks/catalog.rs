//! C: the catalog.

use std::collections::BTreeSet;

use semver::Version;
use serde_json::Value;

use super::Checks;
use crate::{Checked, Objection, Session, client::Ask, result::applies};

/// The largest schema that platforms accept, in bytes.
const LARGEST_SCHEMA: usize = 65_536;

/// The longest name that platforms show or store.
const LONGEST_NAME: usize = 255;

pub(super) const CHECKS: Checks = &[
    ("G-16", |s| Box::pin(short_names(s))),
    ("C-01", |s| Box::pin(required_members(s))),
    ("C-02", |s| Box::pin(stable_ids(s))),
    ("C-03", |s| Box::pin(schemas(s))),
    ("C-04", |s| Box::pin(etag(s))),
    ("C-05", |s| Box::pin(maintenance_info(s))),
    ("C-06", |s| Box::pin(sound(s))),
    ("C-07", |s| Box::pin(optional_members(s))),
];

async fn short_names(session: &Session) -> Checked {
    let catalog = session.catalog().await?;
    for (location, entry) in services(catalog).chain(plans(catalog)) {
        for member in ["id", "name"] {
            let length = entry[member]
                .as_str()
                .map_or(0, |text| text.chars().count());
            holds(length <= LONGEST_NAME, || {
                format!("{location}/{member} has {length} characters")
            })?;
        }
    }
    Ok(())
}

async fn required_members(session: &Session) -> Checked {
    let answer = session.client.send(Ask::catalog()).await?;
    answer.expect(&[200])?;
    let catalog = answer.json()?;
    holds(catalog["services"].is_array(), || {
        "`services` should be a list".to_owned()
    })?;
    for (location, entry) in services(&catalog).chain(plans(&catalog)) {
        for member in ["id", "name", "description"] {
            let is_there = entry[member].as_str().is_some_and(|text| !text.is_empty());
            holds(is_there, || {
                format!("{location}/{member} should be a text that is not empty")
            })?;
        }
    }
    for (location, service) in services(&catalog) {
        holds(service["bindable"].is_boolean(), || {
            format!("{location}/bindable should be true or false")
        })?;
        let has_plans = service["plans"]
            .as_array()
            .is_some_and(|plans| !plans.is_empty());
        holds(has_plans, || {
            format!("{location}/plans should have at least one plan")
        })?;
    }
    Ok(())
}

async fn stable_ids(session: &Session) -> Checked {
    let first = session.catalog().await?;
    let answer = session.client.send(Ask::catalog()).await?;
    answer.expect(&[200])?;
    let second = answer.json()?;
    let ids = |catalog: &Value| -> BTreeSet<String> {
        services(catalog)
            .chain(plans(catalog))
            .map(|(_, entry)| entry["id"].to_string())
            .collect()
    };
    holds(ids(first) == ids(&second), || {
        "two readings should have the same ids".to_owned()
    })
}

async fn schemas(session: &Session) -> Checked {
    let catalog = session.catalog().await?;
    let schemas = parameter_schemas(catalog);
    applies(!schemas.is_empty(), "no plan has schemas")?;
    for (location, schema) in schemas {
        holds(schema["$schema"].is_string(), || {
            format!("{location} should have `$schema`")
        })?;
        let bytes = schema.to_string().len();
        holds(bytes <= LARGEST_SCHEMA, || {
            format!("{location} has {bytes} bytes")
        })?;
        for reference in references(schema) {
            holds(reference.starts_with('#'), || {
                format!("{location} refers to something outside itself, `{reference}`")
            })?;
        }
    }
    Ok(())
}

async fn etag(session: &Session) -> Checked {
    let answer = session.client.send(Ask::catalog()).await?;
    let tag = answer.header("etag").to_owned();
    applies(!tag.is_empty(), "the catalog has no ETag, which is allowed")?;
    let ask = Ask::catalog().header("If-None-Match", &tag);
    let again = session.client.send(ask).await?;
    again.expect(&[304])?;
    let ask = Ask::catalog().header("If-None-Match", "\"odb-conformance\"");
    session.expect(ask, &[200]).await
}

async fn maintenance_info(session: &Session) -> Checked {
    let catalog = session.catalog().await?;
    let with_info: Vec<_> = plans(catalog)
        .filter(|(_, plan)| plan.get("maintenance_info").is_some())
        .collect();
    applies(!with_info.is_empty(), "no plan has maintenance_info")?;
    for (location, plan) in with_info {
        let info = plan["maintenance_info"].as_object();
        let keys: Vec<&str> = info
            .into_iter()
            .flatten()
            .map(|(key, _)| key.as_str())
            .collect();
        holds(keys.contains(&"version"), || {
            format!("{location}/maintenance_info should have `version`")
        })?;
        let other = keys
            .iter()
            .find(|key| !["version", "description"].contains(key));
        holds(other.is_none(), || {
            format!(
                "{location}/maintenance_info has {keys:?}; Cloud Foundry refuses such a catalog"
            )
        })?;
    }
    Ok(())
}

async fn sound(session: &Session) -> Checked {
    let catalog = session.catalog().await?;
    let ids = services(catalog)
        .chain(plans(catalog))
        .map(|(_, entry)| entry["id"].to_string());
    unique("ids", ids)?;
    unique(
        "names of offerings",
        services(catalog).map(|(_, service)| service["name"].to_string()),
    )?;
    for (location, service) in services(catalog) {
        let plans = service["plans"].as_array().into_iter().flatten();
        unique(
            &format!("names of plans of {location}"),
            plans.map(|plan| plan["name"].to_string()),
        )?;
    }
    for (location, plan) in plans(catalog) {
        if let Some(version) = plan["maintenance_info"]["version"].as_str() {
            holds(Version::parse(version).is_ok(), || {
                format!("the version `{version}` of {location} is not semantic")
            })?;
        }
    }
    for (location, schema) in parameter_schemas(catalog) {
        if let Err(error) = jsonschema::meta::validate(schema) {
            return Err(Objection::broken(format!(
                "{location} is no schema: {error}"
            )));
        }
    }
    Ok(())
}

async fn optional_members(session: &Session) -> Checked {
    let catalog = session.catalog().await?;
    for (location, service) in services(catalog) {
        for flag in [
            "plan_updateable",
            "instances_retrievable",
            "bindings_retrievable",
            "allow_context_updates",
        ] {
            typed(&location, service, flag, Value::is_boolean)?;
        }
        typed(&location, service, "metadata", Value::is_object)?;
        typed(&location, service, "tags", Value::is_array)?;
        typed(&location, service, "dashboard_client", Value::is_object)?;
        let known = ["syslog_drain", "route_forwarding", "volume_mount"];
        for required in service["requires"].as_array().into_iter().flatten() {
            let is_known = required.as_str().is_some_and(|text| known.contains(&text));
            holds(is_known, || format!("{location}/requires has {required}"))?;
        }
    }
    for (location, plan) in plans(catalog) {
        for flag in ["free", "bindable", "plan_updateable", "binding_rotatable"] {
            typed(&location, plan, flag, Value::is_boolean)?;
        }
        for object in ["metadata", "schemas", "maintenance_info"] {
            typed(&location, plan, object, Value::is_object)?;
        }
        typed(&location, plan, "maximum_polling_duration", Value::is_u64)?;
    }
    Ok(())
}

fn typed(location: &str, entry: &Value, member: &str, is: impl Fn(&Value) -> bool) -> Checked {
    holds(entry.get(member).is_none_or(is), || {
        format!("{location}/{member} has a type that the specification does not give it")
    })
}

fn unique(what: &str, values: impl Iterator<Item = String>) -> Checked {
    let mut seen = BTreeSet::new();
    for value in values {
        if !seen.insert(value.clone()) {
            return Err(Objection::broken(format!(
                "the {what} should be unique, {value} is there twice"
            )));
        }
    }
    Ok(())
}

fn holds(it_does: bool, what: impl FnOnce() -> String) -> Checked {
    if it_does {
        Ok(())
    } else {
        Err(Objection::broken(what()))
    }
}

fn services(catalog: &Value) -> impl Iterator<Item = (String, &Value)> {
    let services = catalog["services"].as_array().into_iter().flatten();
    services
        .enumerate()
        .map(|(index, service)| (format!("/services/{index}"), service))
}

fn plans(catalog: &Value) -> impl Iterator<Item = (String, &Value)> {
    services(catalog).flat_map(|(location, service)| {
        let plans = service["plans"].as_array().into_iter().flatten();
        plans
            .enumerate()
            .map(move |(index, plan)| (format!("{location}/plans/{index}"), plan))
    })
}

fn parameter_schemas(catalog: &Value) -> Vec<(String, &Value)> {
    let mut schemas = Vec::new();
    for (location, plan) in plans(catalog) {
        for of in [
            "service_instance/create",
            "service_instance/update",
            "service_binding/create",
        ] {
            if let Some(schema) = plan.pointer(&format!("/schemas/{of}/parameters")) {
                schemas.push((format!("{location}/schemas/{of}/parameters"), schema));
            }
        }
    }
    schemas
}

fn references(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str);
            own.into_iter()
                .chain(members.values().flat_map(references))
                .collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
