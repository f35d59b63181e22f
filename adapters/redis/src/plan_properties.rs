use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Number, Value};

/// The properties of a plan. Unknown properties are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PlanProperties {
    /// Whether Redis writes to its disk.
    pub(crate) persistence: bool,
    /// Put errands that have instances onto the instances of Redis.
    pub(crate) colocated_errand: Option<bool>,
    /// Value of a secret that the broker keeps for the instance.
    pub(crate) plan_secret: Option<String>,
    /// Feature of the same name.
    pub(crate) use_short_dns_addresses: Option<bool>,
    /// A feature that no Director knows, to show that features are free.
    pub(crate) something_completely_different: Option<Value>,
    /// The errand that is to fail, for tests of a platform.
    pub(crate) systest_errand_failure_override: Option<String>,
    /// Seconds that errands take, for tests of a platform.
    pub(crate) systest_errand_sleep: Option<Number>,
}
