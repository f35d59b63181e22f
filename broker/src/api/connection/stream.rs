//! The bytes of a connection, and the deadlines for them.

use std::{
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use super::{Activity, connection_limit::ConnectionSlot};

/// How many discarded bytes a client may send, before the connection is closed.
const LINGER_BYTES: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub(in crate::api) struct Timeouts {
    pub(in crate::api) head: Duration,
    pub(in crate::api) idle: Duration,
    /// How long a client may stall the reading of an answer.
    pub(in crate::api) write: Duration,
}

pub(super) type Transport = Either<TcpStream, Box<TlsStream<TcpStream>>>;

#[derive(Debug)]
pub(in crate::api) struct GuardedStream {
    transport: Transport,
    activity: Rc<Activity>,
    timeouts: Timeouts,
    reading: Timer,
    writing: Timer,
    unheard: usize,
    // The last field, so that the slot is freed after the connection is closed.
    _slot: ConnectionSlot,
}

impl GuardedStream {
    pub(super) fn new(transport: Transport, timeouts: Timeouts, slot: ConnectionSlot) -> Self {
        Self {
            transport,
            activity: Activity::new(),
            timeouts,
            reading: Timer::default(),
            writing: Timer::default(),
            unheard: 0,
            _slot: slot,
        }
    }

    pub(in crate::api) fn activity(&self) -> Rc<Activity> {
        self.activity.clone()
    }

    /// When the client has been waited for long enough, unless something comes.
    fn deadline(&self) -> Option<Instant> {
        let begun = self.activity.begun();
        [
            begun.map(|since| since + self.timeouts.head),
            self.activity
                .quiet_since()
                .map(|since| since + self.timeouts.idle),
            self.activity.over(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// A client that reads nothing of an answer has a time limit.
    fn hold_write<T>(
        &mut self,
        outcome: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.writing.stop();
            return outcome;
        }
        let end = self
            .writing
            .end()
            .unwrap_or_else(|| Instant::now() + self.timeouts.write);
        ready!(self.writing.poll_until(end, context));
        Poll::Ready(Err(too_slow()))
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let over = this.activity.over();
        if over.is_some_and(|over| over <= Instant::now() || this.unheard > LINGER_BYTES) {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.transport).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                this.reading.stop();
                let received = buffer.filled().len() - before;
                if over.is_some() {
                    this.unheard += received;
                }
                if received > 0 {
                    this.activity.receive();
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                let Some(end) = this.deadline() else {
                    this.reading.stop();
                    return Poll::Pending;
                };
                ready!(this.reading.poll_until(end, context));
                Poll::Ready(Err(too_slow()))
            }
        }
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = Pin::new(&mut this.transport).poll_write(context, bytes);
        this.hold_write(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let flushed = Pin::new(&mut this.transport).poll_flush(context);
        this.hold_write(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let shut = Pin::new(&mut this.transport).poll_shutdown(context);
        this.hold_write(shut, context)
    }
}

/// One alarm, set anew when its moment changes.
#[derive(Debug, Default)]
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    is_set: bool,
}

impl Timer {
    fn stop(&mut self) {
        self.is_set = false;
    }

    fn end(&self) -> Option<Instant> {
        let sleep = self.sleep.as_ref().filter(|_| self.is_set)?;
        Some(sleep.deadline())
    }

    fn poll_until(&mut self, end: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if sleep.deadline() != end {
            sleep.as_mut().reset(end);
        }
        self.is_set = true;
        sleep.as_mut().poll(context)
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client is too slow")
}
