//! The activity of a connection.

use std::{cell::Cell, rc::Rc, time::Duration};

use actix_web::{dev::RequestHead, http::header};
use tokio::time::Instant;

/// How long a client may keep sending bytes that are discarded, so that it can read the error.
pub(in crate::api) const LINGER: Duration = Duration::from_secs(1);

/// The activity of a connection, shared between its stream and its requests. Both are on one thread.
#[derive(Debug)]
pub(crate) struct Activity {
    in_flight: Cell<usize>,
    quiet_since: Cell<Instant>,
    /// When bytes arrived after the last request was read from the stream.
    has_begun: Cell<Option<Instant>>,
    is_over: Cell<bool>,
}

/// A request on its way to an answer. Dropped, it has one, or needs none any more.
#[derive(Debug)]
pub(crate) struct InFlight(Rc<Activity>);

impl Activity {
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            in_flight: Cell::new(0),
            quiet_since: Cell::new(Instant::now()),
            has_begun: Cell::new(None),
            is_over: Cell::new(false),
        })
    }

    pub(crate) fn begin(self: &Rc<Self>) -> InFlight {
        self.in_flight.set(self.in_flight.get() + 1);
        self.has_begun.set(None);
        InFlight(self.clone())
    }

    /// The rest of a request's body is not read: if its length is unknown, the connection must end.
    pub(in crate::api) fn leave_unread(&self, request: &RequestHead) {
        if request.headers.contains_key(header::TRANSFER_ENCODING) {
            self.end();
        }
    }

    pub(in crate::api) fn end(&self) {
        self.is_over.set(true);
    }

    /// Whether it ends after the current answer, which must announce it.
    pub(in crate::api) fn is_ending(&self) -> bool {
        self.is_over.get()
    }

    pub(super) fn over(&self) -> Option<Instant> {
        let quiet_since = self.quiet_since().filter(|_| self.is_ending())?;
        Some(quiet_since + LINGER)
    }

    pub(super) fn quiet_since(&self) -> Option<Instant> {
        (self.in_flight.get() == 0).then(|| self.quiet_since.get())
    }

    pub(super) fn receive(&self) {
        if self.in_flight.get() == 0 && self.has_begun.get().is_none() {
            self.has_begun.set(Some(Instant::now()));
        }
    }

    /// When the request began that has not been read to the end of its head.
    pub(super) fn begun(&self) -> Option<Instant> {
        self.quiet_since().and(self.has_begun.get())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let activity = &self.0;
        activity.in_flight.set(activity.in_flight.get() - 1);
        if activity.in_flight.get() == 0 {
            activity.quiet_since.set(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_comes_between_requests_is_the_beginning_of_the_next_one() {
        let activity = Activity::new();
        assert!(activity.begun().is_none());
        activity.receive();
        let begun = activity.begun();
        assert!(begun.is_some());
        activity.receive();
        assert_eq!(activity.begun(), begun, "more of the same is no beginning");

        let request = activity.begin();
        assert!(activity.begun().is_none() && activity.quiet_since().is_none());
        activity.receive();
        activity.end();
        assert!(activity.over().is_none(), "the request is answered first");
        drop(request);
        assert!(activity.begun().is_none(), "its body belonged to it");
        assert!(activity.over().is_some_and(|over| over > Instant::now()));
    }
}
