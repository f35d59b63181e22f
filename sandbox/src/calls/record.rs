//! The recorded calls.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use actix_web::dev::RequestHead;

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
