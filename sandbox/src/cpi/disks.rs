//! Persistent disks: folders that outlive VMs. A Director orphans a disk that it no longer needs and forgets it later
//! (`spec/contracts/director-api.md`, "Deploying", and `GET /disks`).

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Cpi, DiskCid, Processes, VmCid,
    table::DiskRow,
    vm::{VmError, failed_to, removed},
};

/// A disk that belongs to no instance any more, as a Director lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrphanedDisk {
    pub disk_cid: DiskCid,
    pub size: u64,
    pub az: Option<String>,
    pub deployment_name: String,
    /// The instance that it belonged to, `group/id`.
    pub instance_name: String,
    pub orphaned_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskOwner {
    pub az: Option<String>,
    pub deployment_name: String,
    /// The instance, `group/id`.
    pub instance_name: String,
}

/// A disk cannot be made, changed or removed.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("there is no disk `{0}`")]
    NoSuchDisk(DiskCid),
    #[error("there is no VM `{0}`")]
    NoSuchVm(VmCid),
    #[error("disk `{disk}` is attached to VM `{vm}`")]
    Attached { disk: DiskCid, vm: VmCid },
    #[error("VM `{vm}` has a disk `{disk}`")]
    Occupied { vm: VmCid, disk: DiskCid },
    #[error("could not prepare the disk")]
    File(#[source] VmError),
}

impl Cpi {
    pub fn create_disk(&self, size: u64) -> DiskCid {
        let disk = DiskCid::from(format!("disk-{}", Uuid::new_v4()));
        let row = DiskRow { size, orphan: None };
        self.inner.disks.with(|rows| rows.insert(disk.clone(), row));
        disk
    }

    /// The size of a disk in MiB, if there is this disk.
    pub fn disk_size(&self, disk: &DiskCid) -> Option<u64> {
        self.inner.disks.read(|rows| Some(rows.get(disk)?.size))
    }

    /// Makes a disk the data folder of a VM. One that was orphaned is no longer. Attaching what is attached is no
    /// error.
    pub async fn attach_disk(&self, vm: &VmCid, disk: &DiskCid) -> Result<(), DiskError> {
        if self.disk_size(disk).is_none() {
            return Err(DiskError::NoSuchDisk(disk.clone()));
        }
        match self.attached_to(disk) {
            Some(other) if other != *vm => {
                return Err(DiskError::Attached {
                    disk: disk.clone(),
                    vm: other,
                });
            }
            Some(_) => return Ok(()),
            None => {}
        }
        let row = self.inner.vms.find(vm);
        let row = row.ok_or_else(|| DiskError::NoSuchVm(vm.clone()))?;
        if let Some(disk) = row.disk {
            let vm = vm.clone();
            return Err(DiskError::Occupied { vm, disk });
        }
        if self.inner.processes == Processes::Real {
            self.link_disk(vm, disk).await.map_err(DiskError::File)?;
        }
        self.inner.disks.with(|rows| {
            if let Some(row) = rows.get_mut(disk) {
                row.orphan = None;
            }
        });
        self.inner
            .vms
            .change(vm, |row| row.disk = Some(disk.clone()));
        Ok(())
    }

    /// Takes a disk from a VM. Detaching what is not attached is no error.
    pub async fn detach_disk(&self, vm: &VmCid, disk: &DiskCid) -> Result<(), DiskError> {
        if self.attached_to(disk).as_ref() != Some(vm) {
            return Ok(());
        }
        if self.inner.processes == Processes::Real {
            let link = self.data_folder(vm);
            let unlinked = tokio::fs::remove_file(&link).await;
            unlinked
                .or_else(unless_gone)
                .map_err(|error| DiskError::File(failed_to("detach", &link)(error)))?;
        }
        self.inner.vms.change(vm, |row| row.disk = None);
        Ok(())
    }

    /// Copies everything on one disk to another, as agents do when a disk changes its size. Nothing may be using
    /// either.
    pub async fn migrate_disk(&self, from: &DiskCid, to: &DiskCid) -> Result<(), DiskError> {
        for disk in [from, to] {
            if self.disk_size(disk).is_none() {
                return Err(DiskError::NoSuchDisk(disk.clone()));
            }
        }
        let (from, to) = (self.disk_folder(from), self.disk_folder(to));
        if self.inner.processes == Processes::None || !from.exists() {
            return Ok(());
        }
        self.create_folder(&to).await.map_err(DiskError::File)?;
        let failed = failed_to("copy to", &to);
        let copied = tokio::task::spawn_blocking(move || copy_entries(&from, &to)).await;
        copied
            .unwrap_or_else(|broken| Err(io::Error::other(broken)))
            .map_err(|error| DiskError::File(failed(error)))
    }

    /// Marks a disk as belonging to no instance any more.
    pub fn orphan_disk(&self, disk: &DiskCid, owner: DiskOwner) {
        self.inner.disks.with(|rows| {
            if let Some(row) = rows.get_mut(disk) {
                row.orphan = Some(OrphanedDisk {
                    disk_cid: disk.clone(),
                    size: row.size,
                    az: owner.az,
                    deployment_name: owner.deployment_name,
                    instance_name: owner.instance_name,
                    orphaned_at: Timestamp::now(),
                });
            }
        });
    }

    /// The disks that belong to no instance any more, in the order in which they were orphaned.
    pub fn orphaned_disks(&self) -> Vec<OrphanedDisk> {
        let mut orphans: Vec<OrphanedDisk> = self.inner.disks.read(|rows| {
            let orphans = rows.values().filter_map(|row| row.orphan.clone());
            orphans.collect()
        });
        orphans.sort_by_key(|orphan| orphan.orphaned_at);
        orphans
    }

    /// Destroys a disk with all that is on it. Deleting what is not there is no error.
    pub async fn delete_disk(&self, disk: &DiskCid) -> Result<(), DiskError> {
        if let Some(vm) = self.attached_to(disk) {
            let disk = disk.clone();
            return Err(DiskError::Attached { disk, vm });
        }
        let gone = removed(self.disk_folder(disk)).await;
        gone.map_err(DiskError::File)?;
        self.inner.disks.with(|rows| rows.remove(disk));
        Ok(())
    }

    fn attached_to(&self, disk: &DiskCid) -> Option<VmCid> {
        self.inner.vms.read(|rows| {
            let mut rows = rows.iter();
            let holder = rows.find(|(_, row)| row.disk.as_ref() == Some(disk))?;
            Some(holder.0.clone())
        })
    }

    async fn link_disk(&self, vm: &VmCid, disk: &DiskCid) -> Result<(), VmError> {
        let (folder, link) = (self.disk_folder(disk), self.data_folder(vm));
        self.create_folder(&folder).await?;
        // A disk hides what was there before.
        let hidden = match tokio::fs::symlink_metadata(&link).await {
            Ok(found) if found.is_dir() => tokio::fs::remove_dir_all(&link).await,
            Ok(_) => tokio::fs::remove_file(&link).await,
            Err(error) => unless_gone(error),
        };
        hidden
            .and_then(|()| symlink(&folder, &link))
            .map_err(failed_to("attach", &link))
    }

    fn disk_folder(&self, disk: &DiskCid) -> PathBuf {
        super::disks_folder(&self.inner.folder).join(disk.as_ref())
    }
}

fn unless_gone(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// Copies files, folders and links with their permissions and owners. Sockets and the like belong to processes, not to
/// the data.
fn copy_entries(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let found = entry.metadata()?;
        if found.is_dir() {
            fs::create_dir(&target)?;
            copy_entries(&source, &target)?;
            fs::set_permissions(&target, found.permissions())?;
        } else if found.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if found.is_file() {
            fs::copy(&source, &target)?;
        } else {
            continue;
        }
        std::os::unix::fs::lchown(&target, Some(found.uid()), Some(found.gid()))?;
    }
    Ok(())
}
