//! What jobs do. Each is a task of its own, which ends when its work is done, when another operation overtakes it or
//! when the Cloud Controller stops.

mod bind;
mod brokers;
mod deprovision;
mod fetch;
mod mitigation;
mod operation;
mod orders;
mod polling;
mod provision;
mod unbind;
mod update;

use super::CloudController;

pub(crate) use operation::Operation;
pub(crate) use update::Change;

impl CloudController {
    /// Runs a task of ours until it ends or the Cloud Controller stops.
    fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.0.stopping.clone();
        let until_stopped = async move {
            stopping.run_until_cancelled_owned(work).await;
        };
        self.0.tasks.spawn_on(until_stopped, &self.0.runtime);
    }
}
