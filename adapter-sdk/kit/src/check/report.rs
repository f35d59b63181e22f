use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use odb_adapter_sdk::protocol::Subcommand;
use serde::{Serialize, Serializer};

use super::rules::{Rule, Severity};

/// The findings of a check. Displayed as text; its JSON has a stable shape.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub struct Report {
    pub adapter: PathBuf,
    pub passed: bool,
    pub errors: usize,
    pub warnings: usize,
    pub calls: usize,
    #[serde(rename = "duration_in_milliseconds", serialize_with = "milliseconds")]
    pub duration: Duration,
    pub areas: Vec<AreaReport>,
    pub findings: Vec<Finding>,
}

/// One part of the check.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub struct AreaReport {
    pub name: Area,
    pub calls: usize,
    /// Why the check skipped it.
    pub skipped: Option<String>,
}

/// The parts of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "`title` says what each is")]
pub enum Area {
    Orders,
    Stability,
    Forms,
    MalformedInput,
    Subcommands,
    Parameters,
    RefusedParameters,
    PlanChanges,
    Bindings,
    Dashboard,
    PlanSchemas,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub struct Finding {
    pub id: &'static str,
    pub severity: Severity,
    pub area: Area,
    pub error: &'static str,
    /// Where and how, in this adapter. It contains no secrets.
    pub detail: String,
    /// The end of the adapter's stderr, for a failed call. It contains no secrets.
    pub stderr: Option<String>,
    /// How often it was found.
    pub times: usize,
    pub why: &'static str,
    pub remedy: &'static str,
    /// Section of `spec/contracts/adapter-protocol.md`.
    pub section: &'static str,
    /// The call that showed it first.
    pub call: Option<FindingCall>,
}

/// A call, and how to make it again.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub struct FindingCall {
    #[serde(serialize_with = "name")]
    pub subcommand: Option<Subcommand>,
    /// The purpose of the call, such as `pending-changes check of plan small`.
    pub purpose: String,
    /// The command that makes it again, if its input was kept.
    pub command: Option<String>,
}

impl Report {
    /// Whether there is no finding that is an error.
    pub fn is_clean(&self) -> bool {
        self.passed
    }

    /// The ids of the errors, in order, each once.
    pub fn error_ids(&self) -> Vec<&'static str> {
        let errors = self.findings.iter();
        let mut ids: Vec<_> = errors
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.id)
            .collect();
        ids.dedup();
        ids
    }
}

impl Finding {
    pub(super) fn of(rule: &'static Rule, area: Area, detail: String) -> Self {
        Self {
            id: rule.id,
            severity: rule.severity,
            area,
            error: rule.error,
            detail,
            stderr: None,
            times: 1,
            why: rule.why,
            remedy: rule.remedy,
            section: rule.section,
            call: None,
        }
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands fields over as they are"
)]
fn name<S: Serializer>(subcommand: &Option<Subcommand>, serializer: S) -> Result<S::Ok, S::Error> {
    subcommand.map(Subcommand::name).serialize(serializer)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.adapter.display())?;
        for area in &self.areas {
            let name = area.name.title();
            if let Some(reason) = &area.skipped {
                writeln!(f, "  {name:<24}skipped: {reason}")?;
                continue;
            }
            let all = self.findings.iter();
            let result = match all.filter(|finding| finding.area == area.name).count() {
                0 => "ok".to_owned(),
                count => format!("{count} {}", plural(count, "finding")),
            };
            let calls = plural(area.calls, "call");
            writeln!(f, "  {name:<24}{:>3} {calls:<5} {result}", area.calls)?;
        }
        for finding in &self.findings {
            write!(f, "\n{finding}")?;
        }
        writeln!(
            f,
            "\n{} {}, {} {} in {} {}, {:.1} s",
            self.errors,
            plural(self.errors, "error"),
            self.warnings,
            plural(self.warnings, "warning"),
            self.calls,
            plural(self.calls, "call"),
            self.duration.as_secs_f64(),
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity} {}: {}", self.id, self.error)?;
        match &self.stderr {
            Some(line) => writeln!(f, ": {line}")?,
            None => writeln!(f)?,
        }
        let times = match self.times {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        writeln!(f, "  found:  {}{times}", self.detail)?;
        writeln!(f, "  why:    {}", self.why)?;
        writeln!(f, "  remedy: {}", self.remedy)?;
        writeln!(
            f,
            "  source: spec/contracts/adapter-protocol.md, \"{}\"",
            self.section
        )?;
        match self.call.as_ref().and_then(|call| call.command.as_ref()) {
            Some(command) => writeln!(f, "  again:  {command}"),
            None => Ok(()),
        }
    }
}

impl Area {
    fn title(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Stability => "updates and upgrades",
            Self::Forms => "request forms",
            Self::MalformedInput => "malformed input",
            Self::Subcommands => "other subcommands",
            Self::Parameters => "parameters",
            Self::RefusedParameters => "refused parameters",
            Self::PlanChanges => "changes of plan",
            Self::Bindings => "bindings",
            Self::Dashboard => "dashboard",
            Self::PlanSchemas => "plan schemas",
        }
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}
