//! The broker's log: all of it into a file; warnings, errors, and what an adapter says that fails to the screen.
//!
//! The author's screen: one line for each event of the broker, on stderr. Stdout is for `ready`.

use std::{
    collections::VecDeque,
    error::Error,
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::adapter::{AdapterWords, of_adapter};

/// A log that has grown beyond this is begun anew.
const LONGEST_LOG: u64 = 64 << 20;

/// A longer line, in bytes, is logged but not shown.
const LONGEST_LINE: u64 = 64 << 10;

/// How many lines of an adapter are shown for a check.
const LONGEST_WORDS: usize = 200;

/// How many lines are shown of a broker that has ended.
const LAST_LINES: usize = 8;

/// The warning about the sandbox's own certificate, whose key is not RSA, is hidden from authors.
const NOT_THE_AUTHORS: &str = "ODB-1116";

/// The warning about `broker.yml`, which the author has already read with the lines of the original file.
const WARNING_LINE: &str = "questionable configuration";

/// Members of every line that are not shown on a screen.
const UNTOLD: [&str; 3] = ["timestamp", "level", "message"];

/// The field behind which a line says where it was written: ids of its request, and the like.
const CONTEXT: &str = "target";

/// The log of one broker after the other. A clone is the same log.
#[derive(Clone)]
pub(super) struct Log {
    path: PathBuf,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    file: File,
    written: u64,
    /// The last lines of the running broker, formatted for a screen.
    last: VecDeque<String>,
    /// Whether it has logged why it cannot continue.
    has_complained: bool,
    adapter_words: AdapterWords,
}

impl Log {
    /// Continues the log in a file that only its owner can read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        let written = file.metadata()?.len();
        let inner = Inner {
            file,
            written,
            last: VecDeque::new(),
            has_complained: false,
            adapter_words: AdapterWords::default(),
        };
        Ok(Self {
            path: path.to_owned(),
            inner: Arc::new(Mutex::new(inner)),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn begin(&self) {
        let mut inner = self.inner();
        inner.last.clear();
        inner.has_complained = false;
        inner.adapter_words = AdapterWords::default();
    }

    /// Reads what a broker says until it says no more.
    pub(super) async fn read(self, output: impl AsyncRead + Unpin) {
        let mut lines = Lines::of(output);
        while let Some(line) = lines.next().await {
            self.write(&line.bytes);
            if line.is_whole {
                self.note(&String::from_utf8_lossy(&line.bytes));
            }
        }
    }

    /// Reads what a check logs until it says no more. Returns what the adapter says in it, each line once.
    pub(super) async fn read_check(&self, output: impl AsyncRead + Unpin) -> Vec<String> {
        let mut lines = Lines::of(output);
        let mut words: Vec<String> = Vec::new();
        while let Some(line) = lines.next().await {
            self.write(&line.bytes);
            let fields: Map<String, Value> =
                serde_json::from_slice(&line.bytes).unwrap_or_default();
            let said = of_adapter(&fields).filter(|_| words.len() < LONGEST_WORDS);
            if let Some(said) = said.filter(|said| !words.iter().any(|word| word == said)) {
                words.push(said.to_owned());
            }
        }
        words
    }

    /// The broker's last lines, unless its errors were shown already.
    pub(super) fn last_words(&self) -> Vec<String> {
        let inner = self.inner();
        if inner.has_complained {
            Vec::new()
        } else {
            inner.last.iter().cloned().collect()
        }
    }

    fn write(&self, line: &[u8]) {
        if let Err(error) = self.inner().write(line) {
            tracing::warn!(%error, "the broker's log cannot be written");
        }
    }

    fn note(&self, line: &str) {
        let mut inner = self.inner();
        let said = match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => {
                for words in inner.adapter_words.note(&fields) {
                    report(&words);
                }
                Said::of(&fields)
            }
            _ => Said::in_failures(line),
        };
        if said.is_an_error {
            inner.has_complained = true;
        }
        if said.should_report {
            report(&said.text);
        }
        if inner.last.len() == LAST_LINES {
            inner.last.pop_front();
        }
        inner.last.push_back(said.text);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.written > LONGEST_LOG {
            self.file.set_len(0)?;
            self.written = 0;
        }
        self.file.write_all(line)?;
        self.written += line.len() as u64;
        Ok(())
    }
}

struct Lines<R> {
    output: BufReader<R>,
    /// Whether the last piece did not end its line.
    is_within: bool,
}

/// A line, or a piece of one that is too long.
struct Line {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn of(output: R) -> Self {
        Self {
            output: BufReader::new(output),
            is_within: false,
        }
    }

    async fn next(&mut self) -> Option<Line> {
        let mut bytes = Vec::new();
        let mut output = (&mut self.output).take(LONGEST_LINE);
        match output.read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => None,
            Ok(_) => {
                let is_rest = self.is_within;
                self.is_within = !bytes.ends_with(b"\n") && output.limit() == 0;
                let is_whole = !is_rest && !self.is_within;
                Some(Line { bytes, is_whole })
            }
        }
    }
}

/// A line of the log as a person would read it.
struct Said {
    text: String,
    should_report: bool,
    is_an_error: bool,
}

impl Said {
    /// A line that is no JSON comes from a failing broker.
    fn in_failures(line: &str) -> Self {
        Self {
            text: line.trim_end().to_owned(),
            should_report: true,
            is_an_error: true,
        }
    }

    fn of(fields: &Map<String, Value>) -> Self {
        let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let level = word("level");
        let mut text = format!("{level} {}", word("message"));
        for (name, value) in fields.iter().take_while(|(name, _)| *name != CONTEXT) {
            if UNTOLD.contains(&name.as_str()) {
                continue;
            }
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            text = format!("{text}; {name}: {value}");
        }
        Self {
            text,
            should_report: matches!(level, "WARN" | "ERROR")
                && word("code") != NOT_THE_AUTHORS
                && word("message") != WARNING_LINE,
            is_an_error: level == "ERROR",
        }
    }
}

pub(super) fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "broker: {line}");
}

/// Prints each on a line of its own.
pub(super) fn report_all<T: AsRef<str>>(lines: &[T]) {
    for line in lines {
        report(line.as_ref());
    }
}

pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Said {
        Said::of(&serde_json::from_str(line).unwrap())
    }

    #[test]
    fn errors_are_reported_in_one_line_with_what_they_know() {
        let error = said(
            r#"{"timestamp":"now","level":"ERROR","message":"the broker cannot run","code":"ODB-0001","error":"no room","target":"t"}"#,
        );
        assert_eq!(
            error.text,
            "ERROR the broker cannot run; code: ODB-0001; error: no room"
        );
        assert!(error.should_report && error.is_an_error);
        assert!(!said(r#"{"level":"INFO","message":"listening"}"#).should_report);
        let warning =
            r#"{"level":"WARN","message":"questionable configuration","warning":"known already"}"#;
        assert!(!said(warning).should_report);
        let panicked = Said::in_failures("thread 'main' panicked\n");
        assert!(panicked.should_report && panicked.text == "thread 'main' panicked");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_written_and_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::open(&folder.path().join("log")).unwrap();
        let endless = format!(
            "{{\"level\":\"INFO\",\"message\":\"{}\"}}\n",
            "m".repeat(200_000)
        );
        let text = format!("{endless}{{\"level\":\"INFO\",\"message\":\"listening\"}}\n");

        log.clone().read(text.as_bytes()).await;

        assert_eq!(log.last_words(), ["INFO listening"]);
        assert_eq!(std::fs::read_to_string(log.path()).unwrap(), text);
    }

    #[tokio::test]
    async fn of_a_check_the_adapters_words_are_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::open(&folder.path().join("log")).unwrap();
        let line =
            r#"{"level":"INFO","message":"the service adapter wrote","adapter.stderr":"no"}"#;

        let words = log
            .read_check(format!("{line}\n{line}\nodd\n").as_bytes())
            .await;

        assert_eq!(words, ["no"]);
    }
}
