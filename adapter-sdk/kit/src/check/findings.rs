use std::cmp::Reverse;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use odb_adapter_sdk::protocol::Subcommand;

use super::report::{Finding, FindingCall, Report};
use super::rules::{self, Rule, Severity};
use super::session::{CallId, Session};

/// A finding before the secrets are taken out.
pub(super) struct Found {
    pub(super) rule: &'static Rule,
    /// Its subject.
    pub(super) about: String,
    pub(super) finding: Finding,
    pub(super) call: Option<CallId>,
    pub(super) purpose: Option<Purpose>,
}

/// The purpose of a call, for one plan or, if each has the same finding, for several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Purpose {
    before: String,
    /// Their names; none where the text names no plan.
    plans: Vec<String>,
    after: String,
}

impl Found {
    /// Whether another one is the same finding: about the same subject, or with the same words.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.rule == other.rule && (self.about == other.about || self.is_alike(other))
    }

    /// Counts another one that is the same.
    pub(super) fn join(&mut self, other: Self) {
        self.finding.times += 1;
        if self.is_alike(&other)
            && let (Some(purpose), Some(other)) = (&mut self.purpose, other.purpose)
        {
            purpose.join(other);
        }
    }

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

impl Purpose {
    /// Reads a purpose such as ``upgrade of plan `small` ``.
    pub(super) fn of(text: &str) -> Self {
        let named = text
            .split_once("plan `")
            .and_then(|(before, rest)| Some((before, rest.split_once('`')?)));
        let (before, plans, after) = match named {
            Some((before, (plan, after))) => (before, vec![plan.to_owned()], after),
            None => (text, Vec::new(), ""),
        };
        Self {
            before: before.to_owned(),
            plans,
            after: after.to_owned(),
        }
    }

    /// Whether the other one differs at most in its plan.
    fn is_alike(&self, other: &Self) -> bool {
        self.before == other.before && self.after == other.after
    }

    /// Takes the plans of the other one in.
    fn join(&mut self, other: Self) {
        for plan in other.plans {
            if !self.plans.contains(&plan) {
                self.plans.push(plan);
            }
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.before)?;
        let plans: Vec<String> = self.plans.iter().map(|plan| format!("`{plan}`")).collect();
        match plans.as_slice() {
            [] => {}
            [plan] => write!(f, "plan {plan}")?,
            plans => write!(f, "plans {}", plans.join(", "))?,
        }
        f.write_str(&self.after)
    }
}

impl Session<'_> {
    /// Builds the report. All secrets are known at this point, so it searches all recorded output for them.
    pub(super) fn finish(mut self) -> Report {
        self.look_for_secrets();
        let mut findings: Vec<Finding> = std::mem::take(&mut self.found)
            .into_iter()
            .map(|found| self.finding(found))
            .collect();
        findings.sort_by_key(|finding| (Reverse(finding.severity), finding.id));
        let count = |severity| {
            let findings = findings.iter();
            findings
                .filter(|finding| finding.severity == severity)
                .count()
        };
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        Report {
            adapter: self.adapter,
            passed: errors == 0,
            errors,
            warnings,
            calls: self.records.len(),
            duration: self.records.iter().map(|record| record.duration).sum(),
            areas: self.areas,
            findings,
        }
    }

    fn finding(&self, found: Found) -> Finding {
        let mut finding = found.finding;
        let purpose = found.purpose.map(|purpose| format!("{purpose}: "));
        let detail = format!("{}{}", purpose.unwrap_or_default(), finding.detail);
        finding.detail = beginning(self.secrets.redact(&detail));
        let stderr = finding.stderr.as_deref();
        finding.stderr = stderr.map(|text| beginning(self.secrets.redact(text)));
        finding.call = found.call.map(|call| FindingCall {
            subcommand: self.records[call.0].subcommand,
            purpose: self.records[call.0].purpose.clone(),
            command: self.command(call),
        });
        finding
    }

    fn look_for_secrets(&mut self) {
        let mut leaks: Vec<(&'static Rule, CallId)> = Vec::new();
        for (nth, record) in self.records.iter().enumerate() {
            if self.secrets.occur_in(&record.stderr) {
                leaks.push((&rules::SECRET_ON_STDERR, CallId(nth)));
            }
            if self.secrets.occur_in(&record.for_user) {
                leaks.push((&rules::SECRET_FOR_USER, CallId(nth)));
            }
        }
        for (rule, call) in leaks {
            let name = self.records[call.0].subcommand.map_or("", Subcommand::name);
            self.find(rule, name, format!("`{name}`"), call);
            let new = self.found.last_mut();
            if let Some(found) = new.filter(|found| found.call == Some(call)) {
                found.finding.area = self.records[call.0].area;
            }
        }
    }

    /// Keeps the input of a call and gives the command that makes the call again.
    fn command(&self, CallId(nth): CallId) -> Option<String> {
        let folder = self.keep.as_ref()?;
        let record = &self.records[nth];
        let subcommand = record.subcommand?;
        let document = match &record.call.stdin {
            Some(document) => document.clone(),
            None => serde_json::to_vec(record.call.arguments.get(1..)?).ok()?,
        };
        let path = folder.join(format!("{nth:03}-{subcommand}.json"));
        // A folder that cannot be written to costs the command, not the report.
        write_privately(&path, &document).ok()?;
        let inputs = self.inputs.file.as_ref();
        let inputs = inputs.map(|file| format!(" --inputs {}", file.display()));
        Some(format!(
            "odb-adapter run {subcommand} --adapter {} --document {}{}",
            self.adapter.display(),
            path.display(),
            inputs.unwrap_or_default(),
        ))
    }
}

/// Writes a file that only the owner can read, because it may hold secrets. A new folder for it is private, too.
fn write_privately(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
    }
    // An older file may be open to others, or lead elsewhere.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    options.open(path)?.write_all(content)
}

/// The beginning of a long text. Remove secrets first: the search cannot find a truncated secret.
fn beginning(text: String) -> String {
    const LONGEST: usize = 600;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::Purpose;

    #[test]
    fn purposes_that_differ_in_the_plan_become_one() {
        let mut one = Purpose::of("order of plan `small`, in arguments");
        let other = Purpose::of("order of plan `large`, in arguments");
        assert!(one.is_alike(&other));
        one.join(other.clone());
        one.join(other);
        assert_eq!(
            one.to_string(),
            "order of plans `small`, `large`, in arguments"
        );
    }

    #[test]
    fn purposes_that_differ_in_more_do_not() {
        let order = Purpose::of("order of plan `small`");
        assert!(!order.is_alike(&Purpose::of("upgrade of plan `small`")));
        assert!(!order.is_alike(&Purpose::of("order with parameters `small`")));
        assert_eq!(order.to_string(), "order of plan `small`");
    }
}
