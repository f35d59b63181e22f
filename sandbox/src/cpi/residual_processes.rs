//! Finds the processes that belong to a VM, and ends them: those that a job has left behind, and
//! those of an earlier sandbox. They are identified by a variable in their environment, which some programs overwrite
//! (Redis and PostgreSQL among them, to show a title), or by the log of a VM that is their standard output or error.

use std::{
    ffi::OsStr,
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uuid::Uuid;

use super::{
    process::{KILLED_WITHIN, has_ended},
    program::OWNER_VARIABLE,
};

/// A process may start another while it is being looked for; who does so this often is given up on.
const ROUNDS: usize = 10;
/// How `/proc` shows an open file that is no more.
const DELETED: &[u8] = b" (deleted)";

/// Something of an earlier sandbox could not be ended or removed.
#[derive(Debug, thiserror::Error)]
pub enum ResidualProcessError {
    #[error("process `{pid}` of `{owner}` does not end")]
    StillThere { pid: i32, owner: PathBuf },
    #[error("could not kill process `{pid}` of `{owner}`")]
    Kill {
        pid: i32,
        owner: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not clear `{path}`")]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Kills every process that belongs to something at or below `folder`, but for the owners that are spared. Blocks until
/// they are gone.
pub(super) fn end_processes(
    folder: &Path,
    spared: impl Fn(&Path) -> bool,
) -> Result<(), ResidualProcessError> {
    for _ in 0..ROUNDS {
        let found = belonging_to(folder, &spared)?;
        if found.is_empty() {
            return Ok(());
        }
        for (pid, owner, handle) in found {
            // A process that ends by itself meanwhile counts as killed.
            if !has_ended(&handle, Duration::ZERO)
                && let Err(error) = pidfd_send_signal(&handle, Signal::KILL)
                && error != rustix::io::Errno::SRCH
            {
                let source = error.into();
                return Err(ResidualProcessError::Kill { pid, owner, source });
            }
            if !has_ended(&handle, KILLED_WITHIN) {
                return Err(ResidualProcessError::StillThere { pid, owner });
            }
        }
    }
    Ok(())
}

/// Removes what is in this folder, but for the names that are spared.
pub(super) fn remove_entries(
    folder: &Path,
    spared: impl Fn(&str) -> bool,
) -> Result<(), ResidualProcessError> {
    for path in entries(folder)? {
        let name = path.file_name().map(OsStr::to_string_lossy);
        if name.is_none_or(|name| !is_own(&name) || spared(&name)) {
            continue;
        }
        tracing::warn!(path = %path.display(), "removing what belongs to nothing");
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(|source| ResidualProcessError::Folder { path, source })?;
    }
    Ok(())
}

/// Whether the CPI has given this name to a VM or a disk. Other entries have another owner.
fn is_own(name: &str) -> bool {
    let id = name
        .strip_prefix("vm-")
        .or_else(|| name.strip_prefix("disk-"));
    id.is_some_and(|id| Uuid::try_parse(id).is_ok())
}

fn belonging_to(
    folder: &Path,
    spared: impl Fn(&Path) -> bool,
) -> Result<Vec<(i32, PathBuf, OwnedFd)>, ResidualProcessError> {
    let processes = entries(Path::new("/proc"))?.into_iter();
    let ids = processes.filter_map(|entry| entry.file_name()?.to_str()?.parse::<i32>().ok());
    let found = ids.filter_map(|id| {
        // Opened first, looked at afterwards: the handle stays with this very process.
        let handle = pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
        let owner = owners(id).find(|owner| owner.starts_with(folder))?;
        (!spared(&owner)).then_some((id, owner, handle))
    });
    Ok(found.collect())
}

/// The possible owners of a process. Processes of other users cannot be inspected and do not belong to this sandbox.
fn owners(pid: i32) -> impl Iterator<Item = PathBuf> {
    let outputs = [1, 2].into_iter();
    let outputs = outputs.filter_map(move |output| {
        let file = fs::read_link(format!("/proc/{pid}/fd/{output}")).ok()?;
        let name = file.as_os_str().as_bytes();
        let name = name.strip_suffix(DELETED).unwrap_or(name);
        Some(PathBuf::from(OsStr::from_bytes(name)))
    });
    marked_owner(pid).into_iter().chain(outputs)
}

fn marked_owner(pid: i32) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(OWNER_VARIABLE.as_bytes())?;
        let owner = value.strip_prefix(b"=")?;
        Some(PathBuf::from(OsStr::from_bytes(owner)))
    })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ResidualProcessError> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()),
    };
    listed.map_err(|source| ResidualProcessError::Folder {
        path: folder.to_owned(),
        source,
    })
}
