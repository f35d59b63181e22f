//! Waits for a broker's first answer. Jobs of v3 do not wait; v2 answers its own request with it.

use tokio::sync::oneshot;

use super::polling::FirstPoll;
use crate::cloud_controller::broker_client::{AcceptsIncomplete, BrokerFailure};

/// A broker's first answer.
#[derive(Debug)]
pub(crate) enum FirstAnswer {
    Done,
    /// The broker is at it, and asked how far it is.
    Begun,
    Refused(BrokerFailure),
}

/// How a broker is asked, and who wants to hear its first answer.
pub(super) struct Asker {
    pub(super) accepts_incomplete: AcceptsIncomplete,
    pub(super) first_poll: FirstPoll,
    reported: Option<oneshot::Sender<FirstAnswer>>,
}

impl Asker {
    /// A job: no request waits for the broker's answer.
    pub(super) fn job() -> Self {
        Self {
            accepts_incomplete: AcceptsIncomplete::Asynchronous,
            first_poll: FirstPoll::AtOnce,
            reported: None,
        }
    }

    /// A request that waits for the answer. The work continues when the request has ended.
    pub(super) fn request(
        accepts_incomplete: AcceptsIncomplete,
    ) -> (Self, oneshot::Receiver<FirstAnswer>) {
        let (reported, answer) = oneshot::channel();
        (
            Self {
                accepts_incomplete,
                first_poll: FirstPoll::AfterPause,
                reported: Some(reported),
            },
            answer,
        )
    }

    /// Passes the answer on. Later ones are of no interest.
    pub(super) fn receives(&mut self, answer: FirstAnswer) {
        if let Some(reported) = self.reported.take() {
            // The caller may have disconnected.
            let _ = reported.send(answer);
        }
    }
}
