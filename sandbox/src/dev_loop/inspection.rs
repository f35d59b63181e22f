//! The broker's own check of a `broker.yml` before it runs with it (`on-demand-broker check --online`).

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde::Deserialize;
use tokio::{io::AsyncReadExt, process::Command, time::timeout};

use super::{composition::Composition, log::Log};

/// The broker's own deadlines for its upstreams and its adapter are shorter.
const LIMIT: Duration = Duration::from_mins(2);

/// The longest report, in bytes.
const LONGEST_REPORT: u64 = 4 << 20;

/// Of the log of a check nothing is of interest but what the adapter says on stderr.
const LOGGED: &str = "odb_engine_bosh::adapter=info";

/// Under which key the adapter's schemas are refused.
const KEY_OF_ADAPTER: &str = "broker.enable_plan_schemas";

/// Codes of what is wrong with the adapter's answer to a trial order.
const TRIALS: &str = "ODB-30";

/// The findings, with the author's file and lines.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// Whether the adapter did not do what it should.
    pub(super) is_adapters: bool,
    /// The adapter's stderr, without what the errors quote.
    pub(super) adapter_words: Vec<String>,
}

/// The broker has no opinion.
#[derive(Debug, thiserror::Error)]
pub(super) enum InspectionError {
    #[error("could not run `{}`", executable.display())]
    Run {
        executable: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{} check` did not end within {} s", executable.display(), LIMIT.as_secs())]
    Hung { executable: PathBuf },
    #[error("`{} check` did not report what it found", executable.display())]
    Report {
        executable: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Deserialize)]
struct Report {
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    line: Option<usize>,
    #[serde(default)]
    key: Option<String>,
    wrong: String,
    right: Option<String>,
    #[serde(default)]
    code: Option<String>,
}

/// Checks the composition in `file`. `author` is the author's name for the source file. The adapter's stderr goes to
/// the broker's log.
pub(super) async fn inspect(
    executable: &Path,
    file: &Path,
    composition: &Composition,
    author: &str,
    log: &Log,
) -> Result<Findings, InspectionError> {
    let run = |source| InspectionError::Run {
        executable: executable.to_owned(),
        source,
    };
    let mut child = super::broker::without_proxies(&mut Command::new(executable))
        .args(["check", "--online", "--format", "json", "--log", LOGGED])
        .arg("--config")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(run)?;
    let mut report = Vec::new();
    let mut adapter_words = Vec::new();
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let reading = async {
        let reading_report = async {
            match output {
                Some(output) => output.take(LONGEST_REPORT).read_to_end(&mut report).await,
                None => Ok(0),
            }
        };
        let reading_log = async {
            if let Some(errors) = errors {
                adapter_words = log.read_check(errors).await;
            }
        };
        let (read, ()) = tokio::join!(reading_report, reading_log);
        read?;
        child.wait().await
    };
    match timeout(LIMIT, reading).await {
        Ok(ended) => ended.map_err(run)?,
        Err(_) => {
            return Err(InspectionError::Hung {
                executable: executable.to_owned(),
            });
        }
    };
    let report: Report = serde_json::from_slice(&report).map_err(|source| {
        let executable = executable.to_owned();
        InspectionError::Report { executable, source }
    })?;
    // Errors of trial orders do not prevent the start: an author sees them with the first order.
    let (trials, errors) = report.errors.into_iter().partition(Finding::is_of_trial);
    let mut warnings: Vec<Finding> = trials;
    warnings.extend(report.warnings);
    let errors: Vec<Finding> = errors;
    let is_adapters = errors.iter().any(Finding::is_adapters);
    if !is_adapters {
        adapter_words.clear();
    }
    let reported = |findings: Vec<Finding>| -> Vec<String> {
        let findings = findings.into_iter();
        findings
            .map(|one| one.reported(composition, author))
            .collect()
    };
    let (errors, warnings) = (reported(errors), reported(warnings));
    // An error quotes the end of the adapter's stderr.
    adapter_words.retain(|words| !errors.iter().any(|error| error.contains(words.as_str())));
    Ok(Findings {
        errors,
        warnings,
        is_adapters,
        adapter_words,
    })
}

impl Finding {
    fn is_of_trial(&self) -> bool {
        self.code
            .as_deref()
            .is_some_and(|code| code.starts_with(TRIALS))
    }

    fn is_adapters(&self) -> bool {
        self.key.as_deref() == Some(KEY_OF_ADAPTER)
    }

    fn reported(self, composition: &Composition, author: &str) -> String {
        let line = self.line.and_then(|line| composition.author_line(line));
        let location = line.map_or_else(|| author.to_owned(), |line| format!("{author}:{line}"));
        let key = self.key.map_or_else(String::new, |key| format!("{key} "));
        let right = self
            .right
            .map_or_else(String::new, |right| format!("; {right}"));
        format!("{location}: {key}{}{right}", self.wrong)
    }
}
