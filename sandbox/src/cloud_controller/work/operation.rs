//! One operation on an instance or a binding, with its job.

use crate::cloud_controller::{
    CloudController,
    broker_client::{BrokerFailure, Identity},
    model::{
        JobGuid, JobOperation, JobResource, JobState, LastOperation, OperationKind, OperationState,
        Tables,
    },
    rejection::{ErrorKind, Rejection},
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

pub(super) struct Failure {
    /// The description in the last operation.
    pub(super) description: String,
    pub(super) error: Rejection,
}

/// The resource is gone, or another operation has begun on it.
#[derive(Debug)]
pub(super) struct Overtaken;

impl Operation {
    /// Becomes the operation of its row and replaces the previous one. `None` if the row is gone.
    pub(super) fn takes_over(&self, kind: OperationKind, state: OperationState) -> Option<()> {
        self.controller.0.state.change(|tables| {
            let last = tables.last_operation_mut(&self.resource)?;
            if last.id == self.id {
                last.becomes(state, None);
            } else {
                *last = LastOperation::new(self.id, kind, state);
            }
            Some(())
        })
    }

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

    pub(super) fn failed(&self, failure: Failure) {
        match self.note(OperationState::Failed, Some(failure.description), |_| {}) {
            Ok(()) => self.job_fails(&failure.error),
            Err(Overtaken) => self.overtaken(),
        }
    }

    /// Ends badly and leaves the row as it is.
    pub(super) fn failed_without_trace(&self, error: &Rejection) {
        self.job_fails(error);
    }

    /// Ends without effect, because another operation has begun or the row is gone.
    pub(super) fn overtaken(&self) {
        let error = self.controller.0.state.change(|tables| {
            let verb = tables
                .jobs
                .get(&self.job)
                .map_or("update", |job| verb(job.operation));
            match tables.last_operation_mut(&self.resource) {
                Some(later) => ErrorKind::UnableToPerform.with(format!(
                    "{verb} could not be completed: {} in progress",
                    word(later.kind)
                )),
                None => gone(&self.resource),
            }
        });
        self.job_fails(&error);
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

    fn job_fails(&self, error: &Rejection) {
        self.controller.0.state.change(|tables| {
            if let Some(job) = tables.jobs.get_mut(&self.job) {
                job.fails(error.entry());
            }
        });
    }
}

impl Failure {
    pub(super) fn timed_out(verb: &str) -> Self {
        Self {
            description: format!("Service Broker failed to {verb} within the required time."),
            error: ErrorKind::JobTimeout.with("The job execution has timed out."),
        }
    }

    /// The broker, asked how far it is, said that it had failed.
    pub(super) fn reported(verb: &str, description: Option<String>) -> Self {
        let description = description.unwrap_or_default();
        Self {
            error: ErrorKind::UnableToPerform
                .with(format!("{verb} could not be completed: {description}")),
            description,
        }
    }

    /// The broker refused, or its answer made no sense.
    pub(super) fn refused(verb: &str, reason: &impl ToString) -> Self {
        Self::reported(verb, Some(reason.to_string()))
    }

    pub(super) fn delete_refused(instance_name: &str, failure: &BrokerFailure) -> Self {
        Self::refused(
            "delete",
            &format!("Service instance {instance_name}: {failure}"),
        )
    }
}

fn verb(operation: JobOperation) -> &'static str {
    match operation {
        JobOperation::CreateInstance
        | JobOperation::CreateBinding
        | JobOperation::CreateKey
        | JobOperation::CreateRouteBinding => "create",
        JobOperation::DeleteInstance
        | JobOperation::DeleteBinding
        | JobOperation::DeleteKey
        | JobOperation::DeleteRouteBinding
        | JobOperation::DeleteBroker => "delete",
        JobOperation::UpdateInstance
        | JobOperation::UpdateBroker
        | JobOperation::SynchronizeCatalog => "update",
    }
}

fn word(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Create => "create",
        OperationKind::Update => "update",
        OperationKind::Delete => "delete",
    }
}

fn gone(resource: &JobResource) -> Rejection {
    let detail = match resource {
        JobResource::Instance(guid) => {
            format!("The service instance could not be found: {guid}.")
        }
        JobResource::Binding(guid) => format!("The binding could not be found: {guid}"),
        JobResource::Broker(guid) => format!("The service broker could not be found: {guid}"),
        JobResource::Gone => "The resource could not be found".to_owned(),
    };
    ErrorKind::ResourceNotFound.with(detail)
}
