//! The options of `odb-sandbox up` for the author's work.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    adapter::{Adapter, AdapterError},
    folder::{ExecutableError, Executables},
};

/// The broker's executable.
const BROKER: &str = "on-demand-broker";

/// The folder with jobs beside a `broker.yml`.
const JOBS: &str = "jobs";

/// The name of the file in a folder.
const BROKER_FILE: &str = "broker.yml";

/// A broker beside the foundation.
#[derive(Clone, Debug, Args)]
pub struct DevLoopArgs {
    /// Run a broker with this `broker.yml` beside the foundation, and restart it whenever the file or the adapter
    /// changes.
    ///
    /// Only `service_deployment`, `service_catalog` and options of `broker` are read from the file; the sandbox sets
    /// the broker's address and its upstreams. Jobs in the folder `jobs` beside it are included. For a folder, the
    /// `broker.yml` in it is used.
    #[arg(long, value_name = "FILE", requires = "adapter")]
    broker: Option<PathBuf>,
    /// The service adapter: an executable, or a folder with `adapter.yml`.
    #[arg(long, value_name = "PATH", requires = "broker")]
    adapter: Option<PathBuf>,
    /// The broker's executable. Without it the `on-demand-broker` beside this one, or on the PATH.
    #[arg(long, value_name = "PATH", requires = "broker")]
    broker_executable: Option<PathBuf>,
}

/// The settings of a dev loop.
#[derive(Clone, Debug)]
pub struct DevLoopOptions {
    pub(super) broker_file: PathBuf,
    pub(super) adapter: Adapter,
    pub(super) executable: PathBuf,
    pub(super) jobs: Vec<PathBuf>,
    pub(super) state: PathBuf,
}

/// There can be no dev loop.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// There is no such file.
    #[error("there is no file `{}`; --broker names a `broker.yml`", .0.display())]
    NoBrokerFile(PathBuf),
    /// There is no such executable.
    #[error("there is no file `{}`; --broker-executable names an `on-demand-broker`", .0.display())]
    NoBrokerExecutable(PathBuf),
    /// There is no adapter.
    #[error(transparent)]
    Adapter(Box<dyn std::error::Error + Send + Sync>),
    /// There is no executable of the broker.
    #[error("there is no broker to run; --broker-executable names one")]
    NoBroker(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<AdapterError> for OptionsError {
    fn from(error: AdapterError) -> Self {
        Self::Adapter(error.into())
    }
}

impl From<ExecutableError> for OptionsError {
    fn from(error: ExecutableError) -> Self {
        Self::NoBroker(error.into())
    }
}

impl DevLoopArgs {
    /// Whether there is to be a broker.
    pub fn is_wanted(&self) -> bool {
        self.broker.is_some()
    }

    /// The dev loop's options, if one was requested. `jobs` are the foundation's folders with jobs, `state` is its
    /// state folder.
    pub fn options(
        &self,
        jobs: &[PathBuf],
        state: &Path,
    ) -> Result<Option<DevLoopOptions>, OptionsError> {
        let (Some(broker), Some(adapter)) = (&self.broker, &self.adapter) else {
            return Ok(None);
        };
        let mut broker_file = std::path::absolute(broker).unwrap_or_else(|_| broker.clone());
        if broker_file.is_dir() {
            broker_file.push(BROKER_FILE);
        }
        if !broker_file.is_file() {
            return Err(OptionsError::NoBrokerFile(broker_file));
        }
        let executables = Executables::of_process();
        let mut jobs = jobs.to_vec();
        jobs.push(broker_file.with_file_name(JOBS));
        Ok(Some(DevLoopOptions {
            adapter: Adapter::find(adapter, &executables)?,
            executable: match &self.broker_executable {
                Some(path) if !path.is_file() => {
                    return Err(OptionsError::NoBrokerExecutable(path.clone()));
                }
                Some(path) => path.clone(),
                None => executables.find(BROKER)?,
            },
            broker_file,
            jobs,
            state: state.to_owned(),
        }))
    }
}

impl DevLoopOptions {
    /// The folders with jobs that are there now, the author's last.
    pub fn jobs(&self) -> Vec<PathBuf> {
        let there = self.jobs.iter().filter(|folder| folder.is_dir());
        there.cloned().collect()
    }
}
