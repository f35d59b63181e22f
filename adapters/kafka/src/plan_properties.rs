use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::Deserialize;

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
