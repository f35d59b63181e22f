//! The settings of a Director.

use std::{num::NonZeroUsize, time::Duration};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::variables::ConfigServer;
use crate::cpi::JobName;

/// One Director: its identity, what has been uploaded to it, and how fast it is.
#[derive(Clone, Debug)]
pub struct DirectorSettings {
    /// Its name, the first part of the absolute names of variables.
    pub name: String,
    /// Its id, part of the scopes for this Director alone.
    pub uuid: String,
    /// Where its users get their tokens.
    pub uaa_url: String,
    /// Where its users come from.
    pub user_management: UserManagement,
    /// Where the values of variables are kept.
    pub config_server: ConfigServer,
    /// Whether its VMs resolve names of the domain `bosh`.
    pub local_dns: bool,
    pub front_end: FrontEnd,
    pub releases: Vec<UploadedRelease>,
    pub stemcells: Vec<UploadedStemcell>,
    /// The cloud config named `default`: `azs`, `vm_types`, `networks`, `disk_types`, `vm_extensions`. There is none
    /// if this is `null`.
    pub cloud_config: Value,
    /// How long things take.
    pub durations: DirectorDurations,
}

/// Where the users of a Director come from. It believes one kind of credentials and refuses the other.
#[derive(Clone, Debug, Default)]
pub enum UserManagement {
    #[default]
    Uaa,
    /// The Director knows them itself, and each of them may do everything.
    Local(Vec<LocalUser>),
}

#[derive(Clone, Debug, Deserialize)]
pub struct LocalUser {
    pub name: String,
    pub password: SecretString,
}

/// The proxy between a Director and its clients (`spec/contracts/director-api.md`, "Transport").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrontEnd {
    /// nginx, which uses HTTP/1.0 to the Director: a request that starts a task is redirected with 302.
    #[default]
    Nginx,
    /// No proxy: a request that starts a task is redirected with 303, unless it is a GET.
    None,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadedRelease {
    pub name: String,
    pub version: String,
    pub jobs: Vec<JobName>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadedStemcell {
    /// Its name, such as `bosh-warden-boshlite-ubuntu-jammy-go_agent`.
    pub name: String,
    /// Its operating system, such as `ubuntu-jammy`.
    pub os: String,
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
    /// How often the worker of a task gives a sign of life.
    pub checkpoint_interval: Duration,
    /// How long after the last sign of life a task is given up. A real Director allows for six intervals.
    pub checkpoint_timeout: Duration,
    /// How long a lock is good for when its holder does not renew it, which it does after half the time.
    pub lock_lease: Duration,
}

impl Default for DirectorDurations {
    fn default() -> Self {
        Self {
            lock_wait: Duration::from_secs(10),
            step: Duration::from_millis(20),
            workers: const { NonZeroUsize::new(3).unwrap() },
            checkpoint_interval: Duration::from_secs(30),
            checkpoint_timeout: Duration::from_mins(3),
            lock_lease: Duration::from_secs(241),
        }
    }
}
