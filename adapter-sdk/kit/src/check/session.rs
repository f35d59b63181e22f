use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use serde_json::Value;

use super::answers::Refused;
use super::findings::{Found, Purpose};
use super::report::{Area, AreaReport, Finding};
use super::request::{AdapterRequest, Shape};
use super::rules::{self, Rule};
use super::secrets::KnownSecrets;
use crate::inputs::Inputs;
use crate::process::{AdapterProcess, End, ProcessCall, Program};

/// Slower calls are reported.
const SLOW: Duration = Duration::from_secs(1);

/// An adapter under check. Calls it and applies the rules that hold for every call.
pub(super) struct Session<'i> {
    pub(super) inputs: &'i Inputs,
    pub(super) adapter: PathBuf,
    process: AdapterProcess,
    pub(super) keep: Option<PathBuf>,
    pub(super) secrets: KnownSecrets,
    pub(super) areas: Vec<AreaReport>,
    pub(super) records: Vec<Record>,
    pub(super) found: Vec<Found>,
    /// Subcommands that have hung; no request waits for them again.
    hung: BTreeSet<&'static str>,
    /// Whether the check sends requests on stdin.
    pub(super) on_stdin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallId(pub(super) usize);

pub(super) struct Called {
    pub(super) id: CallId,
    pub(super) code: ExitCode,
    pub(super) stdout: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manners {
    /// An answer or a rejection.
    Good,
    /// Any exit code, but no signal: how a program may end after invalid input.
    Rough,
}

/// The record of a call, kept until the end, when all secrets are known.
pub(super) struct Record {
    pub(super) subcommand: Option<Subcommand>,
    pub(super) purpose: String,
    pub(super) area: Area,
    pub(super) call: ProcessCall,
    pub(super) stderr: String,
    pub(super) for_user: String,
    pub(super) duration: Duration,
}

impl<'i> Session<'i> {
    pub(super) fn new(
        adapter: PathBuf,
        program: Program,
        inputs: &'i Inputs,
        keep: Option<PathBuf>,
    ) -> Self {
        Self {
            inputs,
            adapter,
            process: AdapterProcess {
                program,
                environment: inputs.environment.clone(),
                deadline: inputs.deadline,
            },
            keep,
            secrets: KnownSecrets::default(),
            areas: Vec::new(),
            records: Vec::new(),
            found: Vec::new(),
            hung: BTreeSet::new(),
            on_stdin: inputs.forms.stdin,
        }
    }

    pub(super) fn call_of(&self, request: &AdapterRequest) -> ProcessCall {
        if self.on_stdin {
            request.on_stdin(Shape::AllSections)
        } else {
            request.in_arguments()
        }
    }

    /// Begins another part of the check.
    pub(super) fn begin(&mut self, area: Area) {
        self.areas.push(AreaReport {
            name: area,
            calls: 0,
            skipped: None,
        });
    }

    /// Skips the part that has begun, or what is left of it.
    pub(super) fn skip(&mut self, reason: &str) {
        if let Some(area) = self.areas.last_mut() {
            area.skipped = Some(reason.to_owned());
        }
    }

    /// Adds a value that must not appear in any output, earlier output included.
    pub(super) fn learn_secret(&mut self, secret: &Value) {
        self.secrets.learn(secret);
    }

    /// Records a finding. `about` is its subject: a repeated finding about the same subject, or with the same words for
    /// another plan, is counted and not listed again.
    pub(super) fn find(
        &mut self,
        rule: &'static Rule,
        about: impl Into<String>,
        detail: impl Into<String>,
        call: impl Into<Option<CallId>>,
    ) {
        self.note(rule, about.into(), detail.into(), call.into(), None);
    }

    /// Reports a failed call as a finding, with the last output on stderr.
    pub(super) fn find_failure(
        &mut self,
        rule: &'static Rule,
        about: impl Into<String>,
        detail: impl Into<String>,
        call: CallId,
    ) {
        let stderr = self.last_line(call).map(one_line);
        self.note(rule, about.into(), detail.into(), Some(call), stderr);
    }

    /// Reports a rejection as a finding, with the last output on stderr.
    pub(super) fn find_rejection(
        &mut self,
        rule: &'static Rule,
        about: impl Into<String>,
        refused: &Refused,
    ) {
        self.find_failure(rule, about, self.rejection(refused), refused.id);
    }

    fn note(
        &mut self,
        rule: &'static Rule,
        about: String,
        detail: String,
        call: Option<CallId>,
        stderr: Option<String>,
    ) {
        let area = self.areas.last().map_or(Area::Orders, |area| area.name);
        let mut finding = Finding::of(rule, area, detail);
        finding.stderr = stderr;
        let new = Found {
            rule,
            about,
            finding,
            call,
            purpose: call.map(|CallId(nth)| Purpose::of(&self.records[nth].purpose)),
        };
        match self.found.iter_mut().find(|found| found.is_same(&new)) {
            Some(found) => found.join(new),
            None => self.found.push(new),
        }
    }

    /// Calls the adapter. `None` if there is no exit code to go by, which has been held against it.
    pub(super) fn call(
        &mut self,
        subcommand: Option<Subcommand>,
        purpose: &str,
        call: ProcessCall,
        manners: Manners,
    ) -> Option<Called> {
        let name = subcommand.map_or("", Subcommand::name);
        if self.hung.contains(name) {
            return None;
        }
        let area = self.areas.last_mut().map(|area| {
            area.calls += 1;
            area.name
        });
        let ended = match self.process.run(&call) {
            Ok(ended) => ended,
            Err(error) => {
                self.find(&rules::CANNOT_START, "", format!("{error:#}"), None);
                return None;
            }
        };
        let id = CallId(self.records.len());
        let is_success = ended.is_success();
        self.records.push(Record {
            subcommand,
            purpose: purpose.to_owned(),
            area: area.unwrap_or(Area::Orders),
            call,
            stderr: ended.stderr_text(),
            for_user: if is_success {
                String::new()
            } else {
                ended.stdout_text()
            },
            duration: ended.duration,
        });
        let label = if name.is_empty() {
            "a call without subcommand"
        } else {
            name
        };
        if ended.left_behind > 0 {
            let processes = match ended.left_behind {
                1 => "a process".to_owned(),
                count => format!("{count} processes"),
            };
            let detail = format!("`{label}` left {processes} behind, now killed");
            self.find(&rules::LEAVES_PROCESSES, name, detail, id);
        }
        if ended.left_input_unread && is_success {
            let detail = format!("`{label}` answered before it had read its input");
            self.find(&rules::LEAVES_INPUT_UNREAD, name, detail, id);
        }
        if ended.duration > SLOW && ended.end != End::OutOfTime {
            let detail = format!("`{label}` took {:.1} s", ended.duration.as_secs_f64());
            self.find(&rules::SLOW, name, detail, id);
        }
        let (rule, detail) = match ended.end {
            // 2 is a Go program that panicked, 101 a Rust one; from 128 on a shell reports signals.
            End::Exited(ExitCode::Other(code @ (2 | 101 | 128..))) if manners == Manners::Good => {
                let detail = format!("`{label}` ended with exit code {code}");
                self.find_failure(&rules::CRASHES, name, detail, id);
                return None;
            }
            End::Exited(code) => {
                self.look_at_rejection(subcommand, label, code, id);
                let stdout = ended.stdout;
                return Some(Called { id, code, stdout });
            }
            End::OutOfTime => {
                self.hung.insert(name);
                let seconds = self.process.deadline.as_secs_f64();
                let detail = format!("`{label}` had not ended after {seconds} s and was killed");
                (&rules::OUT_OF_TIME, detail)
            }
            End::TooMuchOutput => (&rules::TOO_MUCH_OUTPUT, format!("`{label}`")),
            End::Signalled(signal) => {
                let detail = format!("`{label}` was ended by signal {signal}");
                (&rules::CRASHES, detail)
            }
        };
        self.find(rule, name, detail, id);
        None
    }

    fn last_line(&self, CallId(nth): CallId) -> Option<&str> {
        let lines = self.records[nth].stderr.lines();
        lines.rev().find(|line| !line.trim().is_empty())
    }

    /// The end of the adapter's stderr, for a sentence about a failure.
    pub(super) fn last_words(&self, call: CallId) -> String {
        self.last_line(call)
            .map(|line| format!("; its last words on stderr: {}", one_line(line)))
            .unwrap_or_default()
    }

    /// How a call was refused, for a finding that shows its stderr.
    pub(super) fn rejection(&self, refused: &Refused) -> String {
        let code = refused.code.code();
        format!("exit code {code}; {}", self.user_text(refused.id))
    }

    /// The part of the user's message that fits into a sentence.
    pub(super) fn user_text(&self, CallId(nth): CallId) -> String {
        match self.records[nth].for_user.trim() {
            "" => "there is no text for the user".to_owned(),
            text => format!("the user reads \"{}\"", one_line(text)),
        }
    }

    fn look_at_rejection(
        &mut self,
        subcommand: Option<Subcommand>,
        label: &str,
        code: ExitCode,
        id: CallId,
    ) {
        const INTERNALS: [&str; 4] = [
            "Traceback (most recent call last)",
            "goroutine 1 [",
            "stack backtrace:",
            "thread 'main'",
        ];
        let number = code.code();
        let is_silent = self.records[id.0].stderr.trim().is_empty();
        if is_silent && matches!(code, ExitCode::Failure | ExitCode::Other(_)) {
            let detail = format!("`{label}` ended with exit code {number} and an empty stderr");
            self.find(&rules::SILENT_FAILURE, label, detail, id);
        }
        let belongs_to = match code {
            ExitCode::BindingNotFound => Some(Subcommand::DeleteBinding),
            ExitCode::AppGuidRequired | ExitCode::BindingExists => Some(Subcommand::CreateBinding),
            _ => subcommand,
        };
        if belongs_to != subcommand {
            let detail = format!("`{label}` ended with exit code {number}");
            self.find(&rules::WRONG_EXIT_CODE, label, detail, id);
        }
        let for_user = &self.records[id.0].for_user;
        if INTERNALS.iter().any(|sign| for_user.contains(sign)) {
            let detail = format!("`{label}` printed a stack trace on stdout");
            self.find(&rules::INTERNALS_FOR_USER, label, detail, id);
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
