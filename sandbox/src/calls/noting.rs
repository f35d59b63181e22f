//! Middleware that records every request, before and after a fault may be injected.

use actix_web::{
    Error, HttpMessage,
    body::BoxBody,
    dev::{ServiceRequest, ServiceResponse},
    middleware::Next,
};

use super::{
    call::{CallNumber, Outcome},
    record::Calls,
};
use crate::faults::ServerName;

/// Marks a request whose connection was cut.
pub(crate) struct ConnectionCut;

pub(crate) async fn note(
    calls: Calls,
    server: ServerName,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let open = OpenCall {
        number: calls.begin(server, request.head()),
        calls,
        outcome: Outcome::Abandoned,
    };
    match next.call(request).await {
        Ok(response) => {
            let was_cut = response.request().extensions().contains::<ConnectionCut>();
            open.ends(if was_cut {
                Outcome::Dropped
            } else {
                let status = response.status().as_u16();
                Outcome::Answered { status }
            });
            Ok(response)
        }
        Err(error) => {
            let status = error.as_response_error().status_code().as_u16();
            open.ends(Outcome::Answered { status });
            Err(error)
        }
    }
}

/// A call that is being worked on. Dropped with the work on it, it was abandoned.
struct OpenCall {
    calls: Calls,
    number: CallNumber,
    outcome: Outcome,
}

impl OpenCall {
    fn ends(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.calls.end(self.number, self.outcome);
    }
}
