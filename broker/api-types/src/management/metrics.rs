//! `GET /mgmt/metrics`: how much of the offering is used (`spec/contracts/broker-behaviour.md` §6).

use serde::{Deserialize, Serialize};

/// One number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceMetric {
    /// The name of the metric: `/on-demand-broker/SERVICE/…`.
    pub key: String,
    /// The value. The remaining quota is negative if more is used than allowed.
    pub value: i64,
    /// The unit.
    pub unit: MetricUnit,
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    /// Things.
    Count,
}
