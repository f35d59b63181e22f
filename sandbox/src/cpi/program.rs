//! How the programs of jobs are found and called.

use std::{
    env,
    ffi::OsString,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use tokio::process::Command;

use super::{AsRoot, Requirements, user::JobUser};

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
