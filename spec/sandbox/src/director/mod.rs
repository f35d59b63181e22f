//! The BOSH Director (`spec/contracts/director-api.md`): deployments, their tasks, configs and
//! variables, over VMs of the process CPI.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`api`] | the HTTP edge: who may call what, and what is answered |
//! | [`tasks`] | the queue, its workers, event logs and locks |
//! | [`deploy`] | what tasks do to deployments |
//! | [`deployments`], [`configs`], [`variables`] | what the Director remembers |
//! | [`settings`] | what it is set up with |
//! | [`ids`], [`ruby`] | names and ids; values as the real Director's language prints them |

mod api;
mod configs;
mod deploy;
mod deployments;
mod ids;
mod ruby;
mod settings;
mod tasks;
mod variables;

use std::sync::Arc;

use actix_web::web;
use odb_adapter_sdk::yaml;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::settings::{DirectorDurations, DirectorSettings, UploadedRelease, UploadedStemcell};
use self::{
    configs::{Configs, NewConfig},
    deployments::Deployments,
    ids::{ConfigId, TeamName},
    tasks::{Locks, Queue, Tasks, start_workers},
    variables::Variables,
};
use crate::{cpi::Cpi, uaa::TokenVerifier};

/// A Director. A clone is the same Director.
#[derive(Clone)]
pub struct Director {
    inner: Arc<Inner>,
}

struct Inner {
    settings: DirectorSettings,
    tokens: TokenVerifier,
    cpi: Cpi,
    runtime: Handle,
    deployments: Deployments,
    configs: Configs,
    variables: Variables,
    tasks: Arc<Tasks>,
    locks: Arc<Locks>,
    queue: Queue,
    stop: CancellationToken,
    workers: TaskTracker,
}

impl Director {
    /// A Director that believes these tokens and makes its VMs with this CPI. Its workers run on `runtime`.
    pub fn new(
        settings: DirectorSettings,
        tokens: TokenVerifier,
        cpi: Cpi,
        runtime: Handle,
    ) -> Self {
        let (queue, waiting) = Queue::new();
        let configs = Configs::new();
        let default = NewConfig {
            kind: "cloud".to_owned(),
            name: "default".to_owned(),
            content: yaml::to_string(&settings.cloud_config)
                .unwrap_or_else(|_| settings.cloud_config.to_string()),
            team: None,
            expected_latest: None,
        };
        // The first version of a config cannot be stale.
        let _ = configs.post(default);
        let director = Self {
            inner: Arc::new(Inner {
                settings,
                tokens,
                cpi,
                runtime,
                deployments: Deployments::default(),
                configs,
                variables: Variables::default(),
                tasks: Arc::default(),
                locks: Arc::default(),
                queue,
                stop: CancellationToken::new(),
                workers: TaskTracker::new(),
            }),
        };
        start_workers(&director, waiting);
        director
    }

    /// Mounts the Director's API.
    pub fn configure(&self, cfg: &mut web::ServiceConfig) {
        api::mount(self, cfg);
    }

    /// Stops the workers in the middle of what they do, and stops and reaps all processes.
    pub async fn shut_down(&self) {
        self.inner.stop.cancel();
        self.inner.workers.close();
        self.inner.workers.wait().await;
        self.inner.cpi.shut_down().await;
    }
}

impl Inner {
    /// The versions of the cloud configs to which deployments of these teams are subject.
    fn cloud_config_ids(&self, teams: &[TeamName]) -> Vec<ConfigId> {
        let configs = self.configs.in_force("cloud", teams);
        configs.into_iter().map(|config| config.id).collect()
    }
}
