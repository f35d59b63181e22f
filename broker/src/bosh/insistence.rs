//! Repeats a safe call until it is answered: an operation that cannot be looked at for a while is still in progress.

use std::{future::Future, time::Duration};

use odb_platform::{
    director::DirectorError,
    http::{Call, StatusCode},
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
    let mut pauses = Pauses::new(timings);
    loop {
        match ask(Call::within(timings.driver_call).with_request_id(request.as_str())).await {
            Ok(answer) => return Ok(answer),
            Err(error) if passes(&error) => {
                tracing::warn!(code = %Code::Follow, error = %Chain(&error), "could not {what}, trying again");
            }
            Err(error) => return Err(error),
        }
        pauses.pause().await;
    }
}

/// Pauses that grow.
pub(super) struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    pub(super) fn new(timings: &Timings) -> Self {
        Self {
            next: timings.first_retry,
            longest: timings.longest_retry,
        }
    }

    pub(super) async fn pause(&mut self) {
        sleep(self.next).await;
        self.next = (self.next * 2).min(self.longest);
    }
}

/// The trouble is of a kind that passes: the neighbour is down, overloaded, or its secrets are being changed.
fn passes(error: &DirectorError) -> bool {
    match error {
        DirectorError::NoAnswer { .. }
        | DirectorError::OutOfTime { .. }
        | DirectorError::NoToken { .. }
        | DirectorError::Unauthenticated { .. } => true,
        DirectorError::Refused { status, .. } => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
        }
        DirectorError::NotUnderstood { .. } | DirectorError::NotAllowed { .. } => false,
    }
}
