//! Counts the service instances for the operator's metrics. A scrape starts a count, at most one per time to live;
//! without scrapes the platform gets no request.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use odb_clients::http::Call;
use odb_config::{Offering, Timings};
use odb_redaction::Chain;
use tokio::time::{Instant, timeout};

use super::{CountedInstance, InstanceSource, Lifecycle, PlatformState};
use crate::{
    metrics::{FleetMetrics, InstanceCount, QuotaScope, QuotaUse, metrics},
    offering::Usage,
};

/// The name of the number of instances among the resources.
const INSTANCES: &str = "service_instances";

/// Counts the instances of one offering. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct InstanceCounter {
    source: InstanceSource,
    offering: Arc<Offering>,
    timings: Timings,
    latest: Arc<Mutex<Latest>>,
}

#[derive(Debug, Default)]
struct Latest {
    begun: Option<Instant>,
    is_running: bool,
}

/// A running count.
#[derive(Debug)]
struct Running(Arc<Mutex<Latest>>);

impl Running {
    /// Nothing if a count is running, or the latest is younger than its time to live.
    fn begin(latest: &Arc<Mutex<Latest>>, cached: Duration) -> Option<Self> {
        let mut locked = latest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = locked.begun.is_some_and(|begun| begun.elapsed() < cached);
        if locked.is_running || is_recent {
            return None;
        }
        *locked = Latest {
            begun: Some(Instant::now()),
            is_running: true,
        };
        Some(Self(latest.clone()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.is_running = false;
    }
}

impl InstanceCounter {
    pub(super) fn new(source: InstanceSource, offering: Arc<Offering>, timings: &Timings) -> Self {
        Self {
            source,
            offering,
            timings: *timings,
            latest: Arc::default(),
        }
    }

    /// Counts, unless a count is running or recent. Waits for the count up to a timeout; a slower count shows in the
    /// next scrape.
    pub(super) async fn refresh(&self, lifecycle: &Lifecycle) {
        let Some(running) = Running::begin(&self.latest, self.timings.instance_count_ttl) else {
            return;
        };
        let (instance_counter, stopping) = (self.clone(), lifecycle.stopping());
        let counting = lifecycle.runtime().spawn(async move {
            let _running = running;
            stopping.run_until_cancelled(instance_counter.count()).await;
        });
        // A panic of the count is logged; the previous count remains.
        let _ = timeout(self.timings.instance_count_timeout, counting).await;
    }

    async fn count(&self) {
        match self
            .source
            .records(&Call::within(self.timings.start_up))
            .await
        {
            Ok(records) => record(&metrics().fleet, &self.offering, &records),
            Err(error) => tracing::warn!(
                code = %error.code(),
                error = %Chain(&error),
                "could not count the service instances for the metrics, which show what was counted last"
            ),
        }
    }
}

fn record(fleet: &FleetMetrics, offering: &Offering, records: &[CountedInstance]) {
    // A count that has become zero is recorded, too.
    let mut counts: BTreeMap<(Option<&str>, &'static str), u64> = BTreeMap::new();
    let offered = offering.plans.iter().map(|plan| Some(plan.name.as_str()));
    for plan in offered.chain([None]) {
        for state in STATES.map(label) {
            counts.insert((plan, state), 0);
        }
    }
    let mut usage = Usage::default();
    for record in records {
        let plan = offering.plan(&record.plan).map(|plan| plan.name.as_str());
        *counts.entry((plan, label(record.state))).or_default() += 1;
        if record.state != PlatformState::Unmade {
            usage.add([record.plan.clone()].into(), 1);
        }
    }
    let counts: Vec<_> = counts
        .into_iter()
        .map(|((plan, state), count)| InstanceCount { plan, state, count })
        .collect();
    fleet.counted(&counts, &quotas(offering, &usage));
}

fn quotas<'a>(offering: &'a Offering, usage: &Usage) -> Vec<QuotaUse<'a>> {
    let mut quotas = Vec::new();
    let global = &offering.global_quotas;
    if let Some(limit) = global.service_instances {
        quotas.push(QuotaUse {
            scope: QuotaScope::Global,
            resource: INSTANCES,
            limit,
            used: usage.total(),
        });
    }
    for (resource, limit) in &global.resources {
        quotas.push(QuotaUse {
            scope: QuotaScope::Global,
            resource,
            limit: *limit,
            used: usage.cost(|plan| {
                let plan = offering.plan(plan);
                plan.map_or(0, |plan| plan.quotas.cost(resource))
            }),
        });
    }
    for plan in &offering.plans {
        let scope = QuotaScope::Plan(&plan.name);
        let count = usage.of(&plan.id);
        if let Some(limit) = plan.quotas.service_instances {
            quotas.push(QuotaUse {
                scope,
                resource: INSTANCES,
                limit,
                used: count,
            });
        }
        for (resource, quota) in &plan.quotas.resources {
            // Without a limit, or for nothing, there is no quota.
            if quota.limit > 0 && quota.cost > 0 {
                quotas.push(QuotaUse {
                    scope,
                    resource,
                    limit: quota.limit,
                    used: quota.cost.saturating_mul(count),
                });
            }
        }
    }
    quotas
}

const STATES: [PlatformState; 5] = [
    PlatformState::Settled,
    PlatformState::Updating,
    PlatformState::Creating,
    PlatformState::Unmade,
    PlatformState::Listed,
];

fn label(state: PlatformState) -> &'static str {
    match state {
        PlatformState::Settled => "settled",
        PlatformState::Updating => "updating",
        PlatformState::Creating => "creating",
        PlatformState::Unmade => "not-created",
        PlatformState::Listed => "listed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_count_that_panics_is_followed_by_another() {
        let latest = Arc::default();
        let running = Running::begin(&latest, Duration::ZERO).unwrap();
        assert!(Running::begin(&latest, Duration::ZERO).is_none());

        let counting = tokio::spawn(async move {
            let _running = running;
            panic!("no such plan");
        });

        assert!(counting.await.unwrap_err().is_panic());
        assert!(Running::begin(&latest, Duration::MAX).is_none());
        assert!(Running::begin(&latest, Duration::ZERO).is_some());
    }
}
