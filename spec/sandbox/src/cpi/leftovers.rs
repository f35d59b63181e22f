//! Ends the processes and removes the VMs that an earlier sandbox left in the state folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};

use super::process::{ProcessRecord, start_time};

const ENDED_WITHIN: Duration = Duration::from_secs(10);
pub(super) const RECORD_SUFFIX: &str = ".process.json";

/// Something of an earlier sandbox could not be ended or removed.
#[derive(Debug, thiserror::Error)]
pub enum LeftoverError {
    /// A process is still there after it was killed.
    #[error("process `{pid}`, recorded in `{record}`, does not end")]
    StillThere {
        /// Its pid.
        pid: i32,
        /// Where it was recorded.
        record: PathBuf,
    },
    /// A file or folder cannot be read or removed.
    #[error("could not clear `{path}`")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Kills every recorded process that is still the recorded one, and removes the folders of all VMs.
/// Disks stay.
pub(super) fn end(folder: &Path) -> Result<(), LeftoverError> {
    let vms = super::vms(folder);
    for vm in entries(&vms)? {
        for record in entries(&vm)? {
            let is_record = record
                .file_name()
                .is_some_and(|name| name.to_string_lossy().ends_with(RECORD_SUFFIX));
            if is_record {
                end_recorded(&record)?;
            }
        }
        fs::remove_dir_all(&vm).map_err(|source| LeftoverError::Folder { path: vm, source })?;
    }
    Ok(())
}

fn end_recorded(path: &Path) -> Result<(), LeftoverError> {
    let text = fs::read(path).map_err(|source| LeftoverError::Folder {
        path: path.to_owned(),
        source,
    })?;
    // A record that was cut short when its writer was killed names no process.
    let Ok(record) = serde_json::from_slice::<ProcessRecord>(&text) else {
        return Ok(());
    };
    let Some(pid) = Pid::from_raw(record.pid) else {
        return Ok(());
    };
    // Opened first, compared afterwards: the handle stays with this very process.
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return Ok(());
    };
    if start_time(record.pid).ok() != Some(record.start_time) {
        return Ok(());
    }
    let _ = kill_process_group(pid, Signal::KILL);
    let limit = Timespec::try_from(ENDED_WITHIN).ok();
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], limit.as_ref());
    match ended {
        Ok(1..) => Ok(()),
        _ => Err(LeftoverError::StillThere {
            pid: record.pid,
            record: path.to_owned(),
        }),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, LeftoverError> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()),
    };
    listed.map_err(|source| LeftoverError::Folder {
        path: folder.to_owned(),
        source,
    })
}
