//! stderr, which lines and a bar share.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};

/// How often the bar is drawn per second, at most.
const REFRESH: u8 = 5;

/// stderr, shared by lines and a bar: a line is printed above the bar. Cheap to clone.
#[derive(Clone)]
pub struct Screen {
    bars: Option<MultiProgress>,
    lines: Arc<dyn Lines>,
}

/// Where lines go.
pub(super) trait Lines: Send + Sync {
    fn write(&self, line: &str);
}

struct Stderr;

impl Lines for Stderr {
    fn write(&self, line: &str) {
        // Nothing can be done about a closed stderr. In one piece, so that lines of others do not come in between.
        let _ = io::stderr()
            .lock()
            .write_all(format!("{line}\n").as_bytes());
    }
}

impl Screen {
    /// stderr; bars are drawn only on a terminal.
    pub fn of_stderr() -> Self {
        let bars = io::stderr()
            .is_terminal()
            .then(|| ProgressDrawTarget::stderr_with_hz(REFRESH));
        Self::new(bars, Arc::new(Stderr))
    }

    pub(super) fn new(bars: Option<ProgressDrawTarget>, lines: Arc<dyn Lines>) -> Self {
        Self {
            bars: bars.map(MultiProgress::with_draw_target),
            lines,
        }
    }

    /// Writes a line.
    pub fn line(&self, line: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| self.lines.write(line)),
            None => self.lines.write(line),
        }
    }

    /// A bar, if the output is a terminal.
    pub(super) fn bar(&self, total: u64) -> Option<ProgressBar> {
        let bars = self.bars.as_ref()?;
        Some(bars.add(ProgressBar::new(total)))
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen")
            .field("bars", &self.bars.is_some())
            .finish_non_exhaustive()
    }
}
