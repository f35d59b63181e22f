use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draft4::schema_of;
use crate::protocol::{
    ParametersSchema, PlanSchemas, ServiceBindingSchemas, ServiceInstanceSchemas,
};

/// For requests that take no parameters: every name is one too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "No parameters", description = "No parameters.")]
pub struct NoParameters {}

impl PlanSchemas {
    /// The schemas of the types that orders, updates and bindings are read into, in draft 4 of JSON
    /// Schema, the one that platforms read. Comments on types and fields become descriptions.
    ///
    /// Platforms take schemas of at most 64 KiB each (`spec/contracts/osb-api.md`).
    pub fn of<Create: JsonSchema, Update: JsonSchema, Bind: JsonSchema>() -> Self {
        Self {
            service_instance: ServiceInstanceSchemas {
                create: ParametersSchema::new(schema_of::<Create>()),
                update: ParametersSchema::new(schema_of::<Update>()),
            },
            service_binding: ServiceBindingSchemas {
                create: ParametersSchema::new(schema_of::<Bind>()),
            },
        }
    }

    /// The schemas of an offering that is ordered and updated with the same parameters and bound
    /// without any.
    pub fn of_parameters<P: JsonSchema>() -> Self {
        Self::of::<P, P, NoParameters>()
    }
}
