//! Whether one more instance fits.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use odb_api_types::ids::PlanId;
use odb_config::Offering;

/// The number of instances by the plans on which they occupy a slot, without the instance in question.
///
/// Most instances are on one plan. An instance that is being moved occupies a slot on both plans until the outcome is
/// known. An instance of unknown plan counts only in the total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    instances: BTreeMap<BTreeSet<PlanId>, u64>,
}

impl Usage {
    /// Counts `instances` more, each of them on all of `plans`.
    pub fn add(&mut self, plans: BTreeSet<PlanId>, instances: u64) {
        let count = self.instances.entry(plans).or_insert(0);
        *count = count.saturating_add(instances);
    }

    /// How many are on the plan.
    pub fn of(&self, plan: &PlanId) -> u64 {
        self.sum(|plans| u64::from(plans.contains(plan)))
    }

    /// How many there are, each counted once.
    pub fn total(&self) -> u64 {
        self.sum(|_| 1)
    }

    /// The cost of all instances; one on several plans costs as much as the most expensive.
    pub fn cost(&self, of: impl Fn(&PlanId) -> u64) -> u64 {
        self.sum(|plans| plans.iter().map(&of).max().unwrap_or(0))
    }

    fn sum(&self, each: impl Fn(&BTreeSet<PlanId>) -> u64) -> u64 {
        self.instances
            .iter()
            .map(|(plans, count)| each(plans).saturating_mul(*count))
            .fold(0, u64::saturating_add)
    }
}

/// A number of instances that a limit is held against.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Total {
    /// Those of one plan.
    OfPlan(PlanId),
    /// Those of all plans, retired ones included.
    OfAll,
}

/// Which numbers have to be known to decide about one more instance of `plan`. Empty: nothing limits it.
pub fn totals_needed(offering: &Offering, plan: &PlanId) -> BTreeSet<Total> {
    let Some(ordered) = offering.plan(plan) else {
        return BTreeSet::new();
    };
    let mut totals = BTreeSet::new();
    let mut resources = ordered.quotas.resources.values();
    if ordered.quotas.service_instances.is_some()
        || resources.any(|quota| quota.limit > 0 && quota.cost > 0)
    {
        totals.insert(Total::OfPlan(plan.clone()));
    }
    if offering.global_quotas.service_instances.is_some() {
        totals.insert(Total::OfAll);
    }
    for name in offering.global_quotas.resources.keys() {
        if ordered.quotas.cost(name) == 0 {
            continue;
        }
        let dear = offering
            .plans
            .iter()
            .filter(|plan| plan.quotas.cost(name) > 0);
        totals.extend(dear.map(|plan| Total::OfPlan(plan.id.clone())));
    }
    totals
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

/// Decides whether one more instance of `plan` fits. All exceeded limits are reported, in the order of
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
    for (name, limit) in &offering.global_quotas.resources {
        let cost = ordered.quotas.cost(name);
        let used = usage.cost(|plan| offering.plan(plan).map_or(0, |plan| plan.quotas.cost(name)));
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
        if quota.cost > 0 && quota.limit > 0 && used.saturating_add(quota.cost) > quota.limit {
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

#[cfg(test)]
mod tests;
