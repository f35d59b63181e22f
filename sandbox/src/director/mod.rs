//! The BOSH Director (`spec/contracts/director-api.md`): deployments, their tasks, configs and variables, over VMs of
//! the process CPI.
//!
//! | module | contents |
//! | --- | --- |
//! | [`api`] | the HTTP edge: authorization and answers |
//! | [`tasks`] | the queue, its workers, event logs and locks |
//! | [`deploy`] | the work of tasks on deployments |
//! | [`deployments`], [`configs`], [`variables`], [`links`], [`audit`] | the Director's state |
//! | [`adoption`] | deployments and configs that were never created here |
//! | [`uploads`] | releases and stemcells |
//! | [`ids`] | names of BOSH DNS |
//! | [`settings`] | its settings |
//! | [`ids`], [`ruby`] | names and ids; values as the real Director's language prints them, YAML as it reads it |

mod adoption;
mod api;
mod audit;
mod configs;
mod deploy;
mod deployments;
mod ids;
mod links;
pub(crate) mod ruby;
mod settings;
mod tasks;
mod uploads;
mod variables;

use std::sync::Arc;

use actix_web::web;
use odb_adapter_sdk::yaml;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    adoption::{AdoptError, SeededDeployment, SeededGroup, SeededGroupKind},
    adoption::{DeployedVm, SeededConfig},
    settings::{
        DirectorDurations, DirectorSettings, FrontEnd, LocalUser, UploadedRelease,
        UploadedStemcell, UserManagement,
    },
    tasks::{ArmedTaskFault, TaskEffect, TaskFault, TaskFaultId, TaskPoint},
    uploads::Uploads,
    variables::ConfigServer,
};
use self::{
    audit::Audit,
    configs::{Configs, NewConfig},
    deployments::Deployments,
    ids::{ConfigId, TeamName},
    links::Links,
    tasks::{Locks, Queue, TaskFaults, Tasks, start_workers},
    uploads::UploadTable,
    variables::Variables,
};
use crate::{
    cpi::{Cpi, Shutdown},
    store::{Store, StoreError},
    uaa::TokenVerifier,
};

/// A Director. A clone is the same Director.
#[derive(Clone)]
pub struct Director {
    inner: Arc<Inner>,
}

struct Inner {
    settings: DirectorSettings,
    uploads: UploadTable,
    tokens: TokenVerifier,
    cpi: Cpi,
    runtime: Handle,
    deployments: Deployments,
    configs: Configs,
    variables: Variables,
    links: Links,
    audit: Audit,
    tasks: Arc<Tasks>,
    faults: Arc<TaskFaults>,
    locks: Arc<Locks>,
    queue: Queue,
    stop: CancellationToken,
    workers: TaskTracker,
}

impl Director {
    /// A Director that accepts these tokens, creates its VMs with this CPI and keeps its state in the store. Its
    /// workers run on `runtime`. Tasks that were in progress when it stopped are treated as those of dead workers;
    /// queued tasks are run.
    pub fn new(
        mut settings: DirectorSettings,
        tokens: TokenVerifier,
        cpi: Cpi,
        store: &Store,
        runtime: Handle,
    ) -> Result<Self, StoreError> {
        let uploads = UploadTable::open(
            store,
            Uploads {
                releases: std::mem::take(&mut settings.releases),
                stemcells: std::mem::take(&mut settings.stemcells),
            },
        )?;
        let variables = Variables::new(&settings.config_server);
        let durations = &settings.durations;
        let tasks = Arc::new(Tasks::open(store, durations.checkpoint_timeout)?);
        let locks = Arc::new(Locks::open(store, durations.lock_lease)?);
        let (queue, waiting) = Queue::new(Arc::clone(&tasks));
        let director = Self {
            inner: Arc::new(Inner {
                configs: Configs::open(store)?,
                links: Links::open(store)?,
                audit: Audit::open(store)?,
                settings,
                uploads,
                tokens,
                cpi,
                runtime,
                deployments: Deployments::open(store)?,
                variables,
                tasks,
                faults: Arc::default(),
                locks,
                queue,
                stop: CancellationToken::new(),
                workers: TaskTracker::new(),
            }),
        };
        director.inner.seed();
        start_workers(&director, waiting);
        Ok(director)
    }

    /// Sets something in the way of the next task that comes to a place.
    pub fn arm(&self, fault: TaskFault) -> TaskFaultId {
        self.inner.faults.arm(fault)
    }

    /// The armed faults, and the tasks that are held.
    pub fn armed(&self) -> Vec<ArmedTaskFault> {
        self.inner.faults.list()
    }

    /// Removes a fault; a task that it holds continues. Returns whether there was such a fault.
    pub fn disarm(&self, id: TaskFaultId) -> bool {
        self.inner.faults.clear(id)
    }

    /// Removes all faults.
    pub fn disarm_all(&self) {
        self.inner.faults.clear_all();
    }

    pub fn uploads(&self) -> Arc<Uploads> {
        self.inner.uploads.current()
    }

    /// Adds a release, or takes the place of the one with its name and version. It is kept with the state.
    pub fn upload_release(&self, release: UploadedRelease) {
        self.inner.uploads.add_release(release);
    }

    /// Adds a stemcell, or takes the place of the one with its name and version. It is kept with the state.
    pub fn upload_stemcell(&self, stemcell: UploadedStemcell) {
        self.inner.uploads.add_stemcell(stemcell);
    }

    /// The names in one list of all cloud configs, such as `vm_types`, in the order of the configs.
    pub fn names_in_cloud_configs(&self, list: &str) -> Vec<String> {
        self.inner.names_in_cloud_configs(list)
    }

    pub fn configure(&self, cfg: &mut web::ServiceConfig) {
        api::mount(self, cfg);
    }

    /// Stops the workers in the middle of what they do. VMs and their processes stay.
    pub async fn stop_workers(&self) {
        self.inner.stop.cancel();
        self.inner.workers.close();
        self.inner.workers.wait().await;
    }

    /// Stops the workers in the middle of what they do, and stops and reaps all processes.
    pub async fn shut_down(&self) {
        self.stop_workers().await;
        self.inner.cpi.shut_down(Shutdown::StopProcesses).await;
    }
}

impl Inner {
    /// A Director that is new has the cloud config that it is set up with.
    fn seed(&self) {
        let cloud_config = &self.settings.cloud_config;
        if cloud_config.is_null() || !self.configs.is_new() {
            return;
        }
        let default = NewConfig {
            kind: "cloud".to_owned(),
            name: "default".to_owned(),
            content: yaml::to_string(cloud_config).unwrap_or_else(|_| cloud_config.to_string()),
            team: None,
            expected_latest: None,
        };
        // The first version of a config cannot be stale.
        let _ = self.configs.post(default);
    }

    fn names_in_cloud_configs(&self, list: &str) -> Vec<String> {
        let mut all = Vec::new();
        for config in self.configs.latest_of("cloud") {
            let content: Value = yaml::from_str(&config.content).unwrap_or_default();
            let listed = content.get(list).and_then(Value::as_array);
            let entries = listed.into_iter().flatten();
            all.extend(entries.filter_map(|entry| Some(entry.get("name")?.as_str()?.to_owned())));
        }
        all
    }

    /// The versions of the configs of one type to which deployments of these teams are subject.
    fn config_ids(&self, kind: &str, teams: &[TeamName]) -> Vec<ConfigId> {
        let configs = self.configs.in_force(kind, teams);
        configs.into_iter().map(|config| config.id).collect()
    }
}
