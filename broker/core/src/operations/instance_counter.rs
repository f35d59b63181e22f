//! Counts the service instances for the operator's metrics. A scrape starts a count, at most one per time to live;
//! without scrapes the platform gets no request.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use odb_clients::http::Call;
use odb_config::{Offering, Timings};
use odb_redaction::Chain;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::{Instant, timeout},
};

use super::{InstanceEntry, InstanceSource, Lifecycle, PlatformState};
use crate::{metrics::metrics, offering::quota_uses};

#[derive(Clone, Debug)]
pub(super) struct InstanceCounter {
    pub(super) source: Arc<dyn InstanceSource>,
    pub(super) offering: Arc<Offering>,
    pub(super) timings: Timings,
    /// When the latest count began. Locked while a count runs.
    pub(super) latest: Arc<Mutex<Option<Instant>>>,
}

impl InstanceCounter {
    /// Counts, unless a count is running or recent. Waits for the count up to a timeout; a slower count shows in the
    /// next scrape.
    pub(super) async fn refresh(&self, lifecycle: &Lifecycle) {
        let Some(running) = begin(&self.latest, self.timings.instance_count_ttl) else {
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
        let call = Call::within(self.timings.start_up);
        match self.source.all(&call).await {
            Ok(entries) => record(&self.offering, &entries),
            Err(error) => tracing::warn!(
                code = %error.code(),
                error = %Chain(&error),
                "could not count the service instances for the metrics, which show what was counted last"
            ),
        }
    }
}

/// `None` if a count is running, or the latest is younger than its time to live.
fn begin(
    latest: &Arc<Mutex<Option<Instant>>>,
    cached: Duration,
) -> Option<OwnedMutexGuard<Option<Instant>>> {
    let mut running = latest.clone().try_lock_owned().ok()?;
    if running.is_some_and(|begun| begun.elapsed() < cached) {
        return None;
    }
    *running = Some(Instant::now());
    Some(running)
}

fn record(offering: &Offering, entries: &[InstanceEntry]) {
    // A count that has become zero is recorded, too.
    let mut by_state: BTreeMap<(Option<&str>, &str), u64> = BTreeMap::new();
    let offered = offering.plans.iter().map(|plan| Some(plan.name.as_str()));
    for plan in offered.chain([None]) {
        by_state.extend(STATES.map(|state| ((plan, label(state)), 0)));
    }
    let mut by_plan = BTreeMap::new();
    for entry in entries {
        let plan = offering.plan(&entry.plan).map(|plan| plan.name.as_str());
        *by_state.entry((plan, label(entry.state))).or_default() += 1;
        if entry.state != PlatformState::Unmade {
            *by_plan.entry(entry.plan.clone()).or_default() += 1;
        }
    }
    for ((plan, state), count) in by_state {
        metrics().instances(plan, state, count);
    }
    for quota in quota_uses(offering, &by_plan) {
        if let Some(limit) = quota.limit {
            let resource = quota.resource.unwrap_or("service_instances");
            let used = u64::try_from(quota.used).unwrap_or(u64::MAX);
            metrics().quota(quota.plan, resource, limit, used);
        }
    }
    metrics().instances_counted_now();
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
        let running = begin(&latest, Duration::ZERO).unwrap();
        assert!(begin(&latest, Duration::ZERO).is_none());

        let counting = tokio::spawn(async move {
            let _running = running;
            panic!("no such plan");
        });

        assert!(counting.await.unwrap_err().is_panic());
        assert!(begin(&latest, Duration::MAX).is_none());
        assert!(begin(&latest, Duration::ZERO).is_some());
    }
}
