//! What a Director is set up with.

use std::{num::NonZeroUsize, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cpi::JobName;

/// One Director: its identity, what has been uploaded to it, and how fast it is.
#[derive(Clone, Debug)]
pub struct DirectorSettings {
    /// Its name, the first part of the absolute names of variables.
    pub name: String,
    /// Its id, part of the scopes that speak of it alone.
    pub uuid: String,
    /// Where its users get their tokens.
    pub uaa_url: String,
    /// Releases that deployments can use.
    pub releases: Vec<UploadedRelease>,
    /// Stemcells that deployments can use.
    pub stemcells: Vec<UploadedStemcell>,
    /// The cloud config named `default`: `azs`, `vm_types`, `networks`, `disk_types`, `vm_extensions`.
    pub cloud_config: Value,
    /// How long things take.
    pub durations: DirectorDurations,
}

/// A release that deployments can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadedRelease {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its jobs, which are jobs of the catalog.
    pub jobs: Vec<JobName>,
}

/// A stemcell that deployments can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadedStemcell {
    /// Its name, such as `bosh-warden-boshlite-ubuntu-jammy-go_agent`.
    pub name: String,
    /// Its operating system, such as `ubuntu-jammy`.
    pub os: String,
    /// Its version.
    pub version: String,
}

/// How long things take at a Director. The defaults are a real one's, but for the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectorDurations {
    /// How long a task waits for the lock of its deployment.
    pub lock_wait: Duration,
    /// How long each step of an instance's update takes at least.
    pub step: Duration,
    /// How many tasks are worked on at the same time.
    pub workers: NonZeroUsize,
}

impl Default for DirectorDurations {
    fn default() -> Self {
        Self {
            lock_wait: Duration::from_secs(10),
            step: Duration::from_millis(20),
            workers: const { NonZeroUsize::new(3).unwrap() },
        }
    }
}
