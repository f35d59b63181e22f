//! The jobs. Each is a task of its own, which ends when its work is done, when another operation replaces it or when
//! the Cloud Controller stops.
//!
//! | module | contents |
//! | --- | --- |
//! | `operation`, `polling` | the common parts of all operations on instances and bindings |
//! | `provision`, `update`, `deprovision`, `bind`, `unbind` | one operation each; unsharing an instance from a space |
//! | `orders` | the contents of requests to brokers; read requests that a user waits for |
//! | `mitigation` | deleting orphans |
//! | `brokers` | catalogs |

mod bind;
mod brokers;
mod deprovision;
mod mitigation;
mod operation;
mod orders;
mod polling;
mod provision;
mod unbind;
mod update;

use super::CloudController;

pub(crate) use operation::Operation;
pub(crate) use polling::FirstResponse;
pub(crate) use provision::NewInstance;
pub(crate) use update::Change;

impl CloudController {
    /// Runs a task until it ends or the Cloud Controller stops.
    fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.0.stopping.clone();
        let until_stopped = async move {
            stopping.run_until_cancelled_owned(work).await;
        };
        self.0.tasks.spawn_on(until_stopped, &self.0.runtime);
    }
}
