//! A CPI without a Director, on a loopback net of its own.

use std::{
    collections::BTreeMap, fs::Permissions, net::Ipv4Addr, os::unix::fs::PermissionsExt,
    path::Path, sync::Arc, time::Duration,
};

use odb_sandbox::{
    cpi::{
        AddressPool, AgentTimeouts, Cpi, CpiError, CpiSettings, InstanceFacts, JobCatalog,
        JobContext, Processes, RenderedJob, Vm, remove_state, render,
    },
    net::LoopbackNet,
    store::Store,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::foundation::jobs;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A net and a state folder, for one CPI after the other.
pub(crate) struct Machine {
    net: LoopbackNet,
    folder: TempDir,
    jobs: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        Self {
            net: LoopbackNet::claim().unwrap(),
            folder,
            jobs: tempfile::tempdir().unwrap(),
        }
    }

    /// The state folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a job to those that are delivered.
    pub(crate) fn with_job(self, name: &str, files: &[(&str, &str)]) -> Self {
        let folder = self.jobs.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        for (file, text) in files {
            std::fs::write(folder.join(file), text).unwrap();
        }
        self
    }

    /// The store in the state folder. One at a time can be open.
    pub(crate) fn store(&self) -> Store {
        Store::open(self.folder()).unwrap()
    }

    /// A CPI with its state in this store.
    pub(crate) fn cpi(&self, store: &Store) -> Cpi {
        Cpi::new(self.settings(None), store).unwrap()
    }

    /// A CPI whose VMs are addresses alone.
    pub(crate) fn cpi_without_processes(&self, store: &Store) -> Cpi {
        let settings = CpiSettings {
            processes: Processes::None,
            addresses: AddressPool::private(),
            ..self.settings(None)
        };
        Cpi::new(settings, store).unwrap()
    }

    /// A CPI whose processes run as another owner.
    pub(crate) fn cpi_as(&self, user: &str) -> Result<Cpi, CpiError> {
        Cpi::new(self.settings(Some(user.to_owned())), &Store::in_memory())
    }

    /// A VM with a Redis that runs and keeps its data, without a persistent disk.
    pub(crate) async fn redis(&self, cpi: &Cpi) -> Vm {
        let vm = cpi.reserve_vm().unwrap();
        cpi.create_vm(&vm).await.unwrap();
        let properties =
            json!({"redis": {"password": "secret", "persistence": "yes", "maxclients": 10}});
        let job = rendered(cpi, &vm, "redis-server", properties);
        cpi.agent(&vm).apply(&[job]).await.unwrap();
        cpi.agent(&vm).start().await.unwrap();
        vm
    }

    fn settings(&self, job_user: Option<String>) -> CpiSettings {
        let own = self.jobs.path().to_owned();
        let has_own = std::fs::read_dir(&own).unwrap().next().is_some();
        let (first, last): (Ipv4Addr, Ipv4Addr) = self.net.address().vms();
        CpiSettings {
            catalog: JobCatalog::load(&if has_own { own } else { jobs() }).unwrap(),
            folder: self.folder().to_owned(),
            addresses: AddressPool::new(first, last),
            processes: Processes::Real,
            job_user,
            agent_timeouts: AgentTimeouts {
                call: Duration::from_millis(50),
                state: Duration::from_millis(20),
            },
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Also after a failed test: what was left running by itself does not stay.
        let _ = remove_state(self.folder());
    }
}

/// A job of the CPI's catalog, rendered for a VM.
pub(crate) fn rendered(cpi: &Cpi, vm: &Vm, job: &str, properties: Value) -> RenderedJob {
    let catalog = cpi.catalog();
    let job = catalog.job(job).unwrap();
    let context = JobContext {
        properties,
        links: json!({}),
        address: vm.address(),
        instance: InstanceFacts {
            group: "group".to_owned(),
            index: 0,
            id: "id".to_owned(),
        },
        job: cpi.job_facts(&vm.cid, &job.name),
        data: cpi.data_folder(&vm.cid).display().to_string(),
        deployment: "d".to_owned(),
    };
    render(&Arc::clone(job), &context).unwrap()
}

/// The pids of a VM's processes, by name.
pub(crate) fn pids(cpi: &Cpi, vm: &Vm) -> BTreeMap<String, Option<i32>> {
    let processes = cpi.processes(&vm.cid).into_iter();
    processes
        .map(|process| (process.name.to_string(), process.pid))
        .collect()
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        sleep(Duration::from_millis(10)).await;
    }
}
