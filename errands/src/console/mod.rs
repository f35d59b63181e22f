//! The messages of an errand on stderr, which lines and a progress bar share.
//!
//! | file | contents |
//! | --- | --- |
//! | here | lines |
//! | `progress` | how far an errand has come |
//! | `confirmation` | prompts |

pub(crate) mod confirmation;
pub(crate) mod progress;

use std::{
    fmt::{self, Display, Write as _},
    io::{self, IsTerminal, Write as _},
    sync::Arc,
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use jiff::Timestamp;

/// Writes lines as the Go programs do: `[program] YYYY/MM/DD HH:MM:SS.uuuuuu text`, in UTC; or plain ones. Cheap to
/// clone.
///
/// It never gets secrets.
#[derive(Clone, Debug)]
pub struct Console {
    /// Without a program, lines are the texts alone.
    program: Option<String>,
    subject: Option<&'static str>,
    screen: Screen,
}

impl Console {
    /// The console of an errand; its lines begin with the program's name.
    pub fn new(program: &str, screen: Screen) -> Self {
        Self {
            program: Some(program.to_owned()),
            subject: None,
            screen,
        }
    }

    /// A console whose lines are the texts alone, for people.
    pub fn plain(screen: Screen) -> Self {
        Self {
            program: None,
            subject: None,
            screen,
        }
    }

    /// Whether a person reads it: its lines are plain, or it is a terminal.
    pub fn is_for_people(&self) -> bool {
        self.program.is_none() || self.screen.bars.is_some()
    }

    /// The same with a second prefix before each text, such as `upgrade-all`.
    #[must_use]
    pub fn about(&self, subject: &'static str) -> Self {
        Self {
            subject: Some(subject),
            ..self.clone()
        }
    }

    /// Writes a line. A text of several lines stays one.
    pub fn log(&self, text: impl Display) {
        let line = self.line(Timestamp::now(), &text.to_string());
        self.screen.line(&line);
    }

    /// Where it is written, which a progress bar shares.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    fn line(&self, time: Timestamp, text: &str) -> String {
        let Some(program) = &self.program else {
            return harmless(text);
        };
        let mut line = format!("[{program}] {} ", time.strftime("%Y/%m/%d %H:%M:%S.%6f"));
        if let Some(subject) = self.subject {
            let _ = write!(line, "[{subject}] ");
        }
        line.push_str(&indented(&harmless(text)));
        line
    }
}

/// Indents all lines of a text but the first, so that foreign text cannot look like a line of the errand.
fn indented(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut indented = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        indented.push('\n');
        if !line.is_empty() {
            indented.push_str("  ");
            indented.push_str(line);
        }
    }
    indented
}

/// Texts quote other programs: control characters for a terminal's cursor or colour are escaped.
pub fn harmless(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && letter != '\n' && letter != '\t' {
            let _ = write!(harmless, "\\u{{{:x}}}", u32::from(letter));
        } else {
            harmless.push(letter);
        }
    }
    harmless
}

/// How often the bar is drawn per second, at most.
const REFRESH: u8 = 5;

/// stderr, shared by lines and a bar: a line is printed above the bar. Cheap to clone.
#[derive(Clone)]
pub struct Screen {
    bars: Option<MultiProgress>,
    lines: Arc<dyn Lines>,
}

pub(crate) trait Lines: Send + Sync {
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

    pub(crate) fn new(bars: Option<ProgressDrawTarget>, lines: Arc<dyn Lines>) -> Self {
        Self {
            bars: bars.map(MultiProgress::with_draw_target),
            lines,
        }
    }

    /// Writes a line as it is, above the bar if there is one.
    pub fn line(&self, line: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| self.lines.write(line)),
            None => self.lines.write(line),
        }
    }

    pub(crate) fn bar(&self, total: u64) -> Option<ProgressBar> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(console: &Console, text: &str) -> String {
        console.line("2026-01-02T03:04:05.000678Z".parse().unwrap(), text)
    }

    #[test]
    fn a_line_has_program_time_in_utc_to_the_microsecond_and_text() {
        let console = Console::new("upgrade-all-service-instances", Screen::of_stderr());
        assert_eq!(
            line(&console, "GET https://api.example.com/v2/info"),
            "[upgrade-all-service-instances] 2026/01/02 03:04:05.000678 GET https://api.example.com/v2/info"
        );
        assert_eq!(
            line(&console.about("upgrade-all"), "FINISHED CANARIES"),
            "[upgrade-all-service-instances] 2026/01/02 03:04:05.000678 [upgrade-all] FINISHED CANARIES"
        );
    }

    #[test]
    fn foreign_text_cannot_look_like_an_own_line() {
        let console = Console::new("odb", Screen::of_stderr());
        assert_eq!(
            line(&console, "2 errors:\n\n[odb] 2026/01/02 all is well"),
            "[odb] 2026/01/02 03:04:05.000678 2 errors:\n\n  [odb] 2026/01/02 all is well"
        );
    }

    #[test]
    fn what_others_have_said_cannot_play_with_the_terminal() {
        assert_eq!(
            harmless("a\u{1b}[31m red\r\nb\tc"),
            "a\\u{1b}[31m red\\u{d}\nb\tc"
        );
    }
}
