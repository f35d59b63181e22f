//! Bodies that trickle or end too early.

use std::{
    future::Future,
    io,
    num::NonZeroU32,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use actix_web::{
    body::{BodySize, MessageBody},
    rt::time::{Sleep, sleep},
    web::Bytes,
};

/// How often a slow body gives something in a second, unless it has less than that many bytes to give.
const PULSES_PER_SECOND: u32 = 10;
/// The time for sent bytes to leave the server before the connection ends.
const FLUSH_TIME: Duration = Duration::from_millis(20);

/// The body of an answer, or the beginning of it.
pub(super) struct Meagre {
    announced: BodySize,
    rest: Bytes,
    /// How many bytes come at a time.
    portion: usize,
    pulse: Duration,
    end: End,
    pause: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Broken,
}

impl Meagre {
    /// The first bytes of a body that the head announces in full.
    pub(super) fn truncated(announced: BodySize, body: &Bytes, bytes: usize) -> Self {
        Self {
            announced,
            rest: body.slice(..bytes.min(body.len())),
            portion: usize::MAX,
            pulse: Duration::ZERO,
            end: End::Broken,
            pause: None,
        }
    }

    pub(super) fn slow(announced: BodySize, body: Bytes, bytes_per_second: NonZeroU32) -> Self {
        let portion = (bytes_per_second.get() / PULSES_PER_SECOND).max(1);
        Self {
            announced,
            rest: body,
            portion: usize::try_from(portion).unwrap_or(usize::MAX),
            pulse: Duration::from_secs(1) * portion / bytes_per_second.get(),
            end: End::Complete,
            pause: None,
        }
    }
}

impl MessageBody for Meagre {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        self.announced
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(pause) = self.pause.as_mut() {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
            if self.rest.is_empty() {
                return Poll::Ready(self.last());
            }
        }
        if self.rest.is_empty() && self.end == End::Complete {
            return Poll::Ready(None);
        }
        let portion = self.portion.min(self.rest.len());
        let portion = self.rest.split_to(portion);
        let pause = if self.rest.is_empty() {
            FLUSH_TIME
        } else {
            self.pulse
        };
        self.pause = Some(Box::pin(sleep(pause)));
        if portion.is_empty() {
            return self.poll_next(context);
        }
        Poll::Ready(Some(Ok(portion)))
    }
}

impl Meagre {
    fn last(&self) -> Option<io::Result<Bytes>> {
        match self.end {
            End::Complete => None,
            End::Broken => Some(Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "a fault truncates the answer",
            ))),
        }
    }
}
