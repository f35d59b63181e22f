use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How much is read at once, in bytes.
const PIECE: usize = 16 * 1024;

/// A stream of a child, read to its end by a thread of its own.
pub(super) struct Output {
    heard: Arc<Mutex<Heard>>,
    ended: Receiver<()>,
}

/// What has come so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    /// The first bytes, up to the ceiling.
    pub(super) bytes: Vec<u8>,
    /// Whether there were more.
    pub(super) is_cut: bool,
}

impl Output {
    /// Reads what comes, and keeps as much as the ceiling allows. As soon as there is more, `when_cut` is called once.
    pub(super) fn of(
        stream: impl Read + Send + 'static,
        ceiling: usize,
        when_cut: impl FnOnce() + Send + 'static,
    ) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (end, ended) = channel();
        let shared = Arc::clone(&heard);
        thread::spawn(move || {
            read(stream, &shared, ceiling, when_cut);
            // Nobody may be waiting any more.
            let _ = end.send(());
        });
        Self { heard, ended }
    }

    /// Whether more has come than the ceiling allows.
    pub(super) fn is_cut(&self) -> bool {
        lock(&self.heard).is_cut
    }

    /// What has come when the stream has ended, or after that time: somebody who was missed may hold
    /// on to it.
    pub(super) fn at_end(self, patience: Duration) -> Heard {
        let _ = self.ended.recv_timeout(patience);
        lock(&self.heard).clone()
    }
}

fn read(mut stream: impl Read, heard: &Mutex<Heard>, ceiling: usize, when_cut: impl FnOnce()) {
    let mut piece = vec![0; PIECE];
    let mut when_cut = Some(when_cut);
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        let mut heard = lock(heard);
        let room = ceiling - heard.bytes.len();
        heard.bytes.extend_from_slice(&piece[..length.min(room)]);
        heard.is_cut |= length > room;
        if let Some(when_cut) = when_cut.take_if(|_| heard.is_cut) {
            when_cut();
        }
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
