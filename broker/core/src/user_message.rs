//! The message for a platform user when only the operator can help: the contact and the values to quote.

use std::fmt;

use odb_api_types::ids::{InstanceId, RequestId};
use odb_config::ErrorDetail;
use odb_redaction::redact;

/// The values of a user message. Displayed as the sentence with the labelled values that users of the Go broker know
/// (`spec/contracts/broker-behaviour.md` §2), so that the operator's search finds it.
#[derive(Clone, Debug)]
pub struct UserMessage<'a> {
    pub service: &'a str,
    pub instance: &'a InstanceId,
    pub request: &'a RequestId,
    /// The engine's reference to the operation, with its label: `task-id: 4711`.
    pub reference: Option<String>,
    /// The request: an operation on the instance, `bind` or `unbind`.
    pub operation: Option<String>,
}

/// The text before a cause in the answer to a request. The words are the Go broker's.
pub const IN_ANSWER: &str = " - error-message: ";

/// The text before a cause in the outcome of an operation.
pub const IN_OUTCOME: &str = ", error-message: ";

/// The longest cause that users read. Platforms cut at 10,000 characters.
const MAX_CAUSE: usize = 2000;

/// The message for users: `words`, followed by the cause if the operator lets users see it. Only this function reads
/// `broker.expose_operational_errors` (`spec/contracts/broker-behaviour.md` §2).
pub fn with_cause(words: String, joint: &str, cause: &str, detail: ErrorDetail) -> String {
    match detail {
        ErrorDetail::Hidden => words,
        ErrorDetail::Exposed => {
            // Redacted first: half a secret is none that a mask would know.
            let cause: String = redact(cause).chars().take(MAX_CAUSE).collect();
            format!("{words}{joint}{cause}")
        }
    }
}

impl fmt::Display for UserMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "There was a problem completing your request. Please ask your operator for help and quote the following. \
             service: {}, service-instance-guid: {}, broker-request-id: {}",
            self.service, self.instance, self.request
        )?;
        if let Some(reference) = &self.reference {
            write!(f, ", {reference}")?;
        }
        if let Some(operation) = &self.operation {
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
        let read =
            |joint, cause: &str, detail| with_cause("It failed".to_owned(), joint, cause, detail);
        for joint in [IN_ANSWER, IN_OUTCOME] {
            assert_eq!(read(joint, "no host", ErrorDetail::Hidden), "It failed");
        }
        assert_eq!(
            read(IN_ANSWER, "no host", ErrorDetail::Exposed),
            "It failed - error-message: no host"
        );
        assert_eq!(
            read(IN_OUTCOME, "no host", ErrorDetail::Exposed),
            "It failed, error-message: no host"
        );
        let long = read(IN_ANSWER, &"x".repeat(100_000), ErrorDetail::Exposed);
        assert!(long.len() < 2100, "{}", long.len());
    }

    #[test]
    fn users_read_no_secret_of_a_cause() {
        let cause = format!("{} refused password=hunter2", "x".repeat(MAX_CAUSE - 20));
        let text = with_cause(
            "It failed".to_owned(),
            IN_OUTCOME,
            &cause,
            ErrorDetail::Exposed,
        );
        assert!(!text.contains("hunter"), "{text}");
    }
}
