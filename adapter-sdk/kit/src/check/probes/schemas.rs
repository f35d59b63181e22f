use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use odb_adapter_sdk::protocol::{Call, ExitCode, GeneratePlanSchemas};
use serde_json::{Map, Value, json};

use super::Ordered;
use super::forms::check_forms_of;
use crate::check::answers::Outcome;
use crate::check::report::Area;
use crate::check::request::{AdapterRequest, order};
use crate::check::rules;
use crate::check::session::{CallId, Session};
use crate::inputs::{BindingOutcome, NamedPlan};

/// The required value of `$schema`.
const DRAFT: &str = "http://json-schema.org/draft-04/schema#";

const LOCATIONS: [(&str, &str); 3] = [
    ("service_instance", "create"),
    ("service_instance", "update"),
    ("service_binding", "create"),
];

/// The schemas of the first plan.
pub(super) struct Schemas {
    pub(super) id: CallId,
    pub(super) create: Validator,
    update: Validator,
    bind: Validator,
    /// The schema of orders as a document.
    document: Value,
}

/// Requests the schemas of each plan and compares them with what the adapter accepts.
pub(super) fn check_schemas(session: &mut Session<'_>, ordered: &[Ordered]) -> Option<Schemas> {
    session.begin(Area::PlanSchemas);
    let mut first = None;
    for (nth, ordered) in ordered.iter().enumerate() {
        let call = GeneratePlanSchemas::new(ordered.plan.plan.clone());
        let request = AdapterRequest(Call::GeneratePlanSchemas(Box::new(call)));
        let purpose = format!("schemas of plan `{}`", ordered.plan.name);
        let (id, answer) = match session.ask(&purpose, &request) {
            Outcome::Answered(answer) => answer,
            Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
                session.skip("`generate-plan-schemas` is not implemented");
                return None;
            }
            Outcome::Refused(refused) => {
                session.find_rejection(&rules::SCHEMAS_FAIL, "", &refused);
                continue;
            }
            Outcome::Broken => continue,
        };
        if nth == 0 {
            check_forms_of(session, &request);
        }
        let Some(schemas) = schemas(session, id, &answer) else {
            continue;
        };
        check_valid_parameters(session, &schemas, &ordered.plan);
        if nth == 0 {
            check_samples(session, &schemas, ordered);
            first = Some(schemas);
        }
    }
    first
}

fn schemas(session: &mut Session<'_>, id: CallId, answer: &Value) -> Option<Schemas> {
    let [create, update, bind] = LOCATIONS.map(|(part, action)| {
        let schema = &answer[part][action]["parameters"];
        let location = format!("{part}.{action}.parameters");
        let missing = if !schema.is_object() {
            Some(format!("`{location}` is missing"))
        } else if schema["$schema"] != DRAFT {
            Some(format!("`$schema` of `{location}` is missing or another"))
        } else {
            None
        };
        if let Some(detail) = missing {
            session.find(&rules::SCHEMA_MISSING, &location, detail, id);
            return None;
        }
        // Patterns come from outside. This engine evaluates every pattern in bounded time.
        let options = jsonschema::options()
            .with_draft(Draft::Draft4)
            .offline()
            .with_pattern_options(PatternOptions::regex());
        match options.build(schema) {
            Ok(validator) => Some(validator),
            Err(error) => {
                let detail = format!("`{location}`{}: {error}", at(&error));
                session.find(&rules::SCHEMA_INVALID, &location, detail, id);
                None
            }
        }
    });
    Some(Schemas {
        id,
        create: create?,
        update: update?,
        bind: bind?,
        document: answer["service_instance"]["create"]["parameters"].clone(),
    })
}

/// Where in a document an error is, for a sentence; empty for the document itself.
fn at(error: &ValidationError<'_>) -> String {
    match error.instance_path().as_str() {
        "" => String::new(),
        at => format!(", at `{at}`"),
    }
}

/// Parameters that the inputs declare valid must be valid by the schema.
fn check_valid_parameters(session: &mut Session<'_>, schemas: &Schemas, plan: &NamedPlan) {
    let inputs = session.inputs;
    let is_of_plan =
        |named: &Option<String>| named.as_ref().unwrap_or(&inputs.first_plan().name) == &plan.name;
    let mut documents = Vec::new();
    let cases = inputs.parameters.iter();
    for case in cases.filter(|case| is_of_plan(&case.plan)) {
        let mut create = inputs.required_parameters.clone();
        create.extend(case.create.clone());
        documents.push(("orders", &schemas.create, create));
        if let Some(update) = &case.update {
            documents.push(("updates", &schemas.update, update.clone()));
        }
    }
    for case in inputs.bindings.iter().flatten() {
        if case.outcome == BindingOutcome::Created && is_of_plan(&case.plan) {
            documents.push(("bindings", &schemas.bind, case.parameters.clone()));
        }
    }
    for (what, validator, document) in documents {
        let names: Vec<&str> = document.keys().map(String::as_str).collect();
        let names = names.join(", ");
        if let Err(error) = validator.validate(&document.clone().into()) {
            let about = format!("{what} {}", error.instance_path());
            let location = at(&error);
            let detail =
                format!("the schema for {what} refuses valid parameters ({names}){location}");
            session.find(&rules::SCHEMA_TOO_STRICT, about, detail, schemas.id);
        }
    }
}

/// Parameters that the schema accepts must be accepted: a document for each property without a valid value in the
/// inputs.
fn check_samples(session: &mut Session<'_>, schemas: &Schemas, ordered: &Ordered) {
    let inputs = session.inputs;
    for (name, sample) in samples(&schemas.document) {
        let mut valid = inputs.valid_parameters();
        if valid.any(|parameters| parameters.contains_key(&name)) {
            continue;
        }
        let parameters = Map::from_iter([(name.clone(), sample)]);
        let mut document = inputs.required_parameters.clone();
        document.extend(parameters.clone());
        if !schemas.create.is_valid(&document.into()) {
            continue;
        }
        let call = order(inputs, &ordered.plan, &parameters);
        let purpose = format!("order with `{name}` as the schema has it");
        if let Outcome::Refused(refused) = session.generate(&purpose, call) {
            let detail = session.user_text(refused.id);
            session.find(&rules::SCHEMA_TOO_LAX, name, detail, refused.id);
        }
    }
}

/// For each property of a schema a value that should be right. Those for which none can be made up
/// are left out.
fn samples(schema: &Value) -> Vec<(String, Value)> {
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| Some((name.clone(), sample(property)?)))
        .collect()
}

fn sample(property: &Value) -> Option<Value> {
    let given = ["default", "example"]
        .into_iter()
        .find_map(|key| property.get(key));
    let listed = ["enum", "examples"]
        .into_iter()
        .find_map(|key| property[key].as_array()?.first());
    if let Some(value) = given.or(listed) {
        return Some(value.clone());
    }
    let kind = match &property["type"] {
        Value::String(kind) => kind.as_str(),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")?,
        _ => return None,
    };
    match kind {
        "boolean" => Some(true.into()),
        "integer" | "number" => Some(number(property)),
        // A text that must look like something cannot be made up.
        "string" if property.get("pattern").is_some() || property.get("format").is_some() => None,
        "string" => {
            let length = property["minLength"].as_u64().unwrap_or(1).clamp(1, 4096);
            Some("a".repeat(usize::try_from(length).ok()?).into())
        }
        "array" => {
            let length = property["minItems"].as_u64().unwrap_or(0).min(64);
            let item = || sample(&property["items"]);
            (0..length)
                .map(|_| item())
                .collect::<Option<Vec<_>>>()
                .map(Value::from)
        }
        "object" => {
            let required = property["required"].as_array();
            let members = required.into_iter().flatten().map(|name| {
                let name = name.as_str()?;
                Some((name.to_owned(), sample(&property["properties"][name])?))
            });
            members.collect::<Option<Map<_, _>>>().map(Value::from)
        }
        _ => None,
    }
}

fn number(property: &Value) -> Value {
    let least = match &property["minimum"] {
        Value::Number(least) => least.as_i64().map_or(1, |least| {
            least + i64::from(property["exclusiveMinimum"] == true)
        }),
        _ => 1,
    };
    let most = property["maximum"].as_i64().unwrap_or(i64::MAX);
    match property["multipleOf"].as_i64().filter(|step| *step > 0) {
        Some(step) => json!((least.max(1) + step - 1) / step * step),
        None => json!(least.min(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_its_schema_takes() {
        let schema = json!({"properties": {
            "a": {"type": "integer", "minimum": 3},
            "b": {"enum": ["x", "y"]},
            "c": {"type": ["null", "string"], "minLength": 2},
            "d": {"type": "string", "pattern": "^x"},
            "e": {"type": "object", "required": ["f"], "properties": {"f": {"type": "boolean"}}},
            "g": {"type": "array", "minItems": 1, "items": {"type": "number"}},
        }});
        let made: Map<String, Value> = samples(&schema).into_iter().collect();
        let expected = json!({"a": 3, "b": "x", "c": "aa", "e": {"f": true}, "g": [1]});
        assert_eq!(Value::from(made), expected);
    }
}
