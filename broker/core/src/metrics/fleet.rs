//! The number of service instances, and their share of the quotas.

use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{IntGauge, IntGaugeVec};

use super::Maker;

/// The last instance count. Nothing is reported before the first count.
#[derive(Debug)]
pub struct FleetMetrics {
    instances: IntGaugeVec,
    quota_limit: IntGaugeVec,
    quota_used: IntGaugeVec,
    counted: IntGauge,
}

/// The scope of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaScope<'a> {
    /// All plans together.
    Global,
    /// One plan, by its name.
    Plan(&'a str),
}

/// A used amount of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUse<'a> {
    /// The scope of the quota.
    pub scope: QuotaScope<'a>,
    /// The limited resource; `service_instances` for the number of instances.
    pub resource: &'a str,
    /// How much there may be.
    pub limit: u64,
    /// How much is used.
    pub used: u64,
}

/// Instances of one plan in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceCount<'a> {
    /// The name of the plan; nothing for plans that are not offered any more.
    pub plan: Option<&'a str>,
    /// The state according to the source of instances.
    pub state: &'static str,
    /// How many there are.
    pub count: u64,
}

impl FleetMetrics {
    pub(super) fn new(made: &Maker) -> Self {
        Self {
            instances: made.gauges(
                "odb_service_instances",
                "Service instances that the platform knows",
                &["plan", "state"],
            ),
            quota_limit: made.gauges(
                "odb_quota_limit",
                "How much of something there may be",
                &["scope", "plan", "resource"],
            ),
            quota_used: made.gauges(
                "odb_quota_used",
                "Usage of each limited resource",
                &["scope", "plan", "resource"],
            ),
            counted: made.gauge(
                "odb_service_instances_counted_timestamp_seconds",
                "When the service instances were counted, in seconds since 1970; 0 if they never were",
            ),
        }
    }

    /// This was counted just now.
    pub fn counted(&self, instances: &[InstanceCount<'_>], quotas: &[QuotaUse<'_>]) {
        for count in instances {
            let plan = count.plan.unwrap_or(super::operations::OTHER_PLAN);
            self.instances
                .with_label_values(&[plan, count.state])
                .set(signed(count.count));
        }
        for quota in quotas {
            let (scope, plan) = match quota.scope {
                QuotaScope::Global => ("global", ""),
                QuotaScope::Plan(plan) => ("plan", plan),
            };
            let labels = [scope, plan, quota.resource];
            self.quota_limit
                .with_label_values(&labels)
                .set(signed(quota.limit));
            self.quota_used
                .with_label_values(&labels)
                .set(signed(quota.used));
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        self.counted
            .set(since_1970.map_or(0, |since| signed(since.as_secs())));
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
