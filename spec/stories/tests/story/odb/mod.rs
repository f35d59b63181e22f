//! An operator with `odb`.
//!
//! | file | contents |
//! | --- | --- |
//! | `contexts` | which broker, with which credentials |
//! | `instances` | the instances of a broker |
//! | `rollouts` | upgrades of many instances |
//! | `brokers` | the brokers themselves: check, doctor, plans, quotas, orphans |

mod brokers;
mod contexts;
mod instances;
mod rollouts;

use odb_stories::{Broker, Foundation, Odb};

/// A registered broker without quotas, and an operator with a context for it. Each name gets an instance.
async fn operator_of(names: &[&str]) -> (Foundation, Broker, Odb) {
    let foundation = Foundation::setup().without_processes().start().await;
    let broker = foundation.broker().without_quotas().start().await;
    let cf = foundation.cf();
    cf.register(&broker).await;
    for name in names {
        let order = ["create-service", "redis", "small", name, "--wait"];
        cf.run(&order).await.succeeded();
    }
    let odb = Odb::of(&foundation, &broker).await;
    (foundation, broker, odb)
}
