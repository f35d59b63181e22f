//! Prints an error with its causes. Nothing else prints errors.

use std::{error::Error, fmt};

/// An error and its causes in one line, joined by colons.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut last = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // A transparent wrapper says what its cause says.
            if text != last {
                write!(f, ": {text}")?;
            }
            last = text;
            cause = error.source();
        }
        Ok(())
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
}
