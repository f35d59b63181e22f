//! Whether one more instance fits.

use std::collections::{BTreeMap, BTreeSet};

use odb_api_types::ids::PlanId;
use odb_config::{Offering, ResourceQuota};

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

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Total {
    OfPlan(PlanId),
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

/// Every limit that one more instance would break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join(", "))]
pub struct QuotaExceeded(Vec<String>);

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
        violations.push(format!(
            "plan instance limit exceeded: all {limit} are taken"
        ));
    }
    if let Some(limit) = offering.global_quotas.service_instances
        && usage.total() >= limit
    {
        violations.push(format!(
            "global instance limit exceeded: all {limit} are taken"
        ));
    }
    for (name, limit) in &offering.global_quotas.resources {
        let cost = ordered.quotas.cost(name);
        let used = usage.cost(|plan| offering.plan(plan).map_or(0, |plan| plan.quotas.cost(name)));
        if cost > 0 && used.saturating_add(cost) > *limit {
            violations.push(format!(
                "global quotas [{name}: (limit {limit}, used {used}, requires {cost})]"
            ));
        }
    }
    for (name, quota) in &ordered.quotas.resources {
        let used = quota.cost.saturating_mul(usage.of(plan));
        if quota.cost > 0 && quota.limit > 0 && used.saturating_add(quota.cost) > quota.limit {
            let ResourceQuota { limit, cost } = quota;
            violations.push(format!(
                "plan quotas [{name}: (limit {limit}, used {used}, requires {cost})]"
            ));
        }
    }
    if violations.is_empty() {
        Ok(())
    } else {
        Err(QuotaExceeded(violations))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUse<'a> {
    /// The name of the plan; `None` for all plans together.
    pub plan: Option<&'a str>,
    /// `None` for the number of instances.
    pub resource: Option<&'a str>,
    pub limit: Option<u64>,
    pub used: i128,
}

/// What the instances use: of each plan, in the order of the catalog, then of all together. Instances of plans that the
/// catalog does not have any more count for all together.
pub fn quota_uses<'a>(offering: &'a Offering, counts: &BTreeMap<PlanId, u64>) -> Vec<QuotaUse<'a>> {
    let of = |plan: &PlanId| i128::from(counts.get(plan).copied().unwrap_or(0));
    let mut uses = Vec::new();
    for plan in &offering.plans {
        let (name, instances) = (Some(plan.name.as_str()), of(&plan.id));
        uses.push(QuotaUse {
            plan: name,
            resource: None,
            limit: plan.quotas.service_instances,
            used: instances,
        });
        let priced = plan.quotas.resources.iter();
        uses.extend(
            priced
                .filter(|(_, quota)| quota.cost > 0)
                .map(|(resource, quota)| QuotaUse {
                    plan: name,
                    resource: Some(resource),
                    limit: Some(quota.limit).filter(|limit| *limit > 0),
                    used: i128::from(quota.cost) * instances,
                }),
        );
    }
    uses.push(QuotaUse {
        plan: None,
        resource: None,
        limit: offering.global_quotas.service_instances,
        used: counts.values().copied().map(i128::from).sum(),
    });
    let limits = offering.global_quotas.resources.iter();
    uses.extend(limits.map(|(resource, limit)| {
        QuotaUse {
            plan: None,
            resource: Some(resource),
            limit: Some(*limit),
            used: offering
                .plans
                .iter()
                .map(|plan| i128::from(plan.quotas.cost(resource)) * of(&plan.id))
                .sum(),
        }
    }));
    uses
}

#[cfg(test)]
mod tests;
