//! An offer in the catalog that platforms read.

use jsonschema::Draft;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    digest::Hex,
    offer::{Offer, Plan, SchemaSource},
    values::{parameters::Settable, paths::Pattern},
};

const DRAFT: &str = "http://json-schema.org/draft-04/schema#";
/// Platforms take no larger schemas.
const LARGEST_SCHEMA: usize = 65_536;

/// The service of an offer, as `GET /v2/catalog` lists it.
pub fn service(offer: &Offer) -> Value {
    let chart = &offer.offered().chart.metadata;
    let description = chart.description.clone();
    let mut tags = chart.keywords.clone();
    tags.extend(
        offer
            .tags
            .iter()
            .filter(|tag| !chart.keywords.contains(tag))
            .cloned(),
    );
    let mut metadata = without_nulls(json!({
        "displayName": offer.display_name.as_ref().unwrap_or(&offer.name),
        "imageUrl": chart.icon,
        "documentationUrl": chart.home,
        "longDescription": chart.description,
        "providerDisplayName": chart.maintainer,
        "supportUrl": chart.source,
    }));
    metadata.extend(offer.metadata.clone());
    let schema = parameters_schema(offer);
    let plans = offer
        .plans
        .iter()
        .map(|entry| plan(offer, entry, schema.as_ref()));
    Value::Object(without_nulls(json!({
        "id": offer.service_id,
        "name": offer.name,
        "description": description.unwrap_or_else(|| format!("{} {}", chart.name, chart.version)),
        "bindable": offer.bindable,
        "plan_updateable": true,
        "instances_retrievable": true,
        "bindings_retrievable": true,
        "tags": Some(tags).filter(|tags| !tags.is_empty()),
        "metadata": metadata,
        "plans": plans.collect::<Value>(),
    })))
}

fn plan(offer: &Offer, plan: &Plan, schema: Option<&Value>) -> Value {
    let bullets = match plan.bullets.as_slice() {
        [] => vec![plan.description.clone()],
        bullets => bullets.to_vec(),
    };
    let mut metadata = Map::from_iter([("bullets".to_owned(), bullets.into())]);
    if let Some(Value::Object(own)) = plan.passed.get("metadata") {
        metadata.extend(own.clone());
    }
    let own_schemas = plan.passed.get("schemas").cloned();
    let schemas = own_schemas.or_else(|| {
        let parameters = json!({ "parameters": schema? });
        Some(json!({ "service_instance": { "create": parameters, "update": parameters } }))
    });
    Value::Object(without_nulls(json!({
        "id": plan.id,
        "name": plan.name,
        "description": plan.description,
        "free": plan.free,
        "bindable": plan.bindable,
        "metadata": metadata,
        "schemas": schemas,
        "maintenance_info": {
            "version": maintenance_version(offer, plan),
            "description": charts(offer),
        },
    })))
}

/// The offered chart's version, with a digest of all that an upgrade would bring.
pub fn maintenance_version(offer: &Offer, plan: &Plan) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    };
    for chart in &offer.charts {
        add(chart.chart.digest.as_str().as_bytes());
        add(chart
            .overrides
            .as_ref()
            .map_or(&[], |layer| layer.text.as_bytes()));
    }
    add(plan
        .values
        .as_ref()
        .map_or(&[], |layer| layer.text.as_bytes()));
    add(&plan.quota_text);
    let digest = Hex::of(digest);
    let mark = &digest.as_str()[..8];
    let version = offer.offered().chart.version().strict();
    if version.build.is_empty() {
        format!("{version}+{mark}")
    } else {
        format!("{version}.{mark}")
    }
}

/// `redis 18.1.0, redis-operator 2.0.3`.
fn charts(offer: &Offer) -> String {
    let charts = offer.charts.iter().map(|chart| &chart.chart);
    let charts = charts.map(|chart| format!("{} {}", chart.name(), chart.version()));
    charts.collect::<Vec<_>>().join(", ")
}

/// The schema of the parameters without what users may not set; none where platforms would refuse it.
pub fn parameters_schema(offer: &Offer) -> Option<Value> {
    let schema = match &offer.parameters.schema {
        SchemaSource::Chart => offer.offered().chart.schema.as_ref()?,
        SchemaSource::Package(schema) => schema,
        SchemaSource::Nothing => return None,
    };
    let mut schema = schema.document().clone();
    if let Settable::AllBut(denied) = &offer.parameters.settable {
        for pattern in denied {
            remove(&mut schema, &pattern.keys().collect::<Vec<_>>());
        }
    } else if let Settable::Only(allowed) = &offer.parameters.settable {
        keep(&mut schema, &mut Vec::new(), allowed);
    }
    let members = schema.as_object_mut()?;
    members.insert("$schema".to_owned(), DRAFT.into());
    // Values of the author fill what a chart requires.
    members.remove("required");
    let meta = jsonschema::options()
        .with_draft(Draft::Draft4)
        .offline()
        .build(&schema);
    let is_small = schema.to_string().len() <= LARGEST_SCHEMA;
    (is_small && meta.is_ok()).then_some(schema)
}

/// Removes a path from the properties of a schema.
fn remove(schema: &mut Value, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    if rest.is_empty() {
        if *first == "*" {
            properties.clear();
        } else {
            properties.remove(*first);
        }
        return;
    }
    for (key, property) in properties {
        if *first == "*" || first == key {
            remove(property, rest);
        }
    }
}

/// Keeps what an allow list covers, and the maps around it.
fn keep(schema: &mut Value, path: &mut Vec<String>, allowed: &[Pattern]) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    properties.retain(|key, property| {
        path.push(key.clone());
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let is_covered = allowed.iter().any(|pattern| pattern.covers(&keys));
        let is_around = allowed.iter().any(|pattern| pattern.is_below(&keys));
        if !is_covered && is_around {
            keep(property, path, allowed);
        }
        path.pop();
        is_covered || is_around
    });
}

fn without_nulls(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        _ => Map::new(),
    }
}
