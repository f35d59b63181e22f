//! A service author works on an adapter and a `broker.yml` beside a sandbox (`docs/authors/sandbox.md`, "For authors").
//!
//! | module | contents |
//! | --- | --- |
//! | `beginning` | the sandbox is started for the first time, or fails to start |
//! | `changes` | the author changes something |
//! | `failures` | an error, or a process that ends by itself |
//! | `afterwards` | the sandbox ends, or is started again |

mod afterwards;
mod beginning;
mod changes;
mod failures;

use odb_stories::RunningDevLoop;

/// The message for a started broker.
const UP: [&str; 1] = ["up at https://"];

/// Orders an instance of a plan of the offering `redis`, and waits until it is there.
async fn order(sandbox: &RunningDevLoop, plan: &str, name: &str) {
    let order = ["create-service", "redis", plan, name, "--wait"];
    sandbox.cf().run(&order).await.succeeded();
}

/// The name of the deployment of an instance.
async fn deployment(sandbox: &RunningDevLoop, name: &str) -> String {
    let guid = sandbox.cf().run(&["service", name, "--guid"]).await;
    format!("service-instance_{}", guid.succeeded().trim())
}
