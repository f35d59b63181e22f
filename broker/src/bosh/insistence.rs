//! Repeats a safe call until it is answered: an operation that cannot be looked at for a while is still in progress.

use std::{future::Future, time::Duration};

use odb_platform::{
    director::DirectorError,
    http::{Call, StatusCode, TransportError},
};
use tokio::time::sleep;

use crate::{code::Code, config::Timings, ids::RequestId, telemetry::Chain};

/// Asks until there is an answer, or a refusal that will not go away by itself.
pub(super) async fn insist<T, F, Answer>(
    timings: &Timings,
    request: &RequestId,
    what: &str,
    ask: F,
) -> Result<T, DirectorError>
where
    F: Fn(Call) -> Answer,
    Answer: Future<Output = Result<T, DirectorError>>,
{
    insist_counting(timings, request, what, ask)
        .await
        .map(|(answer, _)| answer)
}

/// Insists, and tells how often there was no answer before there was one.
pub(super) async fn insist_counting<T, F, Answer>(
    timings: &Timings,
    request: &RequestId,
    what: &str,
    ask: F,
) -> Result<(T, u32), DirectorError>
where
    F: Fn(Call) -> Answer,
    Answer: Future<Output = Result<T, DirectorError>>,
{
    let mut pauses = Pauses::new(timings);
    let mut unanswered = 0_u32;
    loop {
        match ask(Call::within(timings.driver_call).with_request_id(request.as_str())).await {
            Ok(answer) => return Ok((answer, unanswered)),
            Err(error) if passes(&error) => {
                tracing::warn!(code = %Code::Follow, error = %Chain(&error), "could not {what}, trying again");
            }
            Err(error) => return Err(error),
        }
        unanswered = unanswered.saturating_add(1);
        pauses.pause().await;
    }
}

/// Pauses that grow.
pub(super) struct Pauses {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl Pauses {
    pub(super) fn new(timings: &Timings) -> Self {
        Self {
            first: timings.first_retry,
            next: timings.first_retry,
            longest: timings.longest_retry,
        }
    }

    pub(super) async fn pause(&mut self) {
        sleep(self.next).await;
        self.next = (self.next * 2).min(self.longest);
    }

    /// The next pause is the first again.
    pub(super) fn shorten(&mut self) {
        self.next = self.first;
    }
}

/// The trouble is of a kind that passes: the neighbour is down, overloaded, or its secrets are being changed.
pub(super) fn passes(error: &DirectorError) -> bool {
    match error {
        // An answer that is too long is just as long the next time.
        DirectorError::NoAnswer { source, .. } => !matches!(source, TransportError::TooLong { .. }),
        DirectorError::OutOfTime { .. }
        | DirectorError::NoToken { .. }
        | DirectorError::Unauthenticated { .. } => true,
        DirectorError::Refused { status, .. } => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
        }
        DirectorError::NotUnderstood { .. } | DirectorError::NotAllowed { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use odb_platform::http::Method;

    use super::*;

    fn no_answer(source: TransportError) -> DirectorError {
        DirectorError::NoAnswer {
            method: Method::GET,
            path: "/tasks/1/output".to_owned(),
            source,
        }
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_waited_for() {
        assert!(!passes(&no_answer(TransportError::TooLong { limit: 1000 })));
        assert!(passes(&no_answer(TransportError::TooSlow {
            limit_ms: 1000
        })));
    }
}
