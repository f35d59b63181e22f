use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use odb_adapter_sdk::protocol::Subcommand;

use super::{CallId, Session};
use crate::check::report::{Finding, FindingCall, Report};
use crate::check::rules::{Rule, Severity, streams};

impl Session<'_> {
    /// Builds the report. All secrets are known at this point, so it searches all recorded output for them.
    pub(in crate::check) fn finish(mut self) -> Report {
        self.look_for_secrets();
        let commands: Vec<Option<String>> = self
            .found
            .iter()
            .map(|found| self.command(found.call?))
            .collect();
        let records = &self.records;
        let secrets = &self.secrets;
        let mut findings: Vec<Finding> = self
            .found
            .into_iter()
            .zip(commands)
            .map(|(found, command)| {
                let mut finding = found.finding;
                let reported = found.purpose.map(|purpose| format!("{purpose}: "));
                let detail = format!("{}{}", reported.unwrap_or_default(), finding.detail);
                finding.detail = beginning(secrets.redact(&detail));
                let stderr = finding.stderr.as_deref();
                finding.stderr = stderr.map(|line| beginning(secrets.redact(line)));
                finding.call = found.call.map(|CallId(nth)| FindingCall {
                    subcommand: records[nth].subcommand,
                    purpose: records[nth].purpose.clone(),
                    command,
                });
                finding
            })
            .collect();
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.id));
        let count = |severity| {
            findings
                .iter()
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

    fn look_for_secrets(&mut self) {
        let leaks: Vec<(&'static Rule, CallId)> = self
            .records
            .iter()
            .enumerate()
            .flat_map(|(nth, record)| {
                let stderr = (&streams::SECRET_ON_STDERR, &record.stderr);
                let for_user = (&streams::SECRET_FOR_USER, &record.for_user);
                [stderr, for_user]
                    .map(|(rule, text)| (rule, CallId(nth), self.secrets.occur_in(text)))
            })
            .filter_map(|(rule, call, leaks)| leaks.then_some((rule, call)))
            .collect();
        for (rule, call) in leaks {
            let name = self.records[call.0].subcommand.map_or("", Subcommand::name);
            self.find(rule, name, format!("`{name}`"), Some(call));
            let area = self.records[call.0].area;
            if let Some(found) = self
                .found
                .last_mut()
                .filter(|found| found.call == Some(call))
            {
                found.finding.area = area;
            }
        }
    }

    /// Keeps the input of a call and gives the command that makes the call again.
    fn command(&self, CallId(nth): CallId) -> Option<String> {
        let folder = self.keep.as_ref()?;
        let record = &self.records[nth];
        let subcommand = record.subcommand?;
        let document = match record.call.input() {
            Some(document) => document.to_owned(),
            None => serde_json::to_vec(record.call.argv().get(1..)?).ok()?,
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
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    // An older file may be open to others, or lead elsewhere.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)
}

/// The beginning of a long text. Remove secrets first: the search cannot find a truncated secret.
fn beginning(text: String) -> String {
    const LONGEST: usize = 600;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
