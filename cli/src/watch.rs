//! `odb watch`: the operations in progress, live.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, IsTerminal},
    time::Duration,
};

use clap::Args;
use jiff::Timestamp;
use odb_api_types::management::{InventoryEntry, InventoryOperation, OperationState};
use odb_clients::ServiceError;
use odb_errand::{Console, ExitStatus};
use odb_redaction::Chain;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    brokers::{Broker, all, gather},
    contexts::Selection,
    instance::{operation_cell, operation_kind},
    names::{Filter, list, name, place},
    output::{Output, Table, Tone, state_text},
};

/// Watch operations until Ctrl-C
///
/// On a terminal the operations in progress are refreshed in place. Otherwise each change is a line. Ctrl-C ends with
/// 0.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb watch\n  odb watch --all-contexts --interval 10")]
pub(crate) struct Watch {
    #[command(flatten)]
    filter: Filter,
    /// Seconds between two refreshes.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    interval: u64,
}

/// An operation on an instance of a broker.
#[derive(Clone, Debug)]
struct Watched {
    broker: String,
    entry: InventoryEntry,
    operation: InventoryOperation,
}

/// The operations in progress, by broker and instance.
type Watching = BTreeMap<(String, String), Watched>;

impl Watch {
    pub(crate) async fn run(
        self,
        selection: &Selection,
        output: &Output,
        console: &Console,
    ) -> anyhow::Result<ExitStatus> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let brokers = all(selection, console)?;
        tokio::select! {
            ended = self.watch(&brokers, output, console) => ended,
            _ = interrupt.recv() => Ok(ExitStatus::Success),
            _ = terminate.recv() => Ok(ExitStatus::Success),
        }
    }

    async fn watch(
        &self,
        brokers: &[Broker],
        output: &Output,
        console: &Console,
    ) -> anyhow::Result<ExitStatus> {
        let is_live = io::stdout().is_terminal();
        let (mut before, mut drawn) = (Watching::new(), 0);
        loop {
            let request = async |broker: &Broker| list(&broker.api, &self.filter).await;
            let (answers, is_silent) = match gather(brokers, console, request).await {
                Ok(gathered) => gathered,
                Err(error) if is_transient(&error) => {
                    console.log(Chain(error.as_ref()));
                    (Vec::new(), true)
                }
                Err(error) => return Err(error),
            };
            let answered: BTreeSet<String> =
                answers.iter().map(|(broker, _)| broker.clone()).collect();
            let entries: Vec<(String, InventoryEntry)> = answers
                .into_iter()
                .flat_map(|(broker, entries)| {
                    entries
                        .into_iter()
                        .map(move |entry| (broker.clone(), entry))
                })
                .collect();
            let mut now = in_progress(&entries);
            now.extend(kept(&before, &answered));
            if is_live {
                if is_silent {
                    // The page is drawn below the line about the broker.
                    drawn = 0;
                }
                let text = page(&now, brokers.len() > 1, output);
                // To the first line of the page before, and clear what is below.
                let back = match drawn {
                    0 => String::new(),
                    lines => format!("\u{1b}[{lines}A\u{1b}[J"),
                };
                drawn = text.lines().count();
                output.text(&(back + &text))?;
            } else {
                for line in changes(&before, &now, &entries, brokers.len() > 1) {
                    output.text(&(line + "\n"))?;
                }
            }
            before = now;
            sleep(Duration::from_secs(self.interval.max(1))).await;
        }
    }
}

fn in_progress(entries: &[(String, InventoryEntry)]) -> Watching {
    let watched = entries.iter().filter_map(|(broker, entry)| {
        let operation = entry.operation.clone();
        let operation = operation.filter(|it| it.state == OperationState::InProgress)?;
        let key = (broker.clone(), entry.service_instance_id.to_string());
        let watched = Watched {
            broker: broker.clone(),
            entry: entry.clone(),
            operation,
        };
        Some((key, watched))
    });
    watched.collect()
}

/// Whether the next poll may succeed. A 404 without a code may be of a broker without the list, so it ends the watch.
fn is_transient(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<ServiceError>();
    error.is_some_and(ServiceError::is_transient)
}

/// The operations of the brokers that have not answered, as they were before.
fn kept(before: &Watching, answered: &BTreeSet<String>) -> Watching {
    let silent = before
        .iter()
        .filter(|((broker, _), _)| !answered.contains(broker));
    silent
        .map(|(key, watched)| (key.clone(), watched.clone()))
        .collect()
}

fn page(now: &Watching, has_several: bool, output: &Output) -> String {
    if now.is_empty() {
        return "No operation in progress. Ctrl-C ends.\n".to_owned();
    }
    let mut headings = vec!["NAME", "ORG/SPACE", "OPERATION", "DESCRIPTION"];
    if has_several {
        headings.insert(0, "BROKER");
    }
    let (mut table, time) = (Table::new(&headings), Timestamp::now());
    for watched in now.values() {
        let plain = |text: &str| (text.to_owned(), Tone::Plain);
        let description = watched.operation.description.as_deref();
        let mut cells = vec![
            plain(name(&watched.entry)),
            plain(&place(&watched.entry)),
            operation_cell(Some(&watched.operation), time),
            plain(description.unwrap_or_default()),
        ];
        if has_several {
            cells.insert(0, plain(&watched.broker));
        }
        table.add_toned(cells);
    }
    output.lines(&table)
}

/// What has begun and what has ended, a line each.
fn changes(
    before: &Watching,
    now: &Watching,
    entries: &[(String, InventoryEntry)],
    has_several: bool,
) -> Vec<String> {
    let subject = |watched: &Watched| {
        let name = name(&watched.entry);
        if has_several {
            format!("{}: {name}", watched.broker)
        } else {
            name.to_owned()
        }
    };
    let is_same = |one: &InventoryOperation, other: &InventoryOperation| {
        (one.kind, one.began, &one.request) == (other.kind, other.began, &other.request)
    };
    let mut lines = Vec::new();
    for (key, watched) in before {
        let goes_on = now
            .get(key)
            .is_some_and(|now| is_same(&now.operation, &watched.operation));
        if goes_on {
            continue;
        }
        let entry = entries.iter().find(|(broker, entry)| {
            *broker == key.0 && entry.service_instance_id.as_str() == key.1
        });
        let last = entry.and_then(|(_, entry)| entry.operation.as_ref());
        let state = match last.filter(|last| is_same(last, &watched.operation)) {
            Some(last) => state_text(last.state),
            None if entry.is_none() => "ended: the instance is gone",
            None => "ended",
        };
        let kind = operation_kind(&watched.operation);
        lines.push(format!("{}: {kind} {state}", subject(watched)));
    }
    for (key, watched) in now {
        let is_known = before
            .get(key)
            .is_some_and(|before| is_same(&before.operation, &watched.operation));
        if !is_known {
            let kind = operation_kind(&watched.operation);
            lines.push(format!("{}: {kind} in progress", subject(watched)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use odb_clients::{
        FailureKind,
        http::{Method, Service, StatusCode, TransportError},
    };
    use serde_json::json;

    use super::*;

    fn entries(state: &str) -> Vec<(String, InventoryEntry)> {
        let entry = json!({
            "service_instance_id": "i1", "name": "cache", "deployment": "present",
            "owner": "this_broker",
            "operation": { "kind": "upgrade", "state": state, "began": "2026-01-01T12:00:00Z" },
        });
        vec![("live".to_owned(), serde_json::from_value(entry).unwrap())]
    }

    #[test]
    fn each_change_is_a_line() {
        let (busy, done) = (entries("in progress"), entries("succeeded"));
        let now = in_progress(&busy);
        let none = Watching::new();
        assert_eq!(
            changes(&none, &now, &busy, false),
            ["cache: upgrade in progress"]
        );
        assert!(changes(&now, &now, &busy, false).is_empty());
        assert_eq!(
            changes(&now, &none, &done, true),
            ["live: cache: upgrade succeeded"]
        );
        assert_eq!(
            changes(&now, &none, &[], false),
            ["cache: upgrade ended: the instance is gone"]
        );
    }

    #[test]
    fn a_broker_that_does_not_answer_keeps_its_operations() {
        let before = in_progress(&entries("in progress"));
        let silent = kept(&before, &BTreeSet::new());
        assert!(changes(&before, &silent, &[], true).is_empty());
        let answered = BTreeSet::from(["live".to_owned()]);
        assert!(kept(&before, &answered).is_empty());
    }

    #[test]
    fn only_a_rejection_ends_the_watch() {
        let too_slow = FailureKind::NoResponse {
            source: TransportError::TooSlow { limit_ms: 1 },
        };
        let refused = |status| FailureKind::Refused {
            status,
            code: None,
            name: String::new(),
            description: String::new(),
        };
        for (kind, goes_on) in [
            (too_slow, true),
            (refused(StatusCode::BAD_GATEWAY), true),
            (refused(StatusCode::UNAUTHORIZED), false),
            (refused(StatusCode::NOT_FOUND), false),
        ] {
            let error = ServiceError::new(Service::BrokerManagementApi, Method::GET, "/x", kind);
            let error = anyhow::Error::new(error).context("failed to get service instances");
            assert_eq!(is_transient(&error), goes_on, "{error:?}");
        }
    }
}
