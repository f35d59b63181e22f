use std::error::Error;
use std::fmt;

use crate::protocol::{ExitCode, Subcommand};

/// Why an adapter has no answer, for its two readers: one text for the platform user, printed on stdout, and a cause
/// for the operator, printed on stderr (`spec/contracts/adapter-protocol.md`, "Exit codes").
///
/// Any error becomes one for the operator with `?`; then the user reads nothing specific. That is why this type is not
/// an [`Error`] itself.
pub struct AdapterError {
    kind: Kind,
    for_user: Option<String>,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failure,
    NotImplemented,
    BindingExists,
    BindingNotFound,
    AppGuidRequired,
}

impl AdapterError {
    /// A failure that the platform user can fix, with a sentence for that user.
    pub fn for_user(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failure,
            for_user: Some(message.into()),
            cause: None,
        }
    }

    /// A failure that only the operator can do something about.
    pub fn for_operator(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind: Kind::Failure,
            for_user: None,
            cause: Some(cause.into()),
        }
    }

    /// A failure of the service's configuration, which the user can only report to the operator: in
    /// the words that users know from adapters for the Go broker.
    pub fn misconfigured(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::for_user("Contact your operator, service configuration issue occurred")
            .caused_by(cause)
    }

    /// The binding to create exists already.
    pub fn binding_exists() -> Self {
        Self::of_kind(Kind::BindingExists, "binding already exists")
    }

    /// The binding to delete does not exist.
    pub fn binding_not_found() -> Self {
        Self::of_kind(Kind::BindingNotFound, "binding not found")
    }

    /// The binding needs an application GUID and the request has none.
    pub fn app_guid_required() -> Self {
        Self::of_kind(Kind::AppGuidRequired, "app GUID not provided")
    }

    /// The adapter does not implement the subcommand.
    pub fn not_implemented() -> Self {
        Self {
            kind: Kind::NotImplemented,
            for_user: None,
            cause: None,
        }
    }

    /// The same error with what the operator should know about it.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The text for the platform user, if there is any.
    pub fn user_message(&self) -> Option<&str> {
        self.for_user.as_deref()
    }

    /// The exit code. A code about bindings applies only to its subcommand and is an ordinary failure elsewhere.
    pub fn exit_code(&self, subcommand: Subcommand) -> ExitCode {
        match (self.kind, subcommand) {
            (Kind::NotImplemented, _) => ExitCode::NotImplemented,
            (Kind::BindingExists, Subcommand::CreateBinding) => ExitCode::BindingExists,
            (Kind::AppGuidRequired, Subcommand::CreateBinding) => ExitCode::AppGuidRequired,
            (Kind::BindingNotFound, Subcommand::DeleteBinding) => ExitCode::BindingNotFound,
            _ => ExitCode::Failure,
        }
    }

    /// The operator's text: the text for the user, then the chain of causes.
    pub(crate) fn operator_message(&self) -> String {
        let mut parts: Vec<String> = self.for_user.iter().cloned().collect();
        if self.kind == Kind::NotImplemented {
            parts.push("not implemented".to_owned());
        }
        if let Some(cause) = &self.cause {
            parts.push(chain(cause.as_ref()));
        }
        parts.join(": ")
    }

    fn of_kind(kind: Kind, for_user: &str) -> Self {
        Self {
            kind,
            for_user: Some(for_user.to_owned()),
            cause: None,
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for AdapterError {
    fn from(cause: E) -> Self {
        Self::for_operator(cause)
    }
}

impl fmt::Debug for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "AdapterError({:?}, {:?})",
            self.kind,
            self.operator_message()
        )
    }
}

/// An error and everything behind it, joined by colons.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
