//! `GET /mgmt/metrics`: how much of the offering is used (`spec/contracts/broker-behaviour.md` §6).

use serde::{Deserialize, Serialize};

/// One number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceMetric {
    /// What is counted: `/on-demand-broker/SERVICE/…`.
    pub key: String,
    /// How many there are. What remains of a quota is negative where more is used than is allowed.
    pub value: i64,
    /// What they are.
    pub unit: MetricUnit,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    /// Things.
    Count,
}
