use std::fmt;

use super::report::{Area, Finding, Report};
use super::rules::Severity;

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
