//! The use of the offering, as `GET /mgmt/metrics` reports it (`spec/contracts/broker-behaviour.md` §6).

use odb_api_types::{
    code::Code,
    management::{MetricUnit, ServiceMetric},
};

use super::{Operations, Refused, RequestContext};
use crate::offering::{QuotaUse, quota_uses};

impl Operations {
    /// What the instances use of each quota.
    #[tracing::instrument(name = "quota_uses", skip_all)]
    pub async fn quota_uses(
        &self,
        request_context: RequestContext,
    ) -> Result<Vec<QuotaUse<'_>>, Refused> {
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
        Ok(quota_uses(&self.offering, &counts))
    }

    pub async fn service_metrics(
        &self,
        request_context: RequestContext,
    ) -> Result<Vec<ServiceMetric>, Refused> {
        let mut metrics = Vec::new();
        for quota in self.quota_uses(request_context).await? {
            let plan = quota
                .plan
                .map(|plan| format!("{plan}/"))
                .unwrap_or_default();
            let prefix = format!("/on-demand-broker/{}/{plan}", self.offering.name);
            let (used, left) = match quota.resource {
                None => ("total_instances".to_owned(), "quota_remaining".to_owned()),
                Some(name) => (format!("{name}/used"), format!("{name}/remaining")),
            };
            metrics.push(metric(format!("{prefix}{used}"), quota.used));
            if let Some(limit) = quota.limit {
                let remaining = i128::from(limit) - quota.used;
                metrics.push(metric(format!("{prefix}{left}"), remaining));
            }
        }
        Ok(metrics)
    }
}

/// A number beyond the limit is reported as the largest one.
fn metric(key: String, value: i128) -> ServiceMetric {
    let most = if value < 0 { i64::MIN } else { i64::MAX };
    ServiceMetric {
        key,
        value: i64::try_from(value).unwrap_or(most),
        unit: MetricUnit::Count,
    }
}
