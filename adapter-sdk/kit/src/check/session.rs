mod conclusion;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use serde_json::Value;

use super::adapter_request::{AdapterRequest, Shape};
use super::answers::Refused;
use super::known_secrets::KnownSecrets;
use super::purpose::Purpose;
use super::report::{Area, AreaReport, Finding};
use super::rules::{Rule, calls, process, streams};
use crate::inputs::Inputs;
use crate::process::{AdapterProcess, End, ProcessCall};

/// Slower calls are reported.
const SLOW: Duration = Duration::from_secs(1);

/// An adapter under check. Calls it and applies the rules that hold for every call.
pub(super) struct Session<'i> {
    pub(super) inputs: &'i Inputs,
    adapter: PathBuf,
    process: AdapterProcess,
    keep: Option<PathBuf>,
    secrets: KnownSecrets,
    areas: Vec<AreaReport>,
    records: Vec<Record>,
    found: Vec<Found>,
    /// Subcommands that have hung; no request waits for them again.
    hung: BTreeSet<&'static str>,
    /// Whether the check sends requests on stdin.
    on_stdin: bool,
}

/// A call that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallId(usize);

/// A call that ended with an exit code.
pub(super) struct Called {
    pub(super) id: CallId,
    pub(super) code: ExitCode,
    pub(super) stdout: Vec<u8>,
}

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manners {
    /// An answer or a rejection.
    Good,
    /// Any exit code, but no signal: how a program may end after invalid input.
    Rough,
}

/// The record of a call, kept until the end, when all secrets are known.
struct Record {
    subcommand: Option<Subcommand>,
    purpose: String,
    area: Area,
    call: ProcessCall,
    stderr: String,
    for_user: String,
    duration: Duration,
}

struct Found {
    rule: &'static Rule,
    about: String,
    finding: Finding,
    call: Option<CallId>,
    purpose: Option<Purpose>,
}

impl<'i> Session<'i> {
    pub(super) fn new(
        adapter: PathBuf,
        process: AdapterProcess,
        inputs: &'i Inputs,
        keep: Option<PathBuf>,
    ) -> Self {
        Self {
            inputs,
            adapter,
            process,
            keep,
            secrets: KnownSecrets::default(),
            areas: Vec::new(),
            records: Vec::new(),
            found: Vec::new(),
            hung: BTreeSet::new(),
            on_stdin: inputs.forms.stdin,
        }
    }

    /// Whether the check sends requests on stdin.
    pub(super) fn asks_on_stdin(&self) -> bool {
        self.on_stdin
    }

    /// Sends requests in arguments only from here on.
    pub(super) fn ask_in_arguments(&mut self) {
        self.on_stdin = false;
    }

    /// The call of a request in the form of the adapter.
    pub(super) fn call_of(&self, adapter_request: &AdapterRequest) -> ProcessCall {
        if self.on_stdin {
            adapter_request.on_stdin(Shape::AllSections)
        } else {
            adapter_request.in_arguments()
        }
    }

    /// The subcommand of a call.
    pub(super) fn subcommand_of(&self, CallId(nth): CallId) -> Option<Subcommand> {
        self.records[nth].subcommand
    }

    /// Records that the current part concerns something that the adapter does not implement.
    pub(super) fn not_implemented(&mut self, subcommand: &str) {
        if let Some(area) = self.areas.last_mut() {
            area.skipped = Some(format!("`{subcommand}` is not implemented"));
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

    /// Skips a part.
    pub(super) fn skip(&mut self, area: Area, reason: impl Into<String>) {
        self.areas.push(AreaReport {
            name: area,
            calls: 0,
            skipped: Some(reason.into()),
        });
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
        call: Option<CallId>,
    ) {
        let area = self.areas.last().map_or(Area::Orders, |area| area.name);
        let purpose = call.map(|CallId(nth)| Purpose::of(&self.records[nth].purpose));
        self.add(Found {
            rule,
            about: about.into(),
            finding: Finding::of(rule, area, detail.into()),
            call,
            purpose,
        });
    }

    /// Reports a failed call as a finding, with the last output on stderr.
    pub(super) fn find_failure(
        &mut self,
        rule: &'static Rule,
        about: impl Into<String>,
        detail: impl Into<String>,
        call: CallId,
    ) {
        let area = self.areas.last().map_or(Area::Orders, |area| area.name);
        let mut finding = Finding::of(rule, area, detail.into());
        finding.stderr = self.last_line(call).map(one_line);
        self.add(Found {
            rule,
            about: about.into(),
            finding,
            call: Some(call),
            purpose: Some(Purpose::of(&self.records[call.0].purpose)),
        });
    }

    fn add(&mut self, new: Found) {
        let mut known = self.found.iter_mut();
        let Some(found) = known.find(|found| {
            found.rule == new.rule && (found.about == new.about || found.is_alike(&new))
        }) else {
            self.found.push(new);
            return;
        };
        found.finding.times += 1;
        if found.is_alike(&new)
            && let (Some(purpose), Some(other)) = (&mut found.purpose, new.purpose)
        {
            purpose.join(other);
        }
    }

    /// Calls the adapter. `None` if there is no exit code to go by, which has been held against it.
    pub(super) fn call(
        &mut self,
        subcommand: Option<Subcommand>,
        purpose: impl Into<String>,
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
        let purpose = purpose.into();
        let ended = match self.process.run(&call) {
            Ok(ended) => ended,
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                let detail = format!("{error}{}", cause.unwrap_or_default());
                self.find(&process::CANNOT_START, "", detail, None);
                return None;
            }
        };
        let id = CallId(self.records.len());
        let is_success = ended.is_success();
        self.records.push(Record {
            subcommand,
            purpose,
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
            let detail = format!(
                "`{label}` left {} behind, now killed",
                processes(ended.left_behind)
            );
            self.find(&process::LEAVES_PROCESSES, name, detail, Some(id));
        }
        if ended.left_input_unread && is_success {
            let detail = format!("`{label}` answered before it had read its input");
            self.find(&process::LEAVES_INPUT_UNREAD, name, detail, Some(id));
        }
        if ended.duration > SLOW && ended.end != End::OutOfTime {
            let detail = format!("`{label}` took {:.1} s", ended.duration.as_secs_f64());
            self.find(&process::SLOW, name, detail, Some(id));
        }
        let code = match ended.end {
            End::Exited(code) => code,
            End::OutOfTime => {
                self.hung.insert(name);
                let seconds = self.process.deadline().as_secs_f64();
                let detail = format!("`{label}` had not ended after {seconds} s and was killed");
                self.find(&process::OUT_OF_TIME, name, detail, Some(id));
                return None;
            }
            End::TooMuchOutput => {
                self.find(
                    &process::TOO_MUCH_OUTPUT,
                    name,
                    format!("`{label}`"),
                    Some(id),
                );
                return None;
            }
            End::Signalled(signal) => {
                let detail = format!("`{label}` was ended by signal {signal}");
                self.find(&process::CRASHES, name, detail, Some(id));
                return None;
            }
        };
        if is_crash(code) && manners == Manners::Good {
            let detail = format!("`{label}` ended with exit code {}", code.code());
            self.find_failure(&process::CRASHES, name, detail, id);
            return None;
        }
        self.look_at_rejection(subcommand, label, code, id);
        Some(Called {
            id,
            code,
            stdout: ended.stdout,
        })
    }

    /// The end of the adapter's stderr, for a sentence about a failure.
    pub(super) fn last_words(&self, call: CallId) -> String {
        self.last_line(call)
            .map(|line| format!("; its last words on stderr: {}", one_line(line)))
            .unwrap_or_default()
    }

    fn last_line(&self, CallId(nth): CallId) -> Option<&str> {
        let lines = self.records[nth].stderr.lines();
        lines.rev().find(|line| !line.trim().is_empty())
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
        let is_silent = self.records[id.0].stderr.trim().is_empty();
        if is_silent && matches!(code, ExitCode::Failure | ExitCode::Other(_)) {
            let detail = format!(
                "`{label}` ended with exit code {} and an empty stderr",
                code.code()
            );
            self.find(&streams::SILENT_FAILURE, label, detail, Some(id));
        }
        let is_misplaced = match code {
            ExitCode::BindingNotFound => subcommand != Some(Subcommand::DeleteBinding),
            ExitCode::AppGuidRequired | ExitCode::BindingExists => {
                subcommand != Some(Subcommand::CreateBinding)
            }
            _ => false,
        };
        if is_misplaced {
            let detail = format!("`{label}` ended with exit code {}", code.code());
            self.find(&calls::WRONG_EXIT_CODE, label, detail, Some(id));
        }
        if shows_internals(&self.records[id.0].for_user) {
            let detail = format!("`{label}` printed a stack trace on stdout");
            self.find(&streams::INTERNALS_FOR_USER, label, detail, Some(id));
        }
    }
}

impl Found {
    /// Whether the same was found, and the calls differ at most in the plan.
    fn is_alike(&self, other: &Self) -> bool {
        let are_alike = match (&self.purpose, &other.purpose) {
            (Some(one), Some(other)) => one.is_alike(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        are_alike
            && self.finding.detail == other.finding.detail
            && self.finding.stderr == other.finding.stderr
    }
}

/// 2 is a Go program that panicked, 101 a Rust one; from 128 on a shell reports signals.
fn is_crash(code: ExitCode) -> bool {
    matches!(code, ExitCode::Other(2 | 101 | 128..))
}

fn shows_internals(text: &str) -> bool {
    const SIGNS: [&str; 4] = [
        "Traceback (most recent call last)",
        "goroutine 1 [",
        "stack backtrace:",
        "thread 'main'",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

fn processes(count: usize) -> String {
    match count {
        1 => "a process".to_owned(),
        count => format!("{count} processes"),
    }
}

/// A text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
