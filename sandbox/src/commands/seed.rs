//! `odb-sandbox seed`: a fleet.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;

use super::remote::RemoteArgs;
use crate::{
    control::Memory,
    fleet::{FleetOrder, FleetReport},
};

/// Seed service instances without orders, with their deployments and operation records.
///
/// The instances of a plan are copies of its newest deployed instance: order one of each plan first, so that the
/// service adapter generates a manifest. For many instances, start the sandbox with `--no-processes`.
#[derive(Debug, Args)]
pub struct SeedArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Name of the registered broker.
    #[arg(long, value_name = "NAME")]
    broker: String,
    /// Number of service instances.
    #[arg(long, value_name = "N")]
    instances: usize,
    /// Number of organizations.
    #[arg(long, value_name = "N", default_value_t = 3)]
    organizations: usize,
    /// Number of spaces in each organization.
    #[arg(long, value_name = "N", default_value_t = 3)]
    spaces: usize,
    /// Seed of the random fleet. Default: a random seed, which is printed.
    #[arg(long, value_name = "N")]
    random_seed: Option<u64>,
}

impl SeedArgs {
    /// Does what the arguments say.
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.remote.remote()?;
        let order = FleetOrder {
            broker: self.broker,
            instances: self.instances,
            random_seed: self.random_seed.unwrap_or_else(rand::random),
            organizations: self.organizations,
            spaces: self.spaces,
        };
        let before: Memory = remote.get("/memory").await?;
        let report: FleetReport = remote.post("/fleet", &json!(order)).await?;
        let after: Memory = remote.get("/memory").await?;
        let text = summary(&order, &report, before, after);
        match io::stdout().lock().write_all(text.as_bytes()) {
            // The reader closed the pipe because it has read enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn summary(order: &FleetOrder, report: &FleetReport, before: Memory, after: Memory) -> String {
    let grown = after.resident_kib.saturating_sub(before.resident_kib);
    let instances = u64::try_from(report.instances).unwrap_or(u64::MAX).max(1);
    let mut lines = vec![format!(
        "{} service instances in {} ms, random seed {}",
        report.instances, report.milliseconds, order.random_seed
    )];
    let counts = report.conditions.iter().chain(&report.plans);
    lines.extend(counts.map(|(what, count)| format!("{count:>8} {what}")));
    lines.push(format!(
        "memory: {} KiB before, {} KiB after, {} bytes for each",
        before.resident_kib,
        after.resident_kib,
        grown * 1024 / instances
    ));
    lines.join("\n") + "\n"
}
