//! The state of the CPI that survives a restart: its VMs with their jobs, and its disks.
//!
//! Names and ids that are text on the wire and a type in the code.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Lease, OrphanedDisk,
    plan::{JobPlan, ProcessKey},
    process::ProcessIdentity,
};
use crate::store::{Rows, Store, StoreError};

/// The VMs that were created and not deleted.
pub(super) struct VmTable(Mutex<Rows<VmCid, VmRow>>);

/// The disks that were created and not deleted.
pub(super) struct DiskTable(Mutex<Rows<DiskCid, DiskRow>>);

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct VmRow {
    pub(super) agent_id: Uuid,
    pub(super) created_at: Timestamp,
    pub(super) address: Ipv4Addr,
    pub(super) disk: Option<DiskCid>,
    pub(super) jobs: Vec<JobPlan>,
    pub(super) wanted: Wanted,
    pub(super) condition: Condition,
    /// The processes that were last seen running.
    processes: Vec<KnownProcess>,
    /// Keeps the address from being lent to another VM.
    #[serde(skip)]
    pub(super) lease: Option<Arc<Lease>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Wanted {
    Stopped,
    Running,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Condition {
    Well,
    /// Its processes run without an agent.
    AgentDead,
    /// It is gone without having been deleted.
    Lost,
}

#[derive(Clone, Serialize, Deserialize)]
struct KnownProcess {
    job: JobName,
    process: ProcessName,
    identity: ProcessIdentity,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct DiskRow {
    /// In MiB.
    pub(super) size: u64,
    pub(super) orphan: Option<OrphanedDisk>,
}

impl VmTable {
    pub(super) fn open(store: &Store) -> Result<Self, StoreError> {
        Ok(Self(Mutex::new(Rows::open(store, "cpi_vms")?)))
    }

    /// Looks at all VMs.
    pub(super) fn read<T>(&self, look: impl FnOnce(&BTreeMap<VmCid, VmRow>) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn find(&self, vm: &VmCid) -> Option<VmRow> {
        self.read(|rows| rows.get(vm).cloned())
    }

    pub(super) fn insert(&self, vm: VmCid, row: VmRow) {
        self.with(|rows| rows.insert(vm, row));
    }

    pub(super) fn remove(&self, vm: &VmCid) {
        self.with(|rows| rows.remove(vm));
    }

    /// Changes a VM, if it is still there.
    pub(super) fn change<T>(&self, vm: &VmCid, change: impl FnOnce(&mut VmRow) -> T) -> Option<T> {
        self.with(|rows| rows.get_mut(vm).map(change))
    }

    pub(super) fn record_process(&self, vm: &VmCid, key: &ProcessKey, identity: ProcessIdentity) {
        self.change(vm, |row| {
            row.forget_process(key);
            row.processes.push(KnownProcess {
                job: key.job.clone(),
                process: key.process.clone(),
                identity,
            });
        });
    }

    pub(super) fn forget_process(&self, vm: &VmCid, key: &ProcessKey) {
        self.change(vm, |row| row.forget_process(key));
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut Rows<VmCid, VmRow>) -> T) -> T {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = use_them(&mut rows);
        rows.save();
        used
    }
}

impl VmRow {
    /// A VM that runs nothing yet.
    pub(super) fn new(
        agent_id: Uuid,
        created_at: Timestamp,
        address: Ipv4Addr,
        lease: Option<Arc<Lease>>,
    ) -> Self {
        Self {
            agent_id,
            created_at,
            address,
            disk: None,
            jobs: Vec::new(),
            wanted: Wanted::Stopped,
            condition: Condition::Well,
            processes: Vec::new(),
            lease,
        }
    }

    /// By what a process is known again, if it was seen running.
    pub(super) fn identity(&self, key: &ProcessKey) -> Option<&ProcessIdentity> {
        let known = self.processes.iter().find(|known| known.is(key));
        known.map(|known| &known.identity)
    }

    fn forget_process(&mut self, key: &ProcessKey) {
        self.processes.retain(|known| !known.is(key));
    }
}

impl KnownProcess {
    fn is(&self, key: &ProcessKey) -> bool {
        self.job == key.job && self.process == key.process
    }
}

impl DiskTable {
    pub(super) fn open(store: &Store) -> Result<Self, StoreError> {
        Ok(Self(Mutex::new(Rows::open(store, "cpi_disks")?)))
    }

    /// Looks at all disks.
    pub(super) fn read<T>(&self, look: impl FnOnce(&BTreeMap<DiskCid, DiskRow>) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn with<T>(&self, use_them: impl FnOnce(&mut Rows<DiskCid, DiskRow>) -> T) -> T {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = use_them(&mut rows);
        rows.save();
        used
    }
}

/// Declares types that hold one text each and cannot be mistaken for one another.
macro_rules! text_types {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        $vis struct $name(String);

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

pub(crate) use text_types;

text_types! {
    pub struct JobName;
    /// Names a process of a job, as monit would list it.
    pub struct ProcessName;
    /// Names a VM of this CPI: the name of its folder.
    pub struct VmCid;
    /// Names a persistent disk: the name of its folder.
    pub struct DiskCid;
}
