//! The outcome of operations whose job was lost.

use super::{
    BrokerState, JobGuid, JobOperation, JobResource, JobState, OperationKind, OperationState,
    Tables,
};
use crate::cloud_controller::rejection::ErrorKind;

impl Tables {
    /// Fails the jobs that were at work when the Cloud Controller stopped, and the operations that they stood for, so
    /// that they can be ordered again. The clean-up jobs of a real one do the same when a worker has died
    /// (`spec/contracts/osb-api.md`, "What CF does with answers"); nothing is mitigated, for the broker may still be
    /// at it.
    pub(crate) fn end_lost_work(&mut self) {
        let lost: Vec<JobGuid> = self
            .jobs
            .values()
            .filter(|job| matches!(job.state, JobState::Processing | JobState::Polling))
            .map(|job| job.guid.clone())
            .collect();
        for guid in lost {
            let Some(job) = self.jobs.get_mut(&guid) else {
                continue;
            };
            let error = ErrorKind::JobTimeout.with("The job execution has timed out.");
            job.fails(error.entry());
            let (resource, operation) = (job.resource.clone(), job.operation);
            if let JobResource::Broker(broker) = &resource {
                if let Some(row) = self.brokers.get_mut(broker) {
                    row.state = match operation {
                        JobOperation::DeleteBroker => BrokerState::Available,
                        _ => BrokerState::SynchronizationFailed,
                    };
                }
                continue;
            }
            let of_binding = matches!(resource, JobResource::Binding(_));
            if let Some(last) = self.last_operation_mut(&resource)
                && last.is_running()
            {
                let verb = match (last.kind, of_binding) {
                    (OperationKind::Create, false) => "provision",
                    (OperationKind::Update, _) => "update",
                    (OperationKind::Delete, false) => "deprovision",
                    (OperationKind::Create, true) => "bind",
                    (OperationKind::Delete, true) => "unbind",
                };
                let said = format!("Service Broker failed to {verb} within the required time.");
                last.becomes(OperationState::Failed, Some(said));
            }
        }
    }
}
