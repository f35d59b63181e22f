//! The requests of the cf command line v8, command by command (`spec/contracts/platform-apis.md`, "Calls per command,
//! in order"), and the parts of the answers that it reads.
//!
//! | file | contents |
//! | --- | --- |
//! | `targets` | finding and creating organizations and spaces |
//! | `brokers` | the operator's commands for brokers, access and offerings |
//! | `instances` | the developer's commands for a service instance |
//! | `bindings` | apps and keys |
//! | `terminal` | runs the commands |

mod bindings;
mod brokers;
mod instances;
mod targets;
mod terminal;

use serde_json::Value;

use crate::{broker::FakeBroker, platform::Platform};
use terminal::{Call, Terminal, get};

fn instance(name: &str) -> Call {
    get(&format!(
        "/v3/service_instances?names={name}&page=1&per_page=1&space_guids={{space}}"
    ))
    .reads("/resources/0/name", name)
    .keeps("instance", "/resources/0/guid")
}

fn one_offering(more: &str) -> Call {
    get(&format!(
        "/v3/service_offerings?fields[service_broker]=name,guid&names=redis&page=1&per_page=2{more}"
    ))
    .reads("/pagination/total_results", 1)
    .reads("/included/service_brokers/0/name", "redis-broker")
    .keeps("offering", "/resources/0/guid")
}

fn registration(broker: &FakeBroker) -> Value {
    broker.registration("redis-broker")
}

/// A broker that is registered with all plans open, at the terminals of an admin and a developer.
async fn marketplace() -> (Platform, FakeBroker, Terminal, Terminal) {
    let (platform, broker) = Platform::with_broker().await;
    let admin = Terminal::of(&platform, &platform.admin);
    let developer = Terminal::of(&platform, &platform.developer);
    (platform, broker, admin, developer)
}
