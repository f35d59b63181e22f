//! How long the broker may be silent while an operation is followed.

use std::time::Duration;

use tokio::time::Instant;

use super::BrokerApiError;

/// It may be being deployed anew.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);

/// Patience with a broker that is asked again and again how an operation goes: the operation goes on while it cannot tell.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    heard: Instant,
}

impl Patience {
    /// The broker has just answered.
    pub fn new() -> Self {
        Self {
            heard: Instant::now(),
        }
    }

    /// It has answered again.
    pub fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// Whether there is no use in asking again: this does not pass, or nothing else has come for ten minutes.
    pub fn is_over(&self, error: &BrokerApiError) -> bool {
        !error.may_pass() || self.has_run_out()
    }

    /// Whether nothing good has come for ten minutes.
    pub fn has_run_out(&self) -> bool {
        self.heard.elapsed() > LONGEST_SILENCE
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use odb_platform::http::{Method, StatusCode};

    use super::*;

    #[test]
    fn a_broker_that_is_deployed_anew_is_waited_for_and_a_refusal_is_not() {
        let refused = |status| BrokerApiError::Refused {
            method: Method::GET,
            path: "/x".to_owned(),
            status,
            description: String::new(),
            code: None,
        };
        let patience = Patience::new();
        assert!(patience.is_over(&refused(StatusCode::FORBIDDEN)));
        assert!(!patience.is_over(&refused(StatusCode::NOT_FOUND)));
        assert!(!patience.is_over(&refused(StatusCode::BAD_GATEWAY)));
    }
}
