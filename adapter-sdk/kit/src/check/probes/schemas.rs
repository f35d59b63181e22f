use jsonschema::{Draft, PatternOptions, Validator};
use odb_adapter_sdk::protocol::ExitCode;
use serde_json::{Map, Value};

use crate::check::adapter_request::{AdapterRequest, Generate};
use crate::check::answers::Outcome;
use crate::check::probes::forms::check_forms_of;
use crate::check::probes::orders::Ordered;
use crate::check::report::Area;
use crate::check::rules::schemas as rules;
use crate::check::schema_samples::samples;
use crate::check::session::{CallId, Session};
use crate::inputs::{BindingOutcome, NamedPlan};

/// The required value of `$schema`.
const DRAFT: &str = "http://json-schema.org/draft-04/schema#";

/// The locations of the three schemas in the answer.
const LOCATIONS: [(&str, &str); 3] = [
    ("service_instance", "create"),
    ("service_instance", "update"),
    ("service_binding", "create"),
];

/// The schemas of the first plan.
pub(in crate::check) struct Schemas {
    pub(in crate::check) id: CallId,
    pub(in crate::check) create: Validator,
    update: Validator,
    bind: Validator,
    /// The schema of orders as a document.
    document: Value,
}

/// Requests the schemas of each plan and compares them with what the adapter accepts.
pub(in crate::check) fn check_schemas(
    session: &mut Session<'_>,
    ordered: &[Ordered],
) -> Option<Schemas> {
    session.begin(Area::PlanSchemas);
    let mut first = None;
    for (nth, ordered) in ordered.iter().enumerate() {
        let adapter_request = AdapterRequest::generate_plan_schemas(&ordered.plan.document);
        let purpose = format!("schemas of plan `{}`", ordered.plan.name);
        let (id, answer) = match session.ask(&purpose, &adapter_request) {
            Outcome::Answered(answer) => answer,
            Outcome::Refused(refused) if refused.code == ExitCode::NotImplemented => {
                session.not_implemented("generate-plan-schemas");
                return None;
            }
            Outcome::Refused(refused) => {
                let detail = session.rejection(&refused);
                session.find_failure(&rules::SCHEMAS_FAIL, "", detail, refused.id);
                continue;
            }
            Outcome::Broken => continue,
        };
        if nth == 0 {
            check_forms_of(session, &adapter_request);
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
    let found = LOCATIONS.map(|(part, action)| {
        let schema = &answer[part][action]["parameters"];
        let location = format!("{part}.{action}.parameters");
        if !schema.is_object() {
            session.find(
                &rules::SCHEMA_MISSING,
                &location,
                format!("`{location}` is missing"),
                Some(id),
            );
            return None;
        }
        if schema["$schema"] != DRAFT {
            let detail = format!("`$schema` of `{location}` is missing or another");
            session.find(&rules::SCHEMA_MISSING, &location, detail, Some(id));
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
                let at = error.instance_path().to_string();
                let detail = if at.is_empty() {
                    format!("`{location}`: {error}")
                } else {
                    format!("`{location}`, at `{at}`: {error}")
                };
                session.find(&rules::SCHEMA_INVALID, &location, detail, Some(id));
                None
            }
        }
    });
    let [create, update, bind] = found;
    Some(Schemas {
        id,
        create: create?,
        update: update?,
        bind: bind?,
        document: answer["service_instance"]["create"]["parameters"].clone(),
    })
}

/// Parameters that the inputs declare valid must be valid by the schema.
fn check_valid_parameters(session: &mut Session<'_>, schemas: &Schemas, plan: &NamedPlan) {
    let inputs = session.inputs;
    let is_of_plan = |named: Option<&str>| named.unwrap_or(&inputs.first_plan().name) == plan.name;
    let mut documents = Vec::new();
    for case in inputs
        .parameters
        .iter()
        .filter(|case| is_of_plan(case.plan.as_deref()))
    {
        let mut create = inputs.required_parameters.clone();
        create.extend(case.create.clone());
        documents.push(("orders", &schemas.create, create));
        if let Some(update) = &case.update {
            documents.push(("updates", &schemas.update, update.clone()));
        }
    }
    for case in inputs.bindings.iter().flatten() {
        let is_valid = case.outcome == BindingOutcome::Created && is_of_plan(case.plan.as_deref());
        if is_valid {
            documents.push(("bindings", &schemas.bind, case.parameters.clone()));
        }
    }
    for (what, validator, document) in documents {
        let names: Vec<&str> = document.keys().map(String::as_str).collect();
        let names = names.join(", ");
        if let Err(error) = validator.validate(&document.clone().into()) {
            let at = error.instance_path().to_string();
            let location = if at.is_empty() {
                String::new()
            } else {
                format!(", at `{at}`")
            };
            let detail =
                format!("the schema for {what} refuses valid parameters ({names}){location}");
            session.find(
                &rules::SCHEMA_TOO_STRICT,
                format!("{what} {at}"),
                detail,
                Some(schemas.id),
            );
        }
    }
}

/// Parameters that the schema accepts must be accepted: a document for each property without a valid value in the
/// inputs.
fn check_samples(session: &mut Session<'_>, schemas: &Schemas, ordered: &Ordered) {
    let known: Vec<String> = session
        .inputs
        .valid_parameters()
        .flat_map(|parameters| parameters.keys().cloned())
        .collect();
    for (name, sample) in samples(&schemas.document) {
        if known.contains(&name) {
            continue;
        }
        let parameters = Map::from_iter([(name.clone(), sample)]);
        let mut document = session.inputs.required_parameters.clone();
        document.extend(parameters.clone());
        if !schemas.create.is_valid(&document.into()) {
            continue;
        }
        let asked = Generate::order(session.inputs, &ordered.plan, &parameters, Value::Null);
        let purpose = format!("order with `{name}` as the schema has it");
        if let Outcome::Refused(refused) =
            session.generate(&purpose, &AdapterRequest::generate(&asked))
        {
            let detail = session.user_text(refused.id);
            session.find(&rules::SCHEMA_TOO_LAX, name, detail, Some(refused.id));
        }
    }
}
