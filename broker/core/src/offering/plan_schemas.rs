//! The parameters of the plans, as their adapter describes them: for the catalog, and for the validation of requests.

use std::{collections::BTreeMap, fmt};

use odb_adapter_sdk::protocol;
use odb_api_types::ids::PlanId;
use serde_json::{Map, Value, json};

use super::parameter_schema::{InvalidParameters, ParameterSchema, SchemaError};

/// The schemas of all plans; none where the operator has not switched them on.
#[derive(Debug, Default)]
pub struct Schemas(BTreeMap<PlanId, PlanSchemas>);

/// The schemas of one plan. They are compiled, so each of them is one.
#[derive(Debug)]
pub struct PlanSchemas {
    create: ParameterSchema,
    update: ParameterSchema,
    bind: ParameterSchema,
}

/// The request whose parameters a schema describes. Displayed in the Go broker's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParametersOf {
    /// An order of a service instance.
    InstanceCreate,
    /// An update of a service instance.
    InstanceUpdate,
    /// An order of a service binding.
    BindingCreate,
}

/// A schema that is of no use.
#[derive(Debug, thiserror::Error)]
#[error("the schema of `{of}` cannot be used")]
pub struct BrokenSchema {
    /// Which of the three.
    pub of: ParametersOf,
    /// Why.
    #[source]
    pub error: SchemaError,
}

impl Schemas {
    /// Holds parameters against the plan's schema. A plan without schemas takes everything.
    pub fn check(
        &self,
        plan: &PlanId,
        of: ParametersOf,
        parameters: &Map<String, Value>,
    ) -> Result<(), InvalidParameters> {
        match self.0.get(plan) {
            Some(schemas) => schemas.of(of).check(parameters),
            None => Ok(()),
        }
    }

    /// The plan's schemas as a catalog has them.
    pub fn in_catalog(&self, plan: &PlanId) -> Option<Value> {
        let schemas = self.0.get(plan)?;
        let parameters = |of| json!({ "parameters": schemas.of(of).document() });
        Some(json!({
            "service_instance": {
                "create": parameters(ParametersOf::InstanceCreate),
                "update": parameters(ParametersOf::InstanceUpdate),
            },
            "service_binding": { "create": parameters(ParametersOf::BindingCreate) },
        }))
    }
}

impl FromIterator<(PlanId, PlanSchemas)> for Schemas {
    fn from_iter<I: IntoIterator<Item = (PlanId, PlanSchemas)>>(plans: I) -> Self {
        Self(plans.into_iter().collect())
    }
}

impl PlanSchemas {
    /// Validates the three schemas of an adapter, and returns all errors.
    pub fn new(answer: protocol::PlanSchemas) -> Result<Self, Vec<BrokenSchema>> {
        let compiled = |of, schema: protocol::ParametersSchema| {
            ParameterSchema::new(schema.parameters).map_err(|error| BrokenSchema { of, error })
        };
        let protocol::ServiceInstanceSchemas { create, update } = answer.service_instance;
        let create = compiled(ParametersOf::InstanceCreate, create);
        let update = compiled(ParametersOf::InstanceUpdate, update);
        let bind = compiled(ParametersOf::BindingCreate, answer.service_binding.create);
        match (create, update, bind) {
            (Ok(create), Ok(update), Ok(bind)) => Ok(Self {
                create,
                update,
                bind,
            }),
            (create, update, bind) => Err([create.err(), update.err(), bind.err()]
                .into_iter()
                .flatten()
                .collect()),
        }
    }

    fn of(&self, of: ParametersOf) -> &ParameterSchema {
        match of {
            ParametersOf::InstanceCreate => &self.create,
            ParametersOf::InstanceUpdate => &self.update,
            ParametersOf::BindingCreate => &self.bind,
        }
    }
}

impl fmt::Display for ParametersOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InstanceCreate => "instance create",
            Self::InstanceUpdate => "instance update",
            Self::BindingCreate => "binding create",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requiring(property: &str) -> Value {
        json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "object",
            "required": [property],
        })
    }

    fn answer(create: &Value, update: &Value, bind: &Value) -> protocol::PlanSchemas {
        serde_json::from_value(json!({
            "service_instance": { "create": { "parameters": create }, "update": { "parameters": update } },
            "service_binding": { "create": { "parameters": bind } },
        }))
        .unwrap()
    }

    fn plan() -> PlanId {
        PlanId::from("plan-1".to_owned())
    }

    fn schemas() -> Schemas {
        let answer = answer(&requiring("a"), &requiring("b"), &requiring("c"));
        Schemas::from_iter([(plan(), PlanSchemas::new(answer).unwrap())])
    }

    #[test]
    fn each_request_is_held_against_its_own_schema() {
        for (of, property) in [
            (ParametersOf::InstanceCreate, "a"),
            (ParametersOf::InstanceUpdate, "b"),
            (ParametersOf::BindingCreate, "c"),
        ] {
            let reported = schemas().check(&plan(), of, &Map::new()).unwrap_err();
            assert_eq!(reported.to_string(), format!("`{property}` is missing"));
            let fitting = Map::from_iter([(property.to_owned(), json!(1))]);
            assert_eq!(schemas().check(&plan(), of, &fitting), Ok(()));
        }
    }

    #[test]
    fn a_plan_without_schemas_takes_everything() {
        let other = PlanId::from("plan-2".to_owned());
        let anything = Map::from_iter([("x".to_owned(), json!([1]))]);
        let checked = schemas().check(&other, ParametersOf::InstanceCreate, &anything);
        assert_eq!(checked, Ok(()));
        assert_eq!(schemas().in_catalog(&other), None);
    }

    #[test]
    fn a_catalog_has_the_schemas_where_platforms_look_for_them() {
        assert_eq!(
            schemas().in_catalog(&plan()).unwrap(),
            json!({
                "service_instance": {
                    "create": { "parameters": requiring("a") },
                    "update": { "parameters": requiring("b") },
                },
                "service_binding": { "create": { "parameters": requiring("c") } },
            })
        );
    }

    #[test]
    fn every_schema_that_is_none_is_reported() {
        let reported = |answer| {
            let errors = PlanSchemas::new(answer).unwrap_err().into_iter();
            let named = errors.map(|broken| broken.of.to_string());
            named.collect::<Vec<_>>()
        };
        let broken = json!({ "type": "object" });
        assert_eq!(
            reported(answer(&broken, &requiring("b"), &Value::Null)),
            ["instance create", "binding create"]
        );
        let nothing = protocol::PlanSchemas::default();
        assert_eq!(reported(nothing).len(), 3);
    }
}
