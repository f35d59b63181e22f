//! An adapter as the broker runs it: a process, a document on stdin or words behind the subcommand, an answer.

use std::{
    ffi::OsString,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use odb_stories::Binaries;
use serde_json::Value;

/// An adapter with the environment that it is always given.
#[derive(Clone, Debug)]
pub(crate) struct Executable {
    path: PathBuf,
    environment: Vec<(String, OsString)>,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The exit code; `None` where a signal ended the process.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Executable {
    /// The executable of that name among those under test.
    pub(crate) fn named(name: &str) -> Self {
        Self::at(Binaries::find().path(name))
    }

    /// Any executable.
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            environment: Vec::new(),
        }
    }

    /// With a variable in its environment, in which there is hardly anything else.
    #[must_use]
    pub(crate) fn with_environment(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Asks with a document on stdin that holds this section.
    pub(crate) fn ask(&self, subcommand: &str, input: &Value) -> Run {
        let section = subcommand.replace('-', "_");
        let document = Value::from_iter([(section, input.clone())]);
        self.run(&[subcommand], &format!("{document}\n"))
    }

    /// Asks with these words behind the program's name, the first of which is the subcommand.
    pub(crate) fn run(&self, words: &[&str], stdin: &str) -> Run {
        let mut child = Command::new(&self.path)
            .args(words)
            .env_clear()
            // As the broker has it: programs that the adapter runs are found.
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("`{}` does not start: {error}", self.path.display()));
        // An adapter that has enough of it does not read to the end.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// Whether the adapter fell over rather than said no.
    pub(crate) fn is_a_crash(&self) -> bool {
        // A Go program that panics ends with 2, a Rust one with 101; an adapter on our SDK says where.
        !matches!(self.code, Some(0 | 1 | 10 | 41 | 42 | 49)) || self.stderr.contains("panic")
    }

    /// Its stderr has this text.
    #[track_caller]
    pub(crate) fn expect_said(&self, text: &str) {
        assert!(self.stderr.contains(text), "`{text}` is missing: {self:?}");
    }

    /// The answer of a call that succeeded.
    pub(crate) fn answer(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON value: {error}; {self:?}"))
    }

    /// The user message of a call that failed with the ordinary exit code.
    pub(crate) fn rejection(&self) -> &str {
        assert_eq!(self.code, Some(1), "{self:?}");
        &self.stdout
    }
}
