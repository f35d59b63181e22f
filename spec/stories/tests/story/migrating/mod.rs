//! An operator comes from the Go broker, or goes back to it, whatever is in flight.
//!
//! `go_broker` is the Go broker, what it leaves behind and what it makes of what it finds; `begun` are its operations
//! in every state.
//!
//! | module | who takes over |
//! | --- | --- |
//! | `taken_over` | this broker, in the middle of operations |
//! | `whole_life` | this broker, an instance with all that belongs to it |
//! | `fleet` | the operator's errands, all instances at once |
//! | `given_back` | the Go broker |

mod begun;
mod fleet;
mod given_back;
mod go_broker;
mod taken_over;
mod whole_life;

use odb_stories::{Foundation, eventually};
use serde_json::{Value, json};

use crate::TIMEOUT;
use go_broker::deployment;

/// The offering of `manifests/sandbox/redis-broker.yml`.
const OFFERING: &str = "0a58b5c6-6d3c-4a4b-9d0e-3d3f5a3f7a10";

/// The answer of an adapter for Redis, before names are filled in.
const PLAIN: &str = include_str!("plain.yml");

/// The same with secrets, variables and a UAA client; other words in capitals are to be filled in, too.
const SECURE: &str = include_str!("secure.yml");

/// So many tasks may be held up at once.
const WORKERS: usize = 64;

async fn foundation() -> Foundation {
    let setup = Foundation::bare().with_director_admin();
    setup
        .with("/director/durations/workers", WORKERS)
        .start()
        .await
}

/// Holds the next task of an instance until this fault is cleared.
async fn hold(foundation: &Foundation, instance: &str) -> u64 {
    next_task(foundation, instance, json!({ "kind": "hold" })).await
}

/// The next task of an instance fails.
async fn fail(foundation: &Foundation, instance: &str) {
    let effect = json!({ "kind": "fail", "code": 400_001, "message": "no disk space left" });
    next_task(foundation, instance, effect).await;
}

async fn next_task(foundation: &Foundation, instance: &str, effect: Value) -> u64 {
    let fault = json!({
        "deployment": deployment(instance),
        "at": { "place": "start" },
        "effect": effect,
    });
    foundation.control().set_task_fault(&fault).await
}

/// Waits until a fault holds a task.
async fn is_held(foundation: &Foundation, fault: u64) {
    eventually("a task is held up", TIMEOUT, async || {
        let faults = foundation.control().task_faults().await;
        let holds = faults
            .iter()
            .any(|armed| armed["id"] == fault && !armed["holds"].is_null());
        holds.then_some(()).ok_or_else(|| format!("{faults:?}"))
    })
    .await;
}

/// The Director's tasks of an instance, in order.
async fn history_of(foundation: &Foundation, instance: &str) -> Vec<String> {
    let tasks = foundation.director().tasks_of(&deployment(instance)).await;
    let reported = tasks.iter().map(|task| {
        let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
        let from = format!(" from deployment {}", deployment(instance));
        let description = text("description").replace(&from, "");
        let description = description.replace(&format!(" {}", deployment(instance)), "");
        format!("{description}: {}", text("state"))
    });
    reported.collect()
}
