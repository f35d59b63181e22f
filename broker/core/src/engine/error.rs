//! Why an engine rejects an order, in terms that all engines share. The cause is the engine's own.

use std::{error::Error, fmt};

use odb_api_types::code::Code;

/// Why an engine rejects an order.
#[derive(Debug)]
pub struct EngineError {
    kind: EngineErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of an engine error, which decides the answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineErrorKind {
    /// Another operation is in progress.
    #[error("another operation on the service instance is in progress")]
    Busy,
    /// There is no such instance.
    #[error("there is no such service instance")]
    NotFound,
    /// An instance with other attributes has the id.
    #[error("the service instance exists with other attributes, or its creation has failed")]
    Taken,
    /// A deployment with the instance's name belongs to another owner; the code says which kind.
    #[error("the service instance belongs to another broker ({0})")]
    Foreign(Code),
    /// The time of the request was used up before the point of no return.
    #[error("the time of the request was used up before anything was begun")]
    OutOfTime,
    /// An upstream of the engine did not answer in time and may have made a change.
    #[error("there was no answer in time ({0})")]
    TimedOut(Code),
    /// The operator has changed the service since the instance was deployed.
    #[error("the operator has changed the service since the instance was deployed")]
    PendingChanges,
    /// The plan is not in the catalog.
    #[error("the plan is not in the catalog")]
    UnknownPlan,
    /// The service author's own words for the user.
    #[error("the service refuses: {0}")]
    UserMessage(String),
    /// The service has a binding of this id.
    #[error("the service has a binding with this id")]
    BindingExists,
    /// The service binds applications only.
    #[error("the service binds applications only")]
    AppRequired,
    /// The service has no binding of this id.
    #[error("the service has no binding with this id")]
    UnknownBinding,
    /// A binding was created, but its credentials cannot be used.
    #[error("the binding was made, and its credentials cannot be used ({0})")]
    UnusableBinding(Code),
    /// There is nothing to cancel.
    #[error("no operation on the service instance is in progress")]
    NothingInProgress,
    /// The operation cannot be cancelled; the text has the reason and a remedy for the operator.
    #[error("the operation cannot be cancelled: {0}")]
    NotCancellable(String),
    /// The foundation did not answer, or refused.
    #[error("the foundation does not answer ({0})")]
    Unavailable(Code),
    /// The instance is deleted, but residual resources remain. A repeated delete may help.
    #[error("something that the service instance leaves behind could not be removed")]
    CleanUp,
    /// Only the operator can help.
    #[error("the engine has failed ({0})")]
    Internal(Code),
}

impl EngineError {
    /// An error with the engine's own error as the cause.
    pub fn new(kind: EngineErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            source: Some(source.into()),
        }
    }

    /// The kind, which decides the answer.
    pub fn kind(&self) -> &EngineErrorKind {
        &self.kind
    }

    /// The request budget was used up, and nothing was started.
    pub fn is_timeout(&self) -> bool {
        self.kind == EngineErrorKind::OutOfTime
    }
}

impl From<EngineErrorKind> for EngineError {
    fn from(kind: EngineErrorKind) -> Self {
        Self { kind, source: None }
    }
}

/// Reads as the engine's own error, which says more than the kind.
impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => source.fmt(f),
            None => self.kind.fmt(f),
        }
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().and_then(|source| source.source())
    }
}
