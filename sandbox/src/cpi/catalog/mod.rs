//! The job catalog: what jobs the sandbox knows, read from a folder with a folder per job.
//!
//! `job_file` reads and checks one `job.yml`; what is here is what the rest of the CPI works with.

mod job_file;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use odb_adapter_sdk::yaml;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{JobName, ProcessName};

/// The jobs that the sandbox can run. Each is a folder with a `job.yml` and its templates.
#[derive(Clone, Debug, Default)]
pub struct JobCatalog {
    jobs: BTreeMap<JobName, Arc<Job>>,
}

/// A job as a release would bring it: properties, links, templates, and what is run.
#[derive(Debug)]
pub struct Job {
    pub name: JobName,
    pub provides: Vec<Provided>,
    pub consumes: Vec<Consumed>,
    /// The properties that it declares, by dotted path. Only these reach its templates.
    pub properties: BTreeMap<String, Property>,
    pub templates: Vec<Template>,
    pub requirements: Requirements,
    /// Programs that run to their end at certain moments of the job's life.
    pub scripts: BTreeMap<Script, Program>,
    /// The processes that live as long as the job is started.
    pub processes: Vec<Process>,
    /// The program that runs when the job is an errand (`bin/run` in a release).
    pub errand: Option<Program>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Requirements {
    /// Folders that are searched for programs before the `PATH`. A `*` matches any name; of several folders, the one
    /// with the highest number comes first.
    pub search: Vec<String>,
    pub packages: Vec<String>,
    /// Whether the programs run as root.
    pub as_root: AsRoot,
}

/// Whether a job's programs run as root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AsRoot {
    #[default]
    Accepted,
    Refused,
}

/// A moment in a job's life at which a program of its own may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Script {
    /// Before its processes are started.
    PreStart,
    /// After they all run.
    PostStart,
    /// Before they are drained.
    PreStop,
    /// Before they are stopped.
    Drain,
    /// After they were stopped.
    PostStop,
}

#[derive(Debug)]
pub struct Process {
    pub name: ProcessName,
    /// The program and its arguments, each a template.
    pub command: Vec<String>,
    /// The TCP port on which the process listens once it is ready, a template.
    pub port: String,
    /// A program and its arguments, each a template, that exits with 0 once the process does its work.
    pub ready_check: Option<Vec<String>>,
    /// How long it may take until the port is open and the check passes.
    pub ready_within: Duration,
    /// How it is asked to end.
    pub stop_signal: StopSignal,
    /// How long it may take to end when asked to, before it is killed.
    pub stop_within: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// `SIGTERM`.
    #[default]
    Term,
    /// `SIGINT`.
    Int,
    /// `SIGQUIT`.
    Quit,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The program and its arguments; in the catalog each is a template.
    pub command: Vec<String>,
    /// How long it may run before it is killed.
    pub timeout: Duration,
}

#[derive(Debug)]
pub struct Template {
    pub to: String,
    pub mode: u32,
    /// The template's text (Tera).
    pub text: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provided {
    pub name: String,
    /// The link's type, by which consumers find it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The properties, by dotted path, that consumers see.
    #[serde(default)]
    pub properties: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumed {
    /// The name under which templates find it.
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether the job does without when there is none.
    #[serde(default)]
    pub optional: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Property {
    pub description: String,
    /// Its value where the manifest has none.
    #[serde(default)]
    pub default: Option<Value>,
}

/// The job catalog cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("could not read `{path}`")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A `job.yml` is no YAML, or has an unknown or missing key.
    #[error("`{path}` is not a job of the catalog")]
    Parse {
        path: PathBuf,
        #[source]
        source: yaml::Error,
    },
    /// A `job.yml` has the right keys, but they contradict each other.
    #[error("`{path}` {error}")]
    Contradiction { path: PathBuf, error: String },
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
                let job = job_file::read(&path)?;
                jobs.insert(job.name.clone(), Arc::new(job));
            }
        }
        Ok(Self { jobs })
    }

    /// Reads several folders. Of two jobs with one name that of the later folder counts.
    pub fn load_all<F: AsRef<Path>>(folders: &[F]) -> Result<Self, CatalogError> {
        let mut all = Self::default();
        for folder in folders {
            all.jobs.extend(Self::load(folder.as_ref())?.jobs);
        }
        Ok(all)
    }

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
        self.errand.is_some()
    }
}

impl std::fmt::Display for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::PreStart => "pre-start",
            Self::PostStart => "post-start",
            Self::PreStop => "pre-stop",
            Self::Drain => "drain",
            Self::PostStop => "post-stop",
        })
    }
}
