//! The use of the offering, as `GET /mgmt/metrics` reports it (`spec/contracts/broker-behaviour.md` §6).

use std::collections::BTreeMap;

use odb_api_types::{
    code::Code,
    ids::PlanId,
    management::{MetricUnit, ServiceMetric},
};
use odb_config::Offering;

use super::{Operations, Refused, RequestContext};

impl Operations {
    /// How much is used: of each plan, in the order of the catalog, then of all together. Instances of plans that the
    /// catalog does not have any more count for all together, as they do for quotas.
    #[tracing::instrument(name = "service_metrics", skip_all)]
    pub async fn service_metrics(
        &self,
        request_context: RequestContext,
    ) -> Result<Vec<ServiceMetric>, Refused> {
        let source = self.sources.counts.as_ref();
        let source = source.ok_or(Refused::NoSource)?;
        let counts = source.by_plan(&request_context.call()).await?;
        let counts = counts.ok_or(Refused::NotRegistered)?;
        for (plan, instances) in &counts {
            if *instances > 0 && self.offering.plan(plan).is_none() {
                tracing::warn!(
                    code = %Code::PlanInUse,
                    plan.id = %plan,
                    instances,
                    "a plan with service instances is not in the configuration and has no metrics"
                );
            }
        }
        Ok(reported(&self.offering, &counts))
    }
}

fn reported(offering: &Offering, counts: &BTreeMap<PlanId, u64>) -> Vec<ServiceMetric> {
    let mut metrics = Metrics {
        prefix: format!("/on-demand-broker/{}", offering.name),
        reported: Vec::new(),
    };
    let of = |plan: &PlanId| counts.get(plan).copied().unwrap_or(0);
    for plan in &offering.plans {
        let instances = of(&plan.id);
        let name = &plan.name;
        metrics.push(format_args!("{name}/total_instances"), instances.into());
        if let Some(limit) = plan.quotas.service_instances {
            let left = i128::from(limit) - i128::from(instances);
            metrics.push(format_args!("{name}/quota_remaining"), left);
        }
        for (resource, quota) in &plan.quotas.resources {
            if quota.cost == 0 {
                continue;
            }
            let used = i128::from(quota.cost) * i128::from(instances);
            metrics.push(format_args!("{name}/{resource}/used"), used);
            if quota.limit > 0 {
                let left = i128::from(quota.limit) - used;
                metrics.push(format_args!("{name}/{resource}/remaining"), left);
            }
        }
    }
    let total: i128 = counts.values().copied().map(i128::from).sum();
    metrics.push(format_args!("total_instances"), total);
    if let Some(limit) = offering.global_quotas.service_instances {
        metrics.push(format_args!("quota_remaining"), i128::from(limit) - total);
    }
    for (resource, limit) in &offering.global_quotas.resources {
        let used: i128 = offering
            .plans
            .iter()
            .map(|plan| i128::from(plan.quotas.cost(resource)) * i128::from(of(&plan.id)))
            .sum();
        metrics.push(format_args!("{resource}/used"), used);
        metrics.push(
            format_args!("{resource}/remaining"),
            i128::from(*limit) - used,
        );
    }
    metrics.reported
}

struct Metrics {
    prefix: String,
    reported: Vec<ServiceMetric>,
}

impl Metrics {
    /// A number beyond the limit is reported as the largest one.
    fn push(&mut self, key: std::fmt::Arguments<'_>, value: i128) {
        let most = if value < 0 { i64::MIN } else { i64::MAX };
        self.reported.push(ServiceMetric {
            key: format!("{}/{key}", self.prefix),
            value: i64::try_from(value).unwrap_or(most),
            unit: MetricUnit::Count,
        });
    }
}
