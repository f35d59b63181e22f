//! Prints an error with its causes. Nothing else prints errors.

use std::{
    error::Error,
    fmt::{self, Write as _},
};

use crate::redact;

/// An error and its causes in one line, joined by colons, with secrets of upstreams and adapters masked.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chain = self.0.to_string();
        let mut last = chain.clone();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // A transparent wrapper has the text of its cause.
            if text != last {
                write!(chain, ": {text}")?;
            }
            last = text;
            cause = error.source();
        }
        f.write_str(&redact(&chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not start the deployment")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn causes_follow_in_one_line() {
        let error = Outer(std::io::Error::other("connection refused"));
        assert_eq!(
            Chain(&error).to_string(),
            "could not start the deployment: connection refused"
        );
    }

    #[test]
    fn what_an_upstream_says_of_a_secret_is_masked() {
        let error = Outer(std::io::Error::other(
            "status 400: `cannot parse redis://:hunter2@10.0.0.1:6379`",
        ));
        assert_eq!(
            Chain(&error).to_string(),
            "could not start the deployment: status 400: `cannot parse redis://:<redacted>@10.0.0.1:6379`"
        );
    }
}
