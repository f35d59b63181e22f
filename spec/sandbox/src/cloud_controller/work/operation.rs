//! One operation of an instance or a binding, with the job that stands for it.

use crate::cloud_controller::{
    CloudController,
    broker_client::Identity,
    model::{JobGuid, JobResource, JobState, OperationState, Tables},
    refusal::{Fault, Refusal},
};

/// An operation that a job carries out.
///
/// Another operation may begin meanwhile (a delete during a create). From then on this one changes nothing any more.
#[derive(Clone)]
pub(crate) struct Operation {
    pub(crate) controller: CloudController,
    pub(crate) job: JobGuid,
    pub(crate) resource: JobResource,
    /// The id of the last operation that it wrote down.
    pub(crate) id: u64,
    pub(crate) identity: Identity,
}

/// How an operation failed.
pub(super) struct Failure {
    /// What stands in the last operation.
    pub(super) description: String,
    /// What stands in the job.
    pub(super) error: Refusal,
}

/// The resource is gone, or another operation has begun on it.
#[derive(Debug)]
pub(super) struct Overtaken;

impl Operation {
    /// Notes that the broker has begun, and later how far it is.
    pub(super) fn progress(&self, description: Option<String>) -> Result<(), Overtaken> {
        self.note(OperationState::InProgress, description, |_| {})?;
        self.job_becomes(JobState::Polling);
        Ok(())
    }

    /// Makes sure that this is still the operation of its row.
    pub(super) fn must_be_current(&self) -> Result<(), Overtaken> {
        self.controller.0.state.change(|tables| {
            let last = tables.last_operation_mut(&self.resource);
            last.filter(|last| last.id == self.id)
                .map(|_| ())
                .ok_or(Overtaken)
        })
    }

    /// Ends well; `apply` writes down what came of it, or removes the row.
    pub(super) fn succeeded(&self, description: Option<String>, apply: impl FnOnce(&mut Tables)) {
        match self.note(OperationState::Succeeded, description, apply) {
            Ok(()) => self.job_becomes(JobState::Complete),
            Err(Overtaken) => self.overtaken(),
        }
    }

    /// Ends badly.
    pub(super) fn failed(&self, failure: Failure) {
        match self.note(OperationState::Failed, Some(failure.description), |_| {}) {
            Ok(()) => self.job_fails(&failure.error),
            Err(Overtaken) => self.overtaken(),
        }
    }

    /// Ends without effect, because another operation has begun.
    pub(super) fn overtaken(&self) {
        self.job_fails(
            &Fault::UnableToPerform
                .with("The operation was ended by a later one on the same resource"),
        );
    }

    /// Changes the row if this is still its operation.
    fn note(
        &self,
        state: OperationState,
        description: Option<String>,
        apply: impl FnOnce(&mut Tables),
    ) -> Result<(), Overtaken> {
        self.controller.0.state.change(|tables| {
            let last = tables
                .last_operation_mut(&self.resource)
                .filter(|last| last.id == self.id);
            last.ok_or(Overtaken)?.becomes(state, description);
            apply(tables);
            Ok(())
        })
    }

    fn job_becomes(&self, state: JobState) {
        self.controller.0.state.change(|tables| {
            if let Some(job) = tables.jobs.get_mut(&self.job) {
                job.becomes(state);
            }
        });
    }

    fn job_fails(&self, error: &Refusal) {
        self.controller.0.state.change(|tables| {
            if let Some(job) = tables.jobs.get_mut(&self.job) {
                job.fails(error.entry());
            }
        });
    }
}
