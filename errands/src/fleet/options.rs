//! Checks the operator's options against what the broker supports.

use anyhow::bail;

use super::{director_version, run::FleetRun};
use crate::broker_api::{BrokerApiRejection, FleetOperation};

impl FleetRun<'_> {
    /// Rejects options that the broker does not support, and contradictory ones, before anything changes.
    pub(super) async fn check_options(&self) -> anyhow::Result<()> {
        if self.run.retries_failed && !self.run.continues {
            bail!("failed instances can be retried only in a continued run: set `continue`, too");
        }
        if self.run.wave.is_some() && !self.run.has_health_gate {
            bail!("a `wave` has no meaning without `health_gate`");
        }
        let wanted = [
            (self.run.continues, "continue"),
            (self.run.is_dry, "dry_run"),
            (self.run.has_health_gate, "health_gate"),
            (
                self.choice.is_narrow(),
                "a selection of plans, organizations, spaces or instances",
            ),
        ];
        let named: Vec<&str> = wanted
            .iter()
            .filter_map(|(is_wished, name)| is_wished.then_some(*name))
            .collect();
        if !named.is_empty() {
            let reported = self
                .broker
                .get::<serde_json::Value>(&["mgmt", "v1", "director"], &[]);
            match self.dependencies.unless_stopped(reported).await? {
                Err(error) if error.is_unknown_route() => bail!(
                    "this broker does not support {}: it is a Go broker, or older than this errand",
                    named.join(" and ")
                ),
                // Another error shows up with the list, too.
                Ok(_) | Err(_) => {}
            }
        }
        if self.operation == FleetOperation::Recreate {
            let checked = director_version::check(&self.broker, self.file.director.as_ref());
            self.dependencies.unless_stopped(checked).await??;
        }
        Ok(())
    }
}
