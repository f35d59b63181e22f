//! Why an engine rejects an order, in terms that all engines share. The cause is the engine's own.

use std::{error::Error, fmt};

use odb_api_types::code::Code;

#[derive(Debug)]
pub struct EngineError {
    kind: EngineErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineErrorKind {
    #[error("another operation on the service instance is in progress")]
    Busy,
    #[error("there is no such service instance")]
    NotFound,
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
    #[error("the operator has changed the service since the instance was deployed")]
    PendingChanges,
    #[error("the plan is not in the catalog")]
    UnknownPlan,
    #[error("the service refuses: {0}")]
    UserMessage(String),
    #[error("the service has a binding with this id")]
    BindingExists,
    #[error("the service binds applications only")]
    AppRequired,
    #[error("the service has no binding with this id")]
    UnknownBinding,
    #[error("the binding was made, and its credentials cannot be used ({0})")]
    UnusableBinding(Code),
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
    #[error("the engine has failed ({0})")]
    Internal(Code),
}

impl EngineError {
    pub fn new(kind: EngineErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            source: Some(source.into()),
        }
    }

    pub fn kind(&self) -> &EngineErrorKind {
        &self.kind
    }

    pub fn is_timeout(&self) -> bool {
        self.kind == EngineErrorKind::OutOfTime
    }
}

impl From<EngineErrorKind> for EngineError {
    fn from(kind: EngineErrorKind) -> Self {
        Self { kind, source: None }
    }
}

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
