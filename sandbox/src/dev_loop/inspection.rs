//! The broker's own check of a `broker.yml` before it runs with it (`on-demand-broker check --online`).
//!
//! What a `broker.yml` requires of the foundation: releases and stemcells, which can be added, and objects of the cloud
//! config, which must exist.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;
use tokio::{io::AsyncReadExt, process::Command, time::timeout};

use super::{composition::Composition, log::Log};
use crate::{
    cpi::JobCatalog,
    director::{Director, UploadedRelease, UploadedStemcell, Uploads},
};

/// The broker's own deadlines for its upstreams and its adapter are shorter.
const LIMIT: Duration = Duration::from_mins(2);

const LONGEST_REPORT: u64 = 4 << 20;

/// Of the log of a check nothing is of interest but what the adapter says on stderr.
const LOGGED: &str = "odb_engine_bosh::adapter=info";

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

/// What must be added before the plans can be deployed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Demands {
    pub(super) releases: Vec<UploadedRelease>,
    pub(super) stemcells: Vec<UploadedStemcell>,
    /// Missing objects, with the available ones.
    pub(super) errors: Vec<String>,
}

/// The lists of an instance group that name things of the cloud config, and those things.
const CLOUD_THINGS: [(&str, &str, &str); 5] = [
    ("vm_type", "vm_types", "VM type"),
    ("persistent_disk_type", "disk_types", "disk type"),
    ("vm_extensions", "vm_extensions", "VM extension"),
    ("networks", "networks", "network"),
    ("azs", "azs", "availability zone"),
];

impl Demands {
    /// Compares a `broker.yml` with what there is. Values of the wrong kind are left to the broker, which reports them.
    pub(super) fn of(document: &Value, director: &Director, jobs: &JobCatalog) -> Self {
        let mut demands = Self::default();
        let uploads = director.uploads();
        for (location, release) in entries(&document["service_deployment"]["releases"]) {
            demands.release(location, release, &uploads, jobs);
        }
        for (_, stemcell) in entries(&document["service_deployment"]["stemcells"]) {
            demands.stemcell(stemcell, &uploads);
        }
        for (plan_location, plan) in entries(&document["service_catalog"]["plans"]) {
            for (location, group) in entries(&plan["instance_groups"]) {
                let key =
                    format!("service_catalog.plans[{plan_location}].instance_groups[{location}]");
                demands.group(&key, group, director);
            }
        }
        demands
    }

    fn release(&mut self, location: usize, release: &Value, uploads: &Uploads, jobs: &JobCatalog) {
        let (Some(name), Some(version)) = (text(&release["name"]), text(&release["version"]))
        else {
            return;
        };
        if version.ends_with("latest") {
            return;
        }
        let wanted: Vec<&str> = (entries(&release["jobs"]))
            .filter_map(|(_, job)| job.as_str())
            .collect();
        let uploaded = (uploads.releases.iter())
            .find(|uploaded| uploaded.name == name && uploaded.version == version);
        let mut all = uploaded.map(|release| release.jobs.clone());
        let has = |job: &str| {
            let jobs = uploaded.map(|release| release.jobs.as_slice());
            jobs.unwrap_or_default()
                .iter()
                .any(|known| known.as_ref() == job)
        };
        if uploaded.is_some() && wanted.iter().all(|job| has(job)) {
            return;
        }
        for job in wanted.into_iter().filter(|job| !has(job)) {
            match jobs.job(job) {
                Some(job) => all.get_or_insert_default().push(job.name.clone()),
                None => self.errors.push(format!(
                    "service_deployment.releases[{location}].jobs: the sandbox knows no job `{job}`, which release \
                     `{name}` is to have; put its folder into `jobs` beside `broker.yml`, or name another with --jobs; \
                     there are {}",
                    listed(jobs.names())
                )),
            }
        }
        self.releases.push(UploadedRelease {
            name,
            version,
            jobs: all.unwrap_or_default(),
        });
    }

    fn stemcell(&mut self, stemcell: &Value, uploads: &Uploads) {
        let (Some(os), Some(version)) = (text(&stemcell["os"]), text(&stemcell["version"])) else {
            return;
        };
        let name = text(&stemcell["name"]);
        let is_there = uploads.stemcells.iter().any(|uploaded| {
            uploaded.os == os
                && uploaded.version == version
                && name.as_ref().is_none_or(|name| *name == uploaded.name)
        });
        if is_there || os.is_empty() || version.ends_with("latest") {
            return;
        }
        self.stemcells.push(UploadedStemcell {
            name: name.unwrap_or_else(|| format!("bosh-warden-boshlite-{os}-go_agent")),
            os,
            version,
        });
    }

    fn group(&mut self, key: &str, group: &Value, director: &Director) {
        for (member, list, thing) in CLOUD_THINGS {
            let there = director.names_in_cloud_configs(list);
            let asked = &group[member];
            let names = asked
                .as_array()
                .map_or_else(|| std::slice::from_ref(asked), Vec::as_slice);
            let missing = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| !name.is_empty() && !there.iter().any(|known| known == name));
            for name in missing {
                self.errors.push(format!(
                    "{key}.{member}: the foundation has no {thing} `{name}`; there are {}, and --config FILE can name \
                     others",
                    listed(&there)
                ));
            }
        }
    }
}

/// The plans to hide until an administrator enables access (`spec/contracts/config-and-release.md` §1.2,
/// `cf_service_access`).
pub(super) fn plans_to_hide(document: &Value) -> impl Iterator<Item = String> {
    entries(&document["service_catalog"]["plans"]).filter_map(|(_, plan)| {
        let access = plan["cf_service_access"].as_str()?;
        matches!(access, "disable" | "manual").then(|| text(&plan["name"]))?
    })
}

fn entries(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

/// The broker takes any scalar for a text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn listed<T: std::fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
