//! What operators and users may choose, and the same for catalogs.

use anyhow::Context as _;
use odb_adapter_sdk::protocol::{
    GeneratePlanSchemas, ParametersSchema, PlanSchemas, ServiceBindingSchemas,
    ServiceInstanceSchemas,
};
use odb_adapter_sdk::schemars::{self, JsonSchema};
use odb_adapter_sdk::{AdapterError, json};
use serde::Deserialize;

use crate::topic_name::TopicName;

/// The parameters of create and update.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InstanceParameters {
    /// Auto create topics
    pub(crate) auto_create_topics: Option<bool>,
    /// Replication factor
    #[schemars(range(min = 1, max = 32_767))]
    pub(crate) default_replication_factor: Option<u32>,
}

/// The parameters of a binding.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BindingParameters {
    /// The name of a topic that is created with the binding, and stays when the binding is deleted
    pub(crate) topic: Option<TopicName>,
}

/// The properties of a plan. Unknown properties are ignored.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct PlanProperties {
    /// Whether Kafka creates a topic when a client writes to it.
    pub(crate) auto_create_topics: Option<bool>,
    /// How many brokers keep a copy of such a topic.
    #[schemars(range(min = 1, max = 32_767))]
    pub(crate) default_replication_factor: Option<u32>,
    /// For tests of a platform: `generate-plan-schemas` fails, and the manifest says so.
    pub(crate) service_adapter_fails: Option<bool>,
    /// For tests of a platform: JSON that replaces each schema.
    pub(crate) schema_to_return: Option<String>,
}

/// Answers `generate-plan-schemas`: the schemas of the parameters, or the plan's replacement.
pub(crate) fn plan_schemas(call: &GeneratePlanSchemas) -> Result<PlanSchemas, AdapterError> {
    let properties: PlanProperties = call.plan.properties_as()?;
    if properties.service_adapter_fails == Some(true) {
        // The original prints a text, which platforms under test look for.
        let error = "no schemas: plan property `service_adapter_fails` is set";
        return Err(AdapterError::for_user(format!("{error}.")).caused_by(error));
    }
    let Some(text) = properties.schema_to_return else {
        return Ok(PlanSchemas::of::<
            InstanceParameters,
            InstanceParameters,
            BindingParameters,
        >());
    };
    let schema = json::from_str(&text).context("plan property `schema_to_return` is not JSON")?;
    let schema = ParametersSchema::new(schema);
    Ok(PlanSchemas {
        service_instance: ServiceInstanceSchemas {
            create: schema.clone(),
            update: schema.clone(),
        },
        service_binding: ServiceBindingSchemas { create: schema },
    })
}
