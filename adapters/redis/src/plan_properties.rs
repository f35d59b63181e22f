use odb_adapter_sdk::protocol::Plan;
use serde_json::{Number, Value};

/// What an operator sets in a plan.
#[derive(Debug)]
pub(crate) struct PlanProperties {
    /// Whether Redis writes to its disk.
    pub(crate) persistence: bool,
    /// Put errands that have instances onto the instances of Redis.
    pub(crate) colocated_errand: bool,
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

#[derive(Debug, thiserror::Error)]
#[error("plan property `{name}` must be {expected}")]
pub(crate) struct PlanPropertyError {
    name: &'static str,
    expected: &'static str,
}

impl PlanProperties {
    pub(crate) fn of(plan: &Plan) -> Result<Self, PlanPropertyError> {
        const PERSISTENCE: &str = "persistence";
        Ok(Self {
            persistence: boolean(plan, PERSISTENCE)?.ok_or(PlanPropertyError {
                name: PERSISTENCE,
                expected: "set to true or false",
            })?,
            colocated_errand: boolean(plan, "colocated_errand")?.unwrap_or_default(),
            plan_secret: text(plan, "plan_secret")?,
            use_short_dns_addresses: boolean(plan, "use_short_dns_addresses")?,
            something_completely_different: property(plan, "something_completely_different")
                .cloned(),
            systest_errand_failure_override: text(plan, "systest_errand_failure_override")?,
            systest_errand_sleep: number(plan, "systest_errand_sleep")?,
        })
    }
}

fn property<'p>(plan: &'p Plan, name: &str) -> Option<&'p Value> {
    plan.properties.get(name).filter(|value| !value.is_null())
}

fn boolean(plan: &Plan, name: &'static str) -> Result<Option<bool>, PlanPropertyError> {
    property(plan, name)
        .map(|value| {
            value.as_bool().ok_or(PlanPropertyError {
                name,
                expected: "true or false",
            })
        })
        .transpose()
}

fn text(plan: &Plan, name: &'static str) -> Result<Option<String>, PlanPropertyError> {
    property(plan, name)
        .map(|value| match value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(PlanPropertyError {
                name,
                expected: "a string",
            }),
        })
        .transpose()
}

fn number(plan: &Plan, name: &'static str) -> Result<Option<Number>, PlanPropertyError> {
    property(plan, name)
        .map(|value| match value {
            Value::Number(number) => Ok(number.clone()),
            _ => Err(PlanPropertyError {
                name,
                expected: "a number",
            }),
        })
        .transpose()
}
