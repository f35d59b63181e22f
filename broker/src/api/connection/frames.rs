//! What HTTP/2 may ask for on one connection.
//!
//! The library bounds how long a header block may be once it is decoded (16 MiB), and how many streams may be reset
//! before anybody looks at them (20); it sets no limit to streams that are open. This reads the nine bytes before each
//! frame, in both directions, and nothing else; and it adds to the SETTINGS with which a server begins what clients may
//! rely on (RFC 9113 §4.1, §6.5.2).

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

/// What is announced: requests at once on one connection.
const STREAMS: u32 = 128;
/// Beyond this a client takes no notice of what is announced.
const MOST_STREAMS: usize = 2 * STREAMS as usize;
/// A header block as it is sent. Platforms send one kilobyte.
const HEADER_BLOCK: u32 = 8 * 1024;
/// A header block as it is meant, by the count of RFC 9113 §6.5.2. Only announced; the count of headers is enforced.
const HEADER_LIST: u32 = 64 * 1024;
/// Streams that a client may take back within [`WINDOW`].
const RESETS: usize = 200;
/// Frames that carry nothing within [`WINDOW`].
const EMPTY_FRAMES: usize = 10_000;
const WINDOW: Duration = Duration::from_secs(10);
/// Header blocks that are read in one go; then the requests that they began get their turn.
const BLOCKS_IN_A_ROW: usize = 16;
/// The same in bytes. Each of them may stand for a header, which takes a hundred once it is decoded.
const BLOCK_BYTES_IN_A_ROW: u32 = 16 * 1024;

const PREFACE: usize = 24;
const HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// A client asks for more than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Excess {
    #[error("more than {MOST_STREAMS} streams are open")]
    Streams,
    #[error("a header block is larger than {HEADER_BLOCK} bytes")]
    HeaderBlock,
    #[error("more than {RESETS} streams were taken back in a short time")]
    Resets,
    #[error("more than {EMPTY_FRAMES} frames carried nothing in a short time")]
    EmptyFrames,
}

/// The frames of one connection.
#[derive(Debug)]
pub(super) struct Frames {
    incoming: Scanner,
    outgoing: Scanner,
    open: BTreeMap<u32, Instant>,
    highest: u32,
    /// Since when a header block is unfinished, and its size so far.
    block: Option<(Instant, u32)>,
    /// Since when a frame without content for a request is unfinished.
    unfinished: Option<Instant>,
    window: Instant,
    resets: usize,
    empty: usize,
    blocks: usize,
    block_bytes: u32,
}

impl Frames {
    pub(super) fn new() -> Self {
        Self {
            incoming: Scanner::after(PREFACE),
            outgoing: Scanner::after(0),
            open: BTreeMap::new(),
            highest: 0,
            block: None,
            unfinished: None,
            window: Instant::now(),
            resets: 0,
            empty: 0,
            blocks: 0,
            block_bytes: 0,
        }
    }

    /// The client has sent these bytes.
    pub(super) fn receive(&mut self, mut bytes: &[u8]) -> Result<(), Excess> {
        let now = Instant::now();
        if now.duration_since(self.window) >= WINDOW {
            (self.window, self.resets, self.empty) = (now, 0, 0);
        }
        while let Some(frame) = self.incoming.next(&mut bytes) {
            self.look_at(frame, now)?;
        }
        if self.incoming.is_between_frames() || self.incoming.is_in(DATA) {
            self.unfinished = None;
        } else {
            self.unfinished.get_or_insert(now);
        }
        Ok(())
    }

    /// These bytes have been sent to the client.
    pub(super) fn send(&mut self, mut bytes: &[u8]) {
        while let Some(frame) = self.outgoing.next(&mut bytes) {
            let ends = matches!(frame.kind, DATA | HEADERS) && frame.has(END_STREAM);
            if ends || frame.kind == RST_STREAM {
                self.open.remove(&frame.stream);
            }
        }
    }

    /// When the oldest request began that has no complete answer.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.open.values().min().copied()
    }

    /// Since when something other than a body is on its way, and has not arrived.
    pub(super) fn begun(&self) -> Option<Instant> {
        self.block.map(|(since, _)| since).or(self.unfinished)
    }

    /// Enough requests have begun for now.
    pub(super) fn take_breath(&mut self) -> bool {
        let enough = self.blocks >= BLOCKS_IN_A_ROW || self.block_bytes >= BLOCK_BYTES_IN_A_ROW;
        if enough {
            (self.blocks, self.block_bytes) = (0, 0);
        }
        enough
    }

    fn look_at(&mut self, frame: Frame, now: Instant) -> Result<(), Excess> {
        match frame.kind {
            HEADERS => {
                self.blocks += 1;
                if frame.stream > self.highest {
                    self.highest = frame.stream;
                    self.open.insert(frame.stream, now);
                }
                if self.open.len() > MOST_STREAMS {
                    return Err(Excess::Streams);
                }
                self.grow_block((now, 0), frame)?;
            }
            CONTINUATION => {
                let block = self.block.unwrap_or((now, 0));
                self.grow_block(block, frame)?;
            }
            RST_STREAM => {
                self.open.remove(&frame.stream);
                self.resets += 1;
                if self.resets > RESETS {
                    return Err(Excess::Resets);
                }
            }
            DATA if frame.length > 0 => return Ok(()),
            _ => {}
        }
        self.empty += 1;
        if self.empty > EMPTY_FRAMES {
            return Err(Excess::EmptyFrames);
        }
        Ok(())
    }

    fn grow_block(&mut self, (since, size): (Instant, u32), frame: Frame) -> Result<(), Excess> {
        let size = size.saturating_add(frame.length);
        self.block_bytes = self.block_bytes.saturating_add(frame.length);
        if size > HEADER_BLOCK {
            return Err(Excess::HeaderBlock);
        }
        self.block = (!frame.has(END_HEADERS)).then_some((since, size));
        Ok(())
    }
}

/// The SETTINGS frame at the beginning of `bytes` with our limits in it, and how long it was without them.
pub(super) fn announce(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let head: [u8; HEAD] = bytes.get(..HEAD)?.try_into().ok()?;
    let frame = Frame::of(head);
    let length = HEAD + usize::try_from(frame.length).ok()?;
    if frame.kind != SETTINGS || frame.has(0x1) {
        return None;
    }
    let mut announced = bytes.get(..length)?.to_vec();
    for (setting, value) in [(3_u16, STREAMS), (6, HEADER_LIST)] {
        announced.extend(setting.to_be_bytes());
        announced.extend(value.to_be_bytes());
    }
    let payload = u32::try_from(announced.len() - HEAD).ok()?.to_be_bytes();
    announced[..3].copy_from_slice(&payload[1..]);
    Some((announced, length))
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    length: u32,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Frame {
    fn of(head: [u8; HEAD]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = head;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            // The first bit is reserved.
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        }
    }

    fn has(self, flag: u8) -> bool {
        self.flags & flag == flag
    }
}

/// Finds the frames in a stream of bytes.
#[derive(Debug)]
struct Scanner {
    /// Bytes up to the next head.
    skip: usize,
    head: [u8; HEAD],
    filled: usize,
    kind: u8,
}

impl Scanner {
    fn after(skip: usize) -> Self {
        Self {
            skip,
            head: [0; HEAD],
            filled: 0,
            kind: SETTINGS,
        }
    }

    /// The next frame whose head is complete; what is looked at is taken from `bytes`.
    fn next(&mut self, bytes: &mut &[u8]) -> Option<Frame> {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        *bytes = &bytes[skipped..];
        let taken = (HEAD - self.filled).min(bytes.len());
        self.head[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        *bytes = &bytes[taken..];
        if self.filled < HEAD {
            return None;
        }
        let frame = Frame::of(self.head);
        self.filled = 0;
        self.kind = frame.kind;
        self.skip = usize::try_from(frame.length).unwrap_or(usize::MAX);
        Some(frame)
    }

    fn is_between_frames(&self) -> bool {
        self.skip == 0 && self.filled == 0
    }

    fn is_in(&self, kind: u8) -> bool {
        self.skip > 0 && self.filled == 0 && self.kind == kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        [head, payload.to_vec()].concat()
    }

    fn begun() -> Frames {
        let mut frames = Frames::new();
        frames.receive(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        frames.receive(&frame(SETTINGS, 0, 0, &[])).unwrap();
        frames
    }

    #[tokio::test]
    async fn streams_are_open_until_their_answer_is_complete_however_the_bytes_are_cut() {
        let mut frames = begun();
        for stream in [1, 3, 5] {
            for byte in frame(HEADERS, END_HEADERS | END_STREAM, stream, b"abc") {
                frames.receive(&[byte]).unwrap();
            }
        }
        assert_eq!(frames.open.len(), 3);
        let answer = [
            frame(SETTINGS, 0, 0, b"123456"),
            frame(HEADERS, END_HEADERS, 1, b"abc"),
            frame(DATA, END_STREAM, 1, b"{}"),
            frame(HEADERS, END_HEADERS, 3, b"abc"),
        ]
        .concat();
        for byte in answer {
            frames.send(&[byte]);
        }
        assert_eq!(frames.open.keys().copied().collect::<Vec<_>>(), [3, 5]);
        frames.receive(&frame(RST_STREAM, 0, 5, &[0; 4])).unwrap();
        // Trailers begin nothing.
        frames
            .receive(&frame(HEADERS, END_HEADERS, 1, b"abc"))
            .unwrap();
        assert_eq!(frames.open.keys().copied().collect::<Vec<_>>(), [3]);
    }

    #[tokio::test]
    async fn what_is_too_much_is_named() {
        let opening = |n: u32| frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, b"abc");
        let mut frames = begun();
        let ended = (0..1000).find_map(|n| frames.receive(&opening(n)).err());
        assert_eq!(ended, Some(Excess::Streams));

        let mut frames = begun();
        frames.receive(&frame(HEADERS, 0, 1, &[0; 1000])).unwrap();
        assert!(frames.begun().is_some());
        let more = frame(CONTINUATION, 0, 1, &[0; 1000]);
        let ended = (0..1000).find_map(|_| frames.receive(&more).err());
        assert_eq!(ended, Some(Excess::HeaderBlock));

        let mut frames = begun();
        let ended = (0..1000).find_map(|n| {
            let reset = frame(RST_STREAM, 0, 2 * n + 1, &[0; 4]);
            frames.receive(&[opening(n), reset].concat()).err()
        });
        assert_eq!(ended, Some(Excess::Resets));

        let mut frames = begun();
        let ping = frame(6, 0, 0, &[0; 8]);
        let ended = (0..100_000).find_map(|_| frames.receive(&ping).err());
        assert_eq!(ended, Some(Excess::EmptyFrames));
    }

    #[tokio::test]
    async fn requests_get_their_turn_after_many_header_blocks_or_a_few_long_ones() {
        let until_a_breath = |block: &[u8]| {
            let mut frames = begun();
            (1..100).find(|n| {
                let opening = frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, block);
                frames.receive(&opening).unwrap();
                frames.take_breath()
            })
        };
        assert_eq!(until_a_breath(b"abc"), Some(16));
        assert_eq!(until_a_breath(&[0x90; 8_000]), Some(3));
    }

    #[tokio::test]
    async fn a_frame_that_does_not_arrive_is_noticed_unless_it_is_a_body() {
        let mut frames = begun();
        assert!(frames.begun().is_none());
        frames
            .receive(&frame(HEADERS, END_HEADERS, 1, b"abcdef")[..HEAD + 3])
            .unwrap();
        assert!(frames.begun().is_some());
        frames.receive(b"def").unwrap();
        assert!(frames.begun().is_none());
        frames
            .receive(&frame(DATA, 0, 1, &[0; 100])[..HEAD + 50])
            .unwrap();
        assert!(frames.begun().is_none());
        frames.receive(&[0; 50]).unwrap();
        frames.receive(&[0]).unwrap();
        assert!(frames.begun().is_some(), "a head that does not arrive");
    }

    #[test]
    fn our_limits_stand_in_the_first_settings() {
        let window = [0, 4, 0, 2, 0, 0];
        let rest = frame(6, 0, 0, &[0; 8]);
        let settings = frame(SETTINGS, 0, 0, &window);
        let (announced, length) = announce(&[settings.clone(), rest.clone()].concat()).unwrap();
        assert_eq!(length, settings.len());
        let limits = [0, 3, 0, 0, 0, 128, 0, 6, 0, 1, 0, 0];
        let wanted = frame(SETTINGS, 0, 0, &[&window[..], &limits].concat());
        assert_eq!(announced, wanted);
        assert_eq!(announce(&rest), None);
        assert_eq!(announce(&settings[..10]), None);
    }
}
