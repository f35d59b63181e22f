//! Starts to report the number of instances to collectors of telemetry.

use odb_config::{Config, UsageReporting};
use odb_core::{
    engine::Engine,
    operations::{InstanceSource, Lifecycle, UsageReports},
};

/// Reports in the background from this call on, if `broker.enable_telemetry` is set.
pub(crate) fn report(
    config: &Config,
    source: Option<&InstanceSource>,
    engine: &dyn Engine,
    lifecycle: &Lifecycle,
) {
    if config.broker.usage_reports == UsageReporting::Off {
        return;
    }
    let Some(source) = source else {
        tracing::warn!(
            "`broker.enable_telemetry` is set and the broker cannot list service instances, so there is nothing to report; \
             give `cf` or `service_instances_api`"
        );
        return;
    };
    let limit = config.broker.timings.start_up;
    let reports = UsageReports::new(source.clone(), config.offering.clone(), limit);
    let (ends, stopping) = (engine.ended(), lifecycle.stopping());
    lifecycle.runtime().spawn(async move {
        stopping.run_until_cancelled(reports.run(ends)).await;
    });
}
