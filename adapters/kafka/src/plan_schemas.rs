use odb_adapter_sdk::protocol::{
    GeneratePlanSchemas, ParametersSchema, PlanSchemas, ServiceBindingSchemas,
    ServiceInstanceSchemas,
};
use odb_adapter_sdk::{AdapterError, json};

use crate::parameters::{BindingParameters, InstanceParameters};
use crate::plan_properties::PlanProperties;

#[derive(Debug, thiserror::Error)]
enum PlanSchemasError {
    #[error("no schemas: plan property `service_adapter_fails` is set")]
    AskedToFail,
    #[error("plan property `schema_to_return` is not JSON")]
    NotJson(#[source] json::Error),
}

/// Answers `generate-plan-schemas`: the schemas of the parameters, or the plan's replacement.
pub(crate) fn generate(call: &GeneratePlanSchemas) -> Result<PlanSchemas, AdapterError> {
    let properties: PlanProperties = call.plan.properties_as()?;
    if properties.service_adapter_fails == Some(true) {
        // The original prints a text, which platforms under test look for.
        let error = PlanSchemasError::AskedToFail;
        return Err(AdapterError::for_user(format!("{error}.")).caused_by(error));
    }
    let Some(text) = properties.schema_to_return else {
        return Ok(PlanSchemas::of::<
            InstanceParameters,
            InstanceParameters,
            BindingParameters,
        >());
    };
    let schema = json::from_str(&text).map_err(PlanSchemasError::NotJson)?;
    let schema = ParametersSchema::new(schema);
    Ok(PlanSchemas {
        service_instance: ServiceInstanceSchemas {
            create: schema.clone(),
            update: schema.clone(),
        },
        service_binding: ServiceBindingSchemas { create: schema },
    })
}
