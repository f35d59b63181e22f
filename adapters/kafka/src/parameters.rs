use odb_adapter_sdk::schemars::{self, JsonSchema};
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
