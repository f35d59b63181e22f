//! The recorded calls.
//!
//! Middleware that records every request, before and after a fault may be injected.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use actix_web::{
    Error, HttpMessage,
    body::BoxBody,
    dev::{RequestHead, ServiceRequest, ServiceResponse},
    middleware::Next,
};

use super::call::{Call, CallNumber, Outcome};
use crate::faults::ServerName;

/// How many calls are kept. Older ones are dropped.
const LIMIT: usize = 5000;

/// The latest calls of one foundation. A clone is the same calls. They end with the process.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    last: CallNumber,
    latest: VecDeque<Call>,
}

impl Calls {
    /// Those of one server, or of all, that came after another, the oldest first.
    pub fn list(&self, after: CallNumber, server: Option<ServerName>) -> Vec<Call> {
        self.with(|record| {
            let calls = record.latest.iter().filter(|call| {
                call.number > after && server.is_none_or(|server| call.server == server)
            });
            calls.cloned().collect()
        })
    }

    pub(super) fn begin(&self, server: ServerName, request: &RequestHead) -> CallNumber {
        self.with(|record| {
            record.last = record.last.next();
            if record.latest.len() == LIMIT {
                record.latest.pop_front();
            }
            let call = Call::begun(record.last, server, request);
            record.latest.push_back(call);
            record.last
        })
    }

    /// Of a call that is forgotten by then, the end is forgotten too.
    pub(super) fn end(&self, number: CallNumber, outcome: Outcome) {
        self.with(|record| {
            let first = record.latest.front().map(|call| call.number);
            let index = first.filter(|first| *first <= number);
            let index = index.and_then(|first| usize::try_from(number.since(first)).ok());
            if let Some(call) = index.and_then(|index| record.latest.get_mut(index)) {
                call.outcome = outcome;
            }
        });
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Record) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_calls_are_forgotten_first() {
        let calls = Calls::default();
        let head = RequestHead::default();
        let numbers: Vec<CallNumber> = (0..=LIMIT)
            .map(|_| calls.begin(ServerName::Director, &head))
            .collect();

        calls.end(numbers[0], Outcome::Abandoned);
        calls.end(numbers[LIMIT], Outcome::Dropped);

        let left = calls.list(CallNumber::default(), None);
        assert_eq!(left.len(), LIMIT);
        assert_eq!(left[0].number, numbers[1]);
        let ended: Vec<CallNumber> = left
            .iter()
            .filter(|call| call.outcome != Outcome::Pending)
            .map(|call| call.number)
            .collect();
        assert_eq!(ended, [numbers[LIMIT]]);
    }
}
