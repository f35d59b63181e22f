//! The user that processes run as.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Another user than the caller, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobUser {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// Processes cannot run as the user that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum JobUserError {
    /// No line of `/etc/passwd` has the name.
    #[error("there is no user `{0}`")]
    NoSuchUser(String),
    /// `/etc/passwd` cannot be read.
    #[error("could not read /etc/passwd")]
    Unreadable(#[source] io::Error),
    #[error("running as `{0}` takes root")]
    NotRoot(String),
    #[error("the job user cannot enter `{0}`; allow others to search it (chmod o+x)")]
    NoEntry(PathBuf),
}

impl JobUser {
    pub(super) fn find(name: String) -> Result<Self, JobUserError> {
        let users = fs::read_to_string("/etc/passwd").map_err(JobUserError::Unreadable)?;
        let Some(user) = among(&users, &name) else {
            return Err(JobUserError::NoSuchUser(name));
        };
        let caller = rustix::process::geteuid().as_raw();
        if caller != 0 && caller != user.uid {
            return Err(JobUserError::NotRoot(name));
        }
        Ok(user)
    }

    /// The first of these names that a user of this machine has.
    pub(super) fn first_of<const N: usize>(names: [&'static str; N]) -> Option<&'static str> {
        let users = fs::read_to_string("/etc/passwd").ok()?;
        names.into_iter().find(|name| among(&users, name).is_some())
    }

    /// Every folder on the way to the VMs must let this user pass.
    pub(super) fn check_way_to(self, folder: &Path) -> Result<(), JobUserError> {
        let closed = folder.ancestors().find(|folder| {
            fs::metadata(folder).is_ok_and(|folder| {
                let is_own = folder.uid() == self.uid;
                folder.mode() & if is_own { 0o100 } else { 0o001 } == 0
            })
        });
        closed.map_or(Ok(()), |folder| {
            Err(JobUserError::NoEntry(folder.to_owned()))
        })
    }

    pub(super) fn own(self, path: &Path) -> io::Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
    }
}

fn among(users: &str, name: &str) -> Option<JobUser> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        Some(JobUser {
            uid: fields.nth(1)?.parse().ok()?,
            gid: fields.next()?.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        assert_eq!(
            among(users, "nobody"),
            Some(JobUser {
                uid: 65534,
                gid: 65533
            })
        );
        assert_eq!(among(users, "no"), None);
    }
}
