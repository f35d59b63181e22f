//! `odb instance list`.

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use odb_api_types::{
    ids::PlanId,
    management::{
        DeploymentPresence, InventoryEntry, InventoryOperation, OperationState, Owner,
        PlatformOperation,
    },
};
use odb_errand::{Console, ExitStatus};
use serde::Serialize;
use serde_json::Value;

use crate::{
    brokers::{Broker, gather},
    names::{Filter, list, name, place},
    output::{Format, Output, Table, Tone, age, state_text},
};

/// List service instances
///
/// Shows each with its plan, its space, its last operation, and whether it is up to date with what its plan deploys
/// now. `-o wide` adds ids, deployment, owner and the platform's last operation.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb instance list\n  odb instance list --state outdated --plan small\n  odb instance list --all-contexts -o json"
)]
pub(crate) struct List {
    #[command(flatten)]
    filter: Filter,
    /// Only instances in this state; repeatable.
    #[arg(long = "state", value_enum, value_name = "STATE")]
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    /// An operation is in progress
    InProgress,
    /// The last operation has failed
    Failed,
    /// An upgrade would change it
    Outdated,
}

/// An entry with its broker, where there are several.
#[derive(Serialize)]
struct Listed<'e> {
    #[serde(skip_serializing_if = "Option::is_none")]
    broker: Option<&'e str>,
    #[serde(flatten)]
    entry: &'e InventoryEntry,
}

impl List {
    pub(super) async fn run(
        &self,
        brokers: &[Broker],
        output: &Output,
        console: &Console,
    ) -> anyhow::Result<ExitStatus> {
        let request = async |broker: &Broker| list(&broker.api, &self.filter).await;
        let (answers, has_failed) = gather(brokers, console, request).await?;
        let has_several = brokers.len() > 1;
        let wanted = |entry: &&InventoryEntry| {
            self.states.is_empty() || self.states.iter().any(|state| state.is_of(entry))
        };
        let mut listed = Vec::new();
        for (broker, entries) in &answers {
            listed.extend(entries.iter().filter(wanted).map(|entry| Listed {
                broker: has_several.then_some(broker.as_str()),
                entry,
            }));
        }
        let is_wide = output.format == Format::Wide;
        let mut headings = vec!["NAME", "PLAN", "ORG/SPACE", "OPERATION", "UP TO DATE"];
        if has_several {
            headings.insert(0, "BROKER");
        }
        if is_wide {
            headings.extend(["ID", "DEPLOYMENT", "OWNER", "PLATFORM OPERATION"]);
        }
        let (mut table, now) = (Table::new(&headings), Timestamp::now());
        for Listed { broker, entry } in &listed {
            let broker = broker.map(|name| (name.to_owned(), Tone::Plain));
            let mut cells: Vec<_> = broker.into_iter().chain(cells(entry, now)).collect();
            if is_wide {
                cells.extend(more_cells(entry));
            }
            table.add_toned(cells);
        }
        // Tokens are for the broker's clients that poll.
        let documents = listed.iter().map(|listed| {
            let mut document = serde_json::to_value(listed)?;
            if let Some(Value::Object(operation)) = document.get_mut("operation") {
                operation.remove("token");
            }
            Ok(document)
        });
        let documents: Vec<Value> = documents.collect::<Result<_, serde_json::Error>>()?;
        output.print(&documents, &table)?;
        if listed.is_empty() && output.is_for_people() {
            console.log("No service instances");
        }
        Ok(if has_failed {
            ExitStatus::Failure
        } else {
            ExitStatus::Success
        })
    }
}

impl State {
    fn is_of(self, entry: &InventoryEntry) -> bool {
        let state = entry.operation.as_ref().map(|operation| operation.state);
        match self {
            Self::InProgress => state == Some(OperationState::InProgress),
            Self::Failed => state == Some(OperationState::Failed),
            Self::Outdated => entry.up_to_date == Some(false),
        }
    }
}

fn cells(entry: &InventoryEntry, now: Timestamp) -> [(String, Tone); 5] {
    let plain = |text: String| (text, Tone::Plain);
    let on = entry.plan_name.clone();
    let on = on.or_else(|| entry.plan_id.as_ref().map(PlanId::to_string));
    [
        plain(name(entry).to_owned()),
        plain(on.unwrap_or_default()),
        plain(place(entry)),
        operation_cell(entry.operation.as_ref(), now),
        match entry.up_to_date {
            Some(true) => ("yes".to_owned(), Tone::Good),
            Some(false) => ("no".to_owned(), Tone::Busy),
            None => plain("unknown".to_owned()),
        },
    ]
}

fn more_cells(entry: &InventoryEntry) -> [(String, Tone); 4] {
    let deployment = match entry.deployment {
        DeploymentPresence::Present => ("present", Tone::Plain),
        DeploymentPresence::Absent => ("absent", Tone::Bad),
    };
    let owner = match entry.owner {
        Owner::ThisBroker => "this broker",
        Owner::AnotherBroker => "another broker",
        Owner::Unknown => "unknown",
    };
    let platform = entry.platform_operation.as_ref();
    [
        (entry.service_instance_id.to_string(), Tone::Plain),
        (deployment.0.to_owned(), deployment.1),
        (owner.to_owned(), Tone::Plain),
        (platform.map(in_words).unwrap_or_default(), Tone::Plain),
    ]
}

fn in_words(operation: &PlatformOperation) -> String {
    let word = |value: serde_json::Result<Value>| {
        let value = value.ok();
        value.and_then(|value| value.as_str().map(str::to_owned))
    };
    let kind = word(serde_json::to_value(&operation.kind));
    let state = word(serde_json::to_value(&operation.state));
    [kind, state]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The kind of an operation.
pub(crate) fn operation_kind(operation: &InventoryOperation) -> String {
    operation.kind.to_string()
}

/// An operation in a cell: `upgrade failed 3 min ago`.
pub(crate) fn operation_cell(
    operation: Option<&InventoryOperation>,
    now: Timestamp,
) -> (String, Tone) {
    let Some(operation) = operation else {
        return (String::new(), Tone::Plain);
    };
    let (kind, state) = (operation.kind, state_text(operation.state));
    let age = operation.began.map(|began| age(began, now));
    let text = match (operation.state, age) {
        (_, None) => format!("{kind} {state}"),
        (OperationState::InProgress, Some(age)) => format!("{kind} {state} for {age}"),
        (_, Some(age)) => format!("{kind} {state}, began {age} ago"),
    };
    (text, Tone::of(operation.state))
}
