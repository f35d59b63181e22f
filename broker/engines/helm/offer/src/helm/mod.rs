//! The `helm` executable: one isolated child process for each call.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the executable and its version |
//! | `call` | one call: its folder, environment and limits |
//! | `error` | what helm's messages mean |

mod call;
mod error;

use std::{
    fmt,
    io::{self, PipeReader},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use odb_process::Orphans;
use semver::Version;

use crate::{chart::Chart, values::Values};

use call::Call;
pub use error::{Class, HelmError, HelmFailure, Place};

/// The time for one rendering.
const RENDERING: Duration = Duration::from_mins(1);

/// A supported helm.
#[derive(Clone, Debug)]
pub struct Helm {
    path: PathBuf,
    version: Version,
    orphans: Orphans,
    cancel: Option<Arc<PipeReader>>,
}

/// The two generations, whose flags differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    Three,
    Four,
}

/// Why a helm cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableHelm {
    #[error("`{0}` is not found")]
    NotFound(String),
    #[error("`{path}` cannot be started: {error}")]
    Start { path: String, error: io::Error },
    #[error("`{path}` is not helm: it printed no version")]
    NoVersion { path: String },
    #[error("`{path}` is helm {found}")]
    Version { path: String, found: String },
}

/// What is supported, for remedies.
pub const WANTED: &str = "helm 3.16 or later, or 4";

/// A rendering of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Rendering<'r> {
    pub release: &'r str,
    pub namespace: &'r str,
    pub kube_version: Option<&'r str>,
}

impl Helm {
    /// Finds the executable and asks for its version. `search` is the `PATH` for a bare name.
    pub fn find(path: &Path, search: Option<&str>, orphans: Orphans) -> Result<Self, UnusableHelm> {
        let path = located(path, search.unwrap_or_default())?;
        let shown = path.display().to_string();
        let call = Call::new().map_err(|error| UnusableHelm::Start {
            path: shown.clone(),
            error,
        })?;
        let mut helm = Self {
            path,
            version: Version::new(0, 0, 0),
            orphans,
            cancel: None,
        };
        let arguments = ["version", "--template", "{{.Version}}"];
        let output = match call.run(&helm, &arguments, Duration::from_secs(20)) {
            Ok(output) => output,
            Err(HelmError::Start(error)) => return Err(UnusableHelm::Start { path: shown, error }),
            Err(_) => return Err(UnusableHelm::NoVersion { path: shown }),
        };
        let found = output.trim().to_owned();
        let version = Version::parse(found.trim_start_matches('v'));
        helm.version = version.map_err(|_| UnusableHelm::NoVersion {
            path: shown.clone(),
        })?;
        if helm.is_supported() {
            Ok(helm)
        } else {
            Err(UnusableHelm::Version { path: shown, found })
        }
    }

    /// The same whose calls end as soon as the writing end of this pipe is closed.
    #[must_use]
    pub fn with_cancel(self, cancel: PipeReader) -> Self {
        let cancel = Some(Arc::new(cancel));
        Self { cancel, ..self }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn version(&self) -> &Version {
        &self.version
    }

    pub fn generation(&self) -> Generation {
        if self.version.major == 3 {
            Generation::Three
        } else {
            Generation::Four
        }
    }

    fn is_supported(&self) -> bool {
        match self.version.major {
            3 => self.version.minor >= 16,
            4 => true,
            _ => false,
        }
    }

    /// The manifests of a chart with these values, without a cluster.
    pub fn template(
        &self,
        chart: &Chart,
        values: &Values,
        rendering: Rendering<'_>,
    ) -> Result<String, HelmError> {
        self.template_of(
            |call| call.write("chart.tgz", &chart.archive),
            values,
            rendering,
        )
    }

    /// The output of one template in a chart of its own. `files` are those of the chart.
    pub(crate) fn template_files(
        &self,
        files: &[(&str, &str)],
        values: &Values,
        rendering: Rendering<'_>,
    ) -> Result<String, HelmError> {
        let write = |call: &Call| {
            for (name, text) in files {
                call.write(&format!("chart/{name}"), text.as_bytes())?;
            }
            call.path("chart")
        };
        self.template_of(write, values, rendering)
    }

    fn template_of(
        &self,
        write_chart: impl FnOnce(&Call) -> io::Result<String>,
        values: &Values,
        rendering: Rendering<'_>,
    ) -> Result<String, HelmError> {
        let call = Call::new().map_err(HelmError::Folder)?;
        let chart = write_chart(&call).map_err(HelmError::Folder)?;
        let values = serde_json::to_vec(values).map_err(|error| HelmError::Folder(error.into()))?;
        let values = call
            .write("values.json", &values)
            .map_err(HelmError::Folder)?;
        let mut arguments = vec!["template", rendering.release, &chart];
        arguments.extend([
            "--namespace",
            rendering.namespace,
            "--values",
            &values,
            "--skip-crds",
        ]);
        if let Some(version) = rendering.kube_version {
            arguments.extend(["--kube-version", version]);
        }
        call.run(self, &arguments, RENDERING)
    }
}

impl fmt::Display for Helm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "helm {}", self.version)
    }
}

/// A path with a folder in it is taken as it is; a bare name is searched for.
fn located(path: &Path, search: &str) -> Result<PathBuf, UnusableHelm> {
    let not_found = || UnusableHelm::NotFound(path.display().to_string());
    if path.components().count() > 1 {
        // The child runs in another folder.
        return path.canonicalize().map_err(|_| not_found());
    }
    let candidates = std::env::split_paths(search).map(|folder| folder.join(path));
    let found = { candidates }.find(|candidate| candidate.is_file());
    found
        .and_then(|found| found.canonicalize().ok())
        .ok_or_else(not_found)
}
