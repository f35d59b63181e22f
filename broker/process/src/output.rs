use std::fmt;

/// One of the two streams that a child prints on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Its answer.
    Stdout,
    /// Its messages to the operator.
    Stderr,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}

/// More was printed than is accepted: the child is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

/// Receives the output of a child's stream.
pub trait Sink {
    /// The next piece.
    fn take(&mut self, piece: &[u8]) -> Result<(), TooMuch>;

    /// No piece follows.
    fn close(&mut self) {}
}

/// Keeps the first bytes of a stream.
#[derive(Debug, Default)]
pub struct Capture {
    /// The output, up to the limit.
    pub bytes: Vec<u8>,
    limit: usize,
    kills: bool,
}

impl Capture {
    /// Kills a child that prints more than this.
    pub fn at_most(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            kills: true,
        }
    }

    /// Keeps the first bytes and discards the rest.
    pub fn first(limit: usize) -> Self {
        Self {
            kills: false,
            ..Self::at_most(limit)
        }
    }

    /// The output as text.
    pub fn into_text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Sink for Capture {
    fn take(&mut self, piece: &[u8]) -> Result<(), TooMuch> {
        let room = self.limit - self.bytes.len();
        self.bytes
            .extend_from_slice(&piece[..piece.len().min(room)]);
        if self.kills && piece.len() > room {
            return Err(TooMuch);
        }
        Ok(())
    }
}

/// Calls a function for each line of a stream as it comes.
#[derive(Debug)]
pub struct Lines<F> {
    line: Vec<u8>,
    longest_line: usize,
    /// How many bytes may still come.
    left: usize,
    each: F,
}

impl<F: FnMut(&[u8])> Lines<F> {
    /// Cuts lines after `longest_line` bytes, and kills a child that prints more than `limit` bytes.
    pub fn new(longest_line: usize, limit: usize, each: F) -> Self {
        Self {
            line: Vec::new(),
            longest_line,
            left: limit,
            each,
        }
    }

    fn add(&mut self, piece: &[u8]) {
        let room = self.longest_line - self.line.len();
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn end_line(&mut self) {
        (self.each)(&self.line);
        self.line.clear();
    }
}

impl<F: FnMut(&[u8])> Sink for Lines<F> {
    fn take(&mut self, piece: &[u8]) -> Result<(), TooMuch> {
        let mut lines = piece.split(|byte| *byte == b'\n');
        if let Some(rest_of_line) = lines.next() {
            self.add(rest_of_line);
        }
        for line in lines {
            self.end_line();
            self.add(line);
        }
        self.left = self.left.checked_sub(piece.len()).ok_or(TooMuch)?;
        Ok(())
    }

    fn close(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_however_they_are_printed() {
        let mut seen = Vec::new();
        let mut lines = Lines::new(5, 100, |line: &[u8]| {
            seen.push(String::from_utf8_lossy(line).into_owned());
        });
        for piece in ["on", "e\ntwo\n\nthe longest", " of all\n", "last"] {
            lines.take(piece.as_bytes()).unwrap();
        }
        lines.close();
        assert_eq!(seen, ["one", "two", "", "the l", "last"]);
    }

    #[test]
    fn beyond_the_limit_is_too_much_for_who_does_not_discard_it() {
        let mut strict = Capture::at_most(3);
        assert_eq!(strict.take(b"123"), Ok(()));
        assert_eq!(strict.take(b"4"), Err(TooMuch));
        let mut lenient = Capture::first(3);
        assert_eq!(lenient.take(b"1234"), Ok(()));
        assert_eq!(lenient.bytes, b"123");
        assert_eq!(Lines::new(9, 3, |_: &[u8]| {}).take(b"1234"), Err(TooMuch));
    }
}
