//! The user's story and everything that may happen to it, told by the executables themselves: a sandbox, a broker and
//! an adapter for each test, spoken to as platforms, users and operators do.
//!
//! | module | what may happen |
//! | --- | --- |
//! | `redis_story`, `marketplace` | nothing: somebody orders a Redis, uses it, gives it back |
//! | `resumption`, `shutdown` | the broker ends in the middle |
//! | `hang_up` | the client goes away in the middle |
//! | `bad_requests`, `repeats` | the client asks for what cannot be, or asks again |
//! | `bad_adapters`, `hanging_adapter` | the adapter misbehaves |
//! | `failed_operations`, `silent_director` | the Director fails, or does not answer |
//! | `parallel_orders`, `quotas` | many ask at once |
//! | `start_up` | the configuration is wrong, or a neighbour is not there |
//! | `secrets` | somebody reads along |

mod bad_adapters;
mod bad_requests;
mod failed_operations;
mod hang_up;
mod hanging_adapter;
mod marketplace;
mod parallel_orders;
mod quotas;
mod redis_story;
mod repeats;
mod resumption;
mod secrets;
mod shutdown;
mod silent_director;
mod start_up;
mod upgrades;

use std::time::Duration;

/// How long what is waited for may take. Most of it takes a second.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the Director is asked to do for an order of the plan `small`, when all goes well.
fn history_of_an_order(instance: &str) -> Vec<String> {
    vec![
        "create deployment: done".to_owned(),
        format!("run errand health-check from deployment service-instance_{instance}: done"),
    ]
}

/// And for its deletion.
fn history_of_a_deletion(instance: &str) -> Vec<String> {
    vec![
        format!("run errand cleanup-data from deployment service-instance_{instance}: done"),
        format!("delete deployment service-instance_{instance}: done"),
    ]
}
