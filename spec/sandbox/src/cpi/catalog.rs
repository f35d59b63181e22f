//! The job catalog: what jobs the sandbox knows, read from a folder with a folder per job.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::Value;

use super::JobName;

const SPEC: &str = "job.yml";

/// The jobs that the sandbox can run. Each is a folder with a `job.yml` and its templates.
#[derive(Clone, Debug, Default)]
pub struct JobCatalog {
    jobs: BTreeMap<JobName, Arc<Job>>,
}

/// A job as a release would bring it: properties, links, templates, and what is run.
#[derive(Debug)]
pub struct Job {
    /// The job's name, which is also its folder's.
    pub name: JobName,
    /// The links that it provides.
    pub provides: Vec<Provided>,
    /// The links that it needs.
    pub consumes: Vec<Consumed>,
    /// The properties that it declares, by dotted path. Only these reach its templates.
    pub properties: BTreeMap<String, Property>,
    /// The files that are rendered into the job's folder.
    pub templates: Vec<Template>,
    /// What is run.
    pub run: Run,
}

/// What a job runs.
#[derive(Debug)]
pub enum Run {
    /// A process that lives as long as its VM.
    Process(Process),
    /// A program that runs when it is asked for and ends by itself.
    Errand(Errand),
}

/// A long-lived process.
#[derive(Debug)]
pub struct Process {
    /// The program and its arguments, each a template.
    pub command: Vec<String>,
    /// The TCP port on which the process listens once it is ready.
    pub port: u16,
    /// A program and its arguments, each a template, that exits with 0 once the process does its work.
    pub ready_check: Option<Vec<String>>,
    /// How long it may take until the port is open and the check passes.
    pub ready_within: Duration,
    /// How long it may take to end when asked to, before it is killed.
    pub stop_within: Duration,
}

/// A program that runs to its end.
#[derive(Debug)]
pub struct Errand {
    /// The program and its arguments, each a template.
    pub command: Vec<String>,
    /// How long it may run before it is killed.
    pub timeout: Duration,
}

/// A file that is rendered into the job's folder.
#[derive(Debug)]
pub struct Template {
    /// The name of the rendered file.
    pub to: String,
    /// The template's text (Tera).
    pub text: String,
}

/// A link that a job provides.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provided {
    /// The link's name.
    pub name: String,
    /// The link's type, by which consumers find it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The properties, by dotted path, that consumers see.
    #[serde(default)]
    pub properties: Vec<String>,
}

/// A link that a job needs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumed {
    /// The name under which templates find it.
    pub name: String,
    /// The link's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether the job does without when there is none.
    #[serde(default)]
    pub optional: bool,
}

/// A property that a job declares.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Property {
    /// What it means.
    pub description: String,
    /// Its value where the manifest has none.
    #[serde(default)]
    pub default: Option<Value>,
}

/// The job catalog cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file or folder cannot be read.
    #[error("could not read `{path}`")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A `job.yml` is no YAML, or has an unknown or missing key.
    #[error("`{path}` is not a job of the catalog")]
    Parse {
        /// Which.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: yaml::Error,
    },
    /// A `job.yml` has the right keys, but they contradict each other.
    #[error("`{path}` {fault}")]
    Contradiction {
        /// Which.
        path: PathBuf,
        /// The contradiction.
        fault: String,
    },
}

impl JobCatalog {
    /// Reads every folder in `folder` as a job.
    pub fn load(folder: &Path) -> Result<Self, CatalogError> {
        let cannot_read = |source| CatalogError::Read {
            path: folder.to_owned(),
            source,
        };
        let mut jobs = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(cannot_read)? {
            let path = entry.map_err(cannot_read)?.path();
            if path.is_dir() {
                let job = job(&path)?;
                jobs.insert(job.name.clone(), Arc::new(job));
            }
        }
        Ok(Self { jobs })
    }

    /// The job of this name.
    pub fn job(&self, name: &str) -> Option<&Arc<Job>> {
        self.jobs.get(name)
    }

    /// The names of all jobs, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &JobName> {
        self.jobs.keys()
    }
}

impl Job {
    /// Whether this job is run on demand (`bin/run` in a release).
    pub fn is_errand(&self) -> bool {
        matches!(self.run, Run::Errand(_))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    name: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(default)]
    provides: Vec<Provided>,
    #[serde(default)]
    consumes: Vec<Consumed>,
    #[serde(default)]
    properties: BTreeMap<String, Property>,
    /// Template file ⇒ rendered file.
    #[serde(default)]
    templates: BTreeMap<String, String>,
    process: Option<RawProcess>,
    errand: Option<RawErrand>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProcess {
    command: Vec<String>,
    port: u16,
    ready_check: Option<Vec<String>>,
    ready_within_seconds: u64,
    stop_within_seconds: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawErrand {
    command: Vec<String>,
    timeout_in_seconds: u64,
}

fn job(folder: &Path) -> Result<Job, CatalogError> {
    let path = folder.join(SPEC);
    let raw: RawJob = yaml::from_str(&text(&path)?).map_err(|source| CatalogError::Parse {
        path: path.clone(),
        source,
    })?;
    let fault = |fault: String| CatalogError::Contradiction {
        path: path.clone(),
        fault,
    };
    if folder
        .file_name()
        .is_none_or(|name| name != raw.name.as_str())
    {
        return Err(fault(format!(
            "names the job `{}`; that must be its folder's name",
            raw.name
        )));
    }
    let undeclared = raw
        .provides
        .iter()
        .flat_map(|link| &link.properties)
        .find(|path| !raw.properties.contains_key(*path));
    if let Some(undeclared) = undeclared {
        return Err(fault(format!(
            "shares the property `{undeclared}`, which it does not declare"
        )));
    }
    let run = match (raw.process, raw.errand) {
        (Some(process), None) => Run::Process(Process {
            command: process.command,
            port: process.port,
            ready_check: process.ready_check,
            ready_within: Duration::from_secs(process.ready_within_seconds),
            stop_within: Duration::from_secs(process.stop_within_seconds),
        }),
        (None, Some(errand)) => Run::Errand(Errand {
            command: errand.command,
            timeout: Duration::from_secs(errand.timeout_in_seconds),
        }),
        _ => return Err(fault("must have one of `process` and `errand`".to_owned())),
    };
    if run.command().is_empty() {
        return Err(fault("has an empty `command`".to_owned()));
    }
    Ok(Job {
        name: raw.name.into(),
        provides: raw.provides,
        consumes: raw.consumes,
        properties: raw.properties,
        templates: templates(folder, raw.templates)?,
        run,
    })
}

fn templates(
    folder: &Path,
    files: BTreeMap<String, String>,
) -> Result<Vec<Template>, CatalogError> {
    files
        .into_iter()
        .map(|(from, to)| {
            let path = folder.join(&from);
            if to.is_empty() || to.contains('/') || to == "." || to == ".." {
                let fault = format!("is rendered as `{to}`, which is not a file's name");
                return Err(CatalogError::Contradiction { path, fault });
            }
            Ok(Template {
                to,
                text: text(&path)?,
            })
        })
        .collect()
}

fn text(path: &Path) -> Result<String, CatalogError> {
    fs::read_to_string(path).map_err(|source| CatalogError::Read {
        path: path.to_owned(),
        source,
    })
}

impl Run {
    /// The program and its arguments, each a template.
    pub fn command(&self) -> &[String] {
        match self {
            Self::Process(process) => &process.command,
            Self::Errand(errand) => &errand.command,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn loaded(spec: &str) -> Result<JobCatalog, CatalogError> {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("web");
        fs::create_dir(&job).unwrap();
        fs::write(job.join(SPEC), spec).unwrap();
        JobCatalog::load(folder.path())
    }

    #[test]
    fn an_unknown_key_is_refused_with_file_and_key() {
        let error = loaded(
            "name: web\ndescription: d\nerrand: {command: [ls], timeout_in_seconds: 1}\nprovide: []\n",
        )
        .unwrap_err();
        assert!(error.to_string().contains("web/job.yml"), "{error}");
        let source = error.source().unwrap().to_string();
        assert!(source.contains("provide"), "{source}");
    }

    #[test]
    fn a_job_runs_either_a_process_or_an_errand() {
        let error = loaded("name: web\ndescription: d\n").unwrap_err();
        assert!(error.to_string().contains("one of `process` and `errand`"));
    }

    #[test]
    fn a_link_shares_only_what_the_job_declares() {
        let error = loaded(
            "name: web\ndescription: d\nprovides: [{name: w, type: w, properties: [a.b]}]\nerrand: {command: [ls], timeout_in_seconds: 1}\n",
        )
        .unwrap_err();
        assert!(error.to_string().contains("`a.b`"), "{error}");
    }
}
