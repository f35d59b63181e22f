//! Whether one more instance fits.

use std::{collections::BTreeMap, fmt};

use crate::{config::Offering, ids::PlanId};

/// How many instances there are on each plan, the one in question not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    instances: BTreeMap<PlanId, u64>,
}

impl FromIterator<PlanId> for Usage {
    fn from_iter<T: IntoIterator<Item = PlanId>>(plans: T) -> Self {
        let mut instances = BTreeMap::new();
        for plan in plans {
            *instances.entry(plan).or_insert(0) += 1;
        }
        Self { instances }
    }
}

impl Usage {
    fn of(&self, plan: &PlanId) -> u64 {
        self.instances.get(plan).copied().unwrap_or(0)
    }

    fn total(&self) -> u64 {
        self.instances.values().sum()
    }
}

/// One limit that one more instance would break.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Violation {
    PlanInstances {
        limit: u64,
    },
    GlobalInstances {
        limit: u64,
    },
    GlobalResource {
        name: String,
        limit: u64,
        used: u64,
        cost: u64,
    },
    PlanResource {
        name: String,
        limit: u64,
        used: u64,
        cost: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlanInstances { limit } => {
                write!(f, "plan instance limit exceeded: all {limit} are taken")
            }
            Self::GlobalInstances { limit } => {
                write!(f, "global instance limit exceeded: all {limit} are taken")
            }
            Self::GlobalResource {
                name,
                limit,
                used,
                cost,
            } => {
                write!(
                    f,
                    "global quotas [{name}: (limit {limit}, used {used}, requires {cost})]"
                )
            }
            Self::PlanResource {
                name,
                limit,
                used,
                cost,
            } => {
                write!(
                    f,
                    "plan quotas [{name}: (limit {limit}, used {used}, requires {cost})]"
                )
            }
        }
    }
}

/// Every limit that one more instance would break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct QuotaExceeded {
    violations: Vec<Violation>,
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.violations.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

/// Decides whether one more instance of `plan` fits. All broken limits are told, in the order of
/// `spec/contracts/broker-behaviour.md` §3.4; each plan's cost counts with its own number of instances.
pub fn check_quotas(
    offering: &Offering,
    plan: &PlanId,
    usage: &Usage,
) -> Result<(), QuotaExceeded> {
    let mut violations = Vec::new();
    let Some(ordered) = offering.plan(plan) else {
        return Ok(());
    };
    if let Some(limit) = ordered.quotas.service_instances
        && usage.of(plan) >= limit
    {
        violations.push(Violation::PlanInstances { limit });
    }
    if let Some(limit) = offering.global_quotas.service_instances
        && usage.total() >= limit
    {
        violations.push(Violation::GlobalInstances { limit });
    }
    let cost_of = |plan: &crate::config::Plan, name: &str| {
        plan.quotas
            .resources
            .get(name)
            .map_or(0, |quota| quota.cost)
    };
    for (name, limit) in &offering.global_quotas.resources {
        let cost = cost_of(ordered, name);
        let used: u64 = offering
            .plans
            .iter()
            .map(|plan| cost_of(plan, name).saturating_mul(usage.of(&plan.id)))
            .fold(0, u64::saturating_add);
        if cost > 0 && used.saturating_add(cost) > *limit {
            violations.push(Violation::GlobalResource {
                name: name.clone(),
                limit: *limit,
                used,
                cost,
            });
        }
    }
    for (name, quota) in &ordered.quotas.resources {
        let used = quota.cost.saturating_mul(usage.of(plan));
        if quota.limit > 0 && used.saturating_add(quota.cost) > quota.limit {
            violations.push(Violation::PlanResource {
                name: name.clone(),
                limit: quota.limit,
                used,
                cost: quota.cost,
            });
        }
    }
    if violations.is_empty() {
        Ok(())
    } else {
        Err(QuotaExceeded { violations })
    }
}
