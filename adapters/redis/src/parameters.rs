use odb_adapter_sdk::prelude::*;
use serde::Deserialize;

/// The parameters of an order or update.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// The maximum number of connected clients.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) maxclients: Option<u32>,
}

/// The properties of a plan.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanProperties {
    /// Whether Redis writes to its disk.
    pub(crate) persistence: Option<bool>,
    /// The default of the users' parameter.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) maxclients: Option<u32>,
}
