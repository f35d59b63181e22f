//! What a platform user is told when only the operator can help: whom to ask and what to quote.

use std::fmt;

use odb_platform::director::TaskId;

use crate::{
    ids::{InstanceId, RequestId},
    kind::OperationKind,
};

/// What happened to whom. Prints as the sentence with the labelled values that users of the Go broker know
/// (`spec/contracts/broker-behaviour.md` §2), so that the operator's search finds it.
#[derive(Clone, Debug)]
pub struct Complaint<'a> {
    /// The name of the service offering.
    pub service: &'a str,
    /// The service instance.
    pub instance: &'a InstanceId,
    /// The request under which the operator finds the cause in the log.
    pub request: &'a RequestId,
    /// The Director's task, where there is one.
    pub task: Option<TaskId>,
    /// What was asked for: an operation on the instance, or a word such as `bind`.
    pub operation: Option<Asked>,
}

/// What a user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// An operation on the instance.
    Operation(OperationKind),
    /// Credentials.
    Bind,
    /// The end of credentials.
    Unbind,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(kind) => kind.fmt(f),
            Self::Bind => f.write_str("bind"),
            Self::Unbind => f.write_str("unbind"),
        }
    }
}

impl fmt::Display for Complaint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "There was a problem completing your request. Please ask your operator for help and quote the following. \
             service: {}, service-instance-guid: {}, broker-request-id: {}",
            self.service, self.instance, self.request
        )?;
        if let Some(task) = self.task {
            write!(f, ", task-id: {task}")?;
        }
        if let Some(operation) = self.operation {
            write!(f, ", operation: {operation}")?;
        }
        Ok(())
    }
}
