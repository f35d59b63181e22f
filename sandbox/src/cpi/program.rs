//! How the programs of jobs are found and called.
//!
//! The user that processes run as.

use std::{
    env,
    ffi::OsString,
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use tokio::process::Command;

use super::{AsRoot, Requirements};

/// The environment variable that names the owner of a process: the folder of a job, or the log of a long-lived process.
pub(super) const OWNER_VARIABLE: &str = "ODB_SANDBOX_OWNER";
/// Users that a job can be run as, should it refuse root.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// Where programs are looked for and as whom they run.
pub(super) struct Programs {
    path: OsString,
    user: Option<JobUser>,
}

#[derive(Clone)]
pub(super) struct Launcher {
    pub(super) programs: Arc<Programs>,
    pub(super) requirements: Requirements,
    pub(super) folder: PathBuf,
}

/// A job's program cannot be called.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    #[error("the program '{program}' is not on the PATH{}", remedy(.packages))]
    Missing {
        program: String,
        packages: Vec<String>,
    },
    #[error(
        "it refuses to run as root: name another user with `--job-user`, such as `--job-user {candidate}`"
    )]
    RefusesRoot { candidate: &'static str },
}

impl Programs {
    /// Programs on the search path that this process was started with, run as this user.
    pub(super) fn new(user: Option<JobUser>) -> Self {
        Self {
            path: env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()),
            user,
        }
    }

    /// Gives a file or folder to the user that programs run as.
    pub(super) fn give_to_user(&self, path: &Path) -> io::Result<()> {
        self.user.map_or(Ok(()), |user| user.own(path))
    }

    fn are_run_by_root(&self) -> bool {
        match self.user {
            Some(user) => user.uid == 0,
            None => rustix::process::geteuid().is_root(),
        }
    }
}

impl Launcher {
    /// A command in a process group of its own, with nothing of our environment but the search path.
    pub(super) fn command(&self, command_line: &[String]) -> Result<Command, LaunchError> {
        if self.requirements.as_root == AsRoot::Refused && self.programs.are_run_by_root() {
            return Err(LaunchError::RefusesRoot {
                candidate: JobUser::first_of(CANDIDATES).unwrap_or("nobody"),
            });
        }
        let (name, arguments) = command_line
            .split_first()
            .map_or(("", &[][..]), |(name, arguments)| {
                (name.as_str(), arguments)
            });
        let path = self.search_path();
        let mut command = Command::new(self.find(name, &path)?);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", &self.folder)
            .env(OWNER_VARIABLE, &self.folder)
            .process_group(0);
        if let Some(user) = self.programs.user {
            command.uid(user.uid).gid(user.gid);
        }
        Ok(command)
    }

    /// The command of a long-lived process that writes to this log, by which it and what it starts can be found.
    pub(super) fn process_command(
        &self,
        command_line: &[String],
        log: &Path,
    ) -> Result<Command, LaunchError> {
        let mut command = self.command(command_line)?;
        command.env(OWNER_VARIABLE, log);
        Ok(command)
    }

    /// The folders of the job, then those of the `PATH`.
    fn search_path(&self) -> OsString {
        let own = self
            .requirements
            .search
            .iter()
            .flat_map(|glob| folders(glob));
        let all = own.chain(env::split_paths(&self.programs.path));
        // A folder with a colon in its name cannot be on a search path.
        env::join_paths(all).unwrap_or_else(|_| self.programs.path.clone())
    }

    fn find(&self, name: &str, path: &OsString) -> Result<PathBuf, LaunchError> {
        let candidates: Vec<PathBuf> = if name.contains('/') {
            vec![PathBuf::from(name)]
        } else {
            env::split_paths(path)
                .map(|folder| folder.join(name))
                .collect()
        };
        candidates
            .into_iter()
            .find(|path| is_executable(path))
            .ok_or_else(|| LaunchError::Missing {
                program: name.to_owned(),
                packages: self.requirements.packages.clone(),
            })
    }
}

/// The folders that match a path with `*`, the highest version first.
fn folders(glob: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in Path::new(glob).components() {
        found = match part {
            Component::Normal(name) if name == "*" => {
                found.iter().flat_map(|folder| entries(folder)).collect()
            }
            other => found.iter().map(|folder| folder.join(other)).collect(),
        };
    }
    found.retain(|folder| folder.is_dir());
    found.sort_by_cached_key(|folder| std::cmp::Reverse(numbers(folder)));
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    // An unreadable folder has no programs.
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// The numbers in a path, so that 15 is more than 9.6.
fn numbers(path: &Path) -> Vec<u64> {
    path.to_string_lossy()
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn remedy(packages: &[String]) -> String {
    match packages {
        [] => String::new(),
        packages => format!(": install {}", packages.join(", ")),
    }
}

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

    fn launcher(requirements: Requirements) -> Launcher {
        Launcher {
            programs: Arc::new(Programs::new(None)),
            requirements,
            folder: PathBuf::from("/"),
        }
    }

    fn refused(launcher: &Launcher) -> String {
        let command_line = ["no-such-program".to_owned()];
        launcher.command(&command_line).err().unwrap().to_string()
    }

    #[test]
    fn a_program_that_is_not_installed_is_named_with_its_package() {
        let rejection = refused(&launcher(Requirements::default()));
        assert_eq!(
            rejection,
            "the program 'no-such-program' is not on the PATH"
        );

        let rejection = refused(&launcher(Requirements {
            packages: vec!["no-such-package".to_owned()],
            ..Requirements::default()
        }));
        assert!(
            rejection.ends_with(": install no-such-package"),
            "{rejection}"
        );
    }

    #[test]
    fn of_several_versions_the_highest_is_found_first() {
        let machine = tempfile::tempdir().unwrap();
        for version in ["9.6", "15", "10"] {
            fs::create_dir_all(machine.path().join(version).join("bin")).unwrap();
        }
        fs::create_dir(machine.path().join("17")).unwrap();

        let found = folders(&format!("{}/*/bin", machine.path().display()));

        let expected = ["15", "10", "9.6"].map(|version| machine.path().join(version).join("bin"));
        assert_eq!(found, expected);
    }
}

#[cfg(test)]
mod user_tests {
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
