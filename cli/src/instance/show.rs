//! `odb instance show`.

use std::fmt::Write as _;

use clap::Args;
use jiff::Timestamp;
use odb_api_types::management::{Health, InventoryEntry, OperationStatus};
use odb_clients::ServiceError;
use odb_errand::{BrokerApi, BrokerApiRejection, ExitStatus, harmless, operation_text};
use odb_redaction::Chain;
use serde_json::json;

use super::operation_cell;
use crate::{
    names::{OfInstance, name, place},
    output::{Output, Tone},
};

/// Show a service instance with its last operation and its VMs
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb instance show orders-cache\n  odb instance show orders-cache --org acme --space live -o yaml"
)]
pub(crate) struct Show {
    #[command(flatten)]
    of: OfInstance,
}

impl Show {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        output: &Output,
    ) -> anyhow::Result<ExitStatus> {
        let entry = self.of.find(broker).await?;
        let id = &entry.service_instance_id;
        let operation = match broker.operation(id).await {
            Ok(operation) => Some(operation),
            Err(error) if error.is_gone() || error.is_unknown_route() => None,
            Err(error) => return Err(error.into()),
        };
        // A slow agent must not hide the rest.
        let health = broker.health(id).await;
        let document = json!({
            "instance": entry,
            "operation": operation,
            "health": health.as_ref().ok(),
        });
        let text = text(&entry, operation.as_ref(), &health, output);
        output.print_text(&document, &text)?;
        Ok(ExitStatus::Success)
    }
}

fn text(
    entry: &InventoryEntry,
    operation: Option<&OperationStatus>,
    health: &Result<Health, ServiceError>,
    output: &Output,
) -> String {
    let (last, tone) = operation_cell(entry.operation.as_ref(), Timestamp::now());
    let yes = |value| match value {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    let plan = entry.plan_name.clone();
    let plan = plan.or_else(|| entry.plan_id.as_ref().map(ToString::to_string));
    let rows = [
        ("Name", name(entry).to_owned(), Tone::Plain),
        ("Id", entry.service_instance_id.to_string(), Tone::Plain),
        ("Plan", plan.unwrap_or_default(), Tone::Plain),
        ("Org/space", place(entry), Tone::Plain),
        ("Operation", last, tone),
        ("Up to date", yes(entry.up_to_date).to_owned(), Tone::Plain),
    ];
    let mut text = String::new();
    for (label, value, tone) in rows {
        let label = format!("{label}:");
        let _ = writeln!(text, "{label:<12}{}", output.toned(tone, &harmless(&value)));
    }
    text += &health_text(health, output);
    if let Some(operation) = operation {
        text.push('\n');
        text += &operation_text(operation);
    }
    text
}

fn health_text(health: &Result<Health, ServiceError>, output: &Output) -> String {
    let health = match health {
        Ok(health) => health,
        Err(error) => return format!("Healthy:    unknown ({})\n", Chain(error)),
    };
    let (word, tone) = if health.healthy {
        ("yes", Tone::Good)
    } else {
        ("no", Tone::Bad)
    };
    let mut text = format!("Healthy:    {}\n", output.toned(tone, word));
    for instance in &health.instances {
        let index = instance.index.map(|index| format!("/{index}"));
        let name = format!("{}{}", instance.instance_group, index.unwrap_or_default());
        let tone = if instance.healthy {
            Tone::Good
        } else {
            Tone::Bad
        };
        let state = output.toned(tone, &harmless(&instance.state));
        let _ = writeln!(text, "  {}  {state}", harmless(&name));
    }
    text
}
