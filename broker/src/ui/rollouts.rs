//! `GET /ui/rollouts`: the latest run of each kind, and how far it has come.

use actix_web::HttpResponse;
use jiff::Timestamp;
use odb_api_types::management::{
    InventoryEntry, LatestRun, OperationState, RunCounts, RunKind, RunState,
};
use serde::Serialize;

use super::{
    answer::{ErrorView, PageError, page},
    instances::all,
    words::{self, Moment, Tone, Toned},
};
use crate::api::{ApiError, RequestKind, Run};

/// How many instances of one state are listed.
const LISTED: usize = 20;

#[derive(Serialize)]
struct Content {
    error: Option<ErrorView>,
    counts_error: Option<ErrorView>,
    runs: Vec<RunView>,
}

#[derive(Serialize)]
struct RunView {
    kind: String,
    state: Toned,
    began: Moment,
    target: &'static str,
    stop_requested: bool,
    lease: Option<LeaseView>,
    counts: Option<Counts>,
    failed: Listing,
    in_progress: Listing,
    next: Option<Next>,
}

#[derive(Serialize)]
struct LeaseView {
    holder: String,
    since: Moment,
    renewed: Moment,
    is_current: bool,
}

#[derive(Serialize)]
struct Counts {
    total: usize,
    done: usize,
    in_progress: usize,
    failed: usize,
    left: usize,
    /// The bar, in percent of all instances: begin and width of each part.
    bar: Vec<(Tone, f64, f64)>,
}

#[derive(Default, Serialize)]
struct Listing {
    instances: Vec<Linked>,
    more: usize,
}

#[derive(Serialize)]
struct Linked {
    id: String,
    name: String,
    place: String,
}

/// What to type next.
#[derive(Serialize)]
struct Next {
    why: &'static str,
    command: String,
}

pub(super) async fn show(run: Run) -> Result<HttpResponse, PageError> {
    let (mut error, mut counts_error) = (None, None);
    let runs = latest(&run).await.unwrap_or_else(|failed| {
        error = Some(ErrorView::of(&failed));
        Vec::new()
    });
    let entries = if runs.is_empty() {
        None
    } else {
        let entries = all(&run).await;
        let noted = entries.map_err(|failed| counts_error = Some(ErrorView::of(&failed)));
        noted.ok()
    };
    let now = Timestamp::now();
    let content = Content {
        error,
        counts_error,
        runs: runs
            .iter()
            .map(|run| {
                RunView::of(
                    run,
                    entries.as_ref().map(|entries| entries.value.as_slice()),
                    now,
                )
            })
            .collect(),
    };
    page(&run, "rollouts", "rollouts.html", &content)
}

async fn latest(run: &Run) -> Result<Vec<LatestRun>, ApiError> {
    let runs = run.operator(RequestKind::Other, |operations, context| async move {
        let (call, now) = (context.call(), Timestamp::now());
        let mut runs = Vec::new();
        for kind in RunKind::ALL {
            runs.extend(
                operations
                    .engine()
                    .journal()
                    .latest(&call, kind, now)
                    .await?,
            );
        }
        Ok(runs)
    });
    runs.await
}

impl RunView {
    fn of(latest: &LatestRun, entries: Option<&[InventoryEntry]>, now: Timestamp) -> Self {
        let run = &latest.run;
        let state = latest.state();
        let listing = |state| Listing::of(latest, entries.unwrap_or_default(), state);
        Self {
            kind: words::capitalized(&run.kind.to_string()),
            state: match state {
                RunState::InProgress => Toned::new("in progress", Tone::Busy),
                RunState::Interrupted => Toned::new("interrupted", Tone::Bad),
                RunState::Succeeded => Toned::new("succeeded", Tone::Good),
                RunState::Failed => Toned::new("failed", Tone::Bad),
            },
            began: Moment::of(run.began, now),
            target: if latest.is_current {
                "what the plans deploy now"
            } else {
                "an earlier configuration"
            },
            stop_requested: run.is_stop_requested && state == RunState::InProgress,
            lease: run.lease.as_ref().map(|lease| LeaseView {
                holder: lease.holder.to_string(),
                since: Moment::of(lease.since, now),
                renewed: Moment::of(lease.renewed, now),
                is_current: latest.is_running,
            }),
            counts: entries.map(|entries| Counts::of(RunCounts::of(latest, entries))),
            failed: listing(OperationState::Failed),
            in_progress: listing(OperationState::InProgress),
            next: next(latest),
        }
    }
}

fn next(latest: &LatestRun) -> Option<Next> {
    let kind = latest.run.kind;
    let of_kind = match kind {
        RunKind::Upgrade => String::new(),
        RunKind::Recreate => " --kind recreate".to_owned(),
    };
    let (why, command) = match (latest.state(), latest.is_current) {
        (RunState::Succeeded, _) => return None,
        (RunState::InProgress, _) => ("Stop it after the operations in progress:", "stop"),
        (RunState::Interrupted | RunState::Failed, true) => {
            ("Continue it where it ended:", "continue")
        }
        (RunState::Interrupted | RunState::Failed, false) => {
            let command = format!("odb rollout start{of_kind} --restart");
            let why = "It cannot be continued, because the configuration has changed. Replace it:";
            return Some(Next { why, command });
        }
    };
    let command = format!("odb rollout {command}{of_kind}");
    Some(Next { why, command })
}

impl Counts {
    fn of(counts: RunCounts) -> Self {
        let parts = [
            (Tone::Good, counts.done),
            (Tone::Busy, counts.in_progress),
            (Tone::Bad, counts.failed),
        ];
        let mut bar = Vec::new();
        let mut begin = 0.0;
        for (tone, count) in parts {
            let width = percent(count, counts.total);
            if width > 0.0 {
                bar.push((tone, begin, width));
                begin += width;
            }
        }
        Self {
            total: counts.total,
            done: counts.done,
            in_progress: counts.in_progress,
            failed: counts.failed,
            left: counts.left(),
            bar,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "for a bar on a screen, and there are no such numbers of instances"
)]
fn percent(part: usize, all: usize) -> f64 {
    if all == 0 {
        0.0
    } else {
        (part as f64 * 1000.0 / all as f64).round() / 10.0
    }
}

impl Listing {
    fn of(latest: &LatestRun, entries: &[InventoryEntry], state: OperationState) -> Self {
        let entries = entries.iter();
        let chosen = entries.filter(|entry| latest.operation_on(entry) == Some(state));
        let chosen: Vec<_> = chosen.collect();
        let listed = chosen.iter().take(LISTED).map(|entry| Linked {
            id: entry.service_instance_id.to_string(),
            name: words::name(entry).to_owned(),
            place: words::place(entry),
        });
        Self {
            instances: listed.collect(),
            more: chosen.len().saturating_sub(LISTED),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unfinished_run_says_what_to_type_next() {
        for (kind, outcome, is_current, is_running, expected) in [
            ("upgrade", None, true, true, Some("odb rollout stop")),
            ("upgrade", None, true, false, Some("odb rollout continue")),
            (
                "recreate",
                Some("failed"),
                true,
                false,
                Some("odb rollout continue --kind recreate"),
            ),
            (
                "upgrade",
                Some("failed"),
                false,
                false,
                Some("odb rollout start --restart"),
            ),
            ("upgrade", Some("succeeded"), true, false, None),
        ] {
            let at = "2026-01-01T12:00:00Z";
            let mut run = json!({
                "id": "9d6c1d2e-54b1-4b3c-9f2a-0f6d1c2b3a4d", "kind": kind, "began": at, "target": "t",
                "is_current": is_current, "is_running": is_running,
                "lease": { "holder": "process 1", "since": at, "renewed": at },
            });
            if let Some(outcome) = outcome {
                run["outcome"] = outcome.into();
            }
            let latest: LatestRun = serde_json::from_value(run).unwrap();
            let next = next(&latest).map(|next| next.command);
            assert_eq!(next.as_deref(), expected, "{latest:?}");
        }
    }

    #[test]
    fn the_parts_of_a_bar_follow_each_other() {
        let counts = Counts::of(RunCounts {
            total: 8,
            done: 4,
            in_progress: 0,
            failed: 1,
        });
        let expected = [(Tone::Good, 0.0, 50.0), (Tone::Bad, 50.0, 12.5)];
        assert_eq!((counts.bar.as_slice(), counts.left), (&expected[..], 3));
    }
}
