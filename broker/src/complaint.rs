//! What a platform user is told when only the operator can help: whom to ask and what to quote.

use std::fmt;

use odb_api_types::{
    ids::{InstanceId, RequestId},
    kind::OperationKind,
};
use odb_platform::director::TaskId;

use crate::{config::ErrorDetail, telemetry::redact};

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

/// What a cause follows when users are told of it. The words are the Go broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The answer to a request.
    Answer,
    /// How an operation has ended.
    Ending,
}

/// The longest cause that users are told. Platforms cut at 10,000 characters.
const MAX_CAUSE: usize = 2000;

impl Told {
    /// What users read: `words`, and the cause behind them where the operator lets users see it. This is the one place that
    /// `broker.expose_operational_errors` moves (`spec/contracts/broker-behaviour.md` §2).
    pub fn with_cause(self, words: String, cause: &str, detail: ErrorDetail) -> String {
        let joint = match self {
            Self::Answer => " - error-message: ",
            Self::Ending => ", error-message: ",
        };
        match detail {
            ErrorDetail::Hidden => words,
            ErrorDetail::Exposed => {
                // Redacted first: half a secret is none that a mask would know.
                let cause: String = redact(cause).chars().take(MAX_CAUSE).collect();
                format!("{words}{joint}{cause}")
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_read_causes_where_the_operator_lets_them_and_not_at_any_length() {
        let told = |told: Told, detail| told.with_cause("It failed".to_owned(), "no host", detail);
        assert_eq!(told(Told::Answer, ErrorDetail::Hidden), "It failed");
        assert_eq!(told(Told::Ending, ErrorDetail::Hidden), "It failed");
        assert_eq!(
            told(Told::Answer, ErrorDetail::Exposed),
            "It failed - error-message: no host"
        );
        assert_eq!(
            told(Told::Ending, ErrorDetail::Exposed),
            "It failed, error-message: no host"
        );
        let long = "x".repeat(100_000);
        let told = Told::Answer.with_cause(String::new(), &long, ErrorDetail::Exposed);
        assert!(told.len() < 2100, "{}", told.len());
    }

    #[test]
    fn users_read_no_secret_of_a_cause() {
        let cause = format!("{} refused password=hunter2", "x".repeat(MAX_CAUSE - 20));
        let told = Told::Ending.with_cause("It failed".to_owned(), &cause, ErrorDetail::Exposed);
        assert!(!told.contains("hunter"), "{told}");
    }
}
