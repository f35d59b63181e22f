//! `odb rollout status`: the latest run of each kind, and how far it has come.

use clap::Args;
use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    management::{LatestRun, RunCounts, RunKind, RunState},
};
use odb_errand::{BrokerApi, BrokerApiRejection, ExitStatus};
use serde::Serialize;

use crate::{
    names::{Filter, list},
    output::{Output, Table, Tone, age},
};

/// Show the latest run of each kind with its counts
///
/// Exit status: 0 no run is in progress, 10 one is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  odb rollout status\n  odb rollout status -o json")]
pub(crate) struct Status {}

#[derive(Debug, Serialize)]
struct Reported {
    #[serde(flatten)]
    run: LatestRun,
    instances: RunCounts,
}

impl Status {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        output: &Output,
    ) -> anyhow::Result<ExitStatus> {
        let mut runs = Vec::new();
        for kind in RunKind::ALL {
            match broker.latest_run(kind).await {
                Ok(run) => runs.push(run),
                Err(error) if error.has_code(Code::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let entries = if runs.is_empty() {
            Vec::new()
        } else {
            list(broker, &Filter::default()).await?
        };
        let headings = [
            "KIND",
            "STATE",
            "BEGAN",
            "TARGET",
            "DONE",
            "IN PROGRESS",
            "FAILED",
            "LEFT",
        ];
        let (mut table, now) = (Table::new(&headings), Timestamp::now());
        let reported = runs.into_iter().map(|run| Reported {
            instances: RunCounts::of(&run, &entries),
            run,
        });
        let reported: Vec<Reported> = reported.collect();
        let mut is_in_progress = false;
        for Reported { run, instances } in &reported {
            let (state, tone) = match run.state() {
                RunState::Interrupted => ("interrupted", Tone::Bad),
                RunState::InProgress => ("in progress", Tone::Busy),
                RunState::Succeeded => ("succeeded", Tone::Good),
                RunState::Failed => ("failed", Tone::Bad),
            };
            is_in_progress |= tone == Tone::Busy;
            let target = if run.is_current {
                "current"
            } else {
                "replaced"
            };
            let plain = |text: String| (text, Tone::Plain);
            table.add_toned([
                plain(run.run.kind.to_string()),
                (state.to_owned(), tone),
                plain(format!("{} ago", age(run.run.began, now))),
                plain(target.to_owned()),
                plain(format!("{}/{}", instances.done, instances.total)),
                plain(instances.in_progress.to_string()),
                plain(instances.failed.to_string()),
                plain(instances.left().to_string()),
            ]);
        }
        output.print(&reported, &table)?;
        Ok(if is_in_progress {
            ExitStatus::Special
        } else {
            ExitStatus::Success
        })
    }
}
