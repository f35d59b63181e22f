//! How the programs of jobs are found and called.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tokio::process::Command;

use super::user::JobUser;

/// The folders in which programs are looked for.
#[derive(Clone)]
pub(super) struct SearchPath(OsString);

/// A job's program is not installed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program '{program}' is not on the PATH")]
pub struct MissingProgram {
    program: String,
}

impl SearchPath {
    /// The search path that this process was started with.
    pub(super) fn inherited() -> Self {
        Self(env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()))
    }

    /// A command in a process group of its own, with nothing of our environment but the search path.
    pub(super) fn command(
        &self,
        command_line: &[String],
        folder: &Path,
        user: Option<JobUser>,
    ) -> Result<Command, MissingProgram> {
        let (name, arguments) = command_line
            .split_first()
            .map_or(("", &[][..]), |(name, arguments)| {
                (name.as_str(), arguments)
            });
        let mut command = Command::new(self.find(name)?);
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", &self.0)
            .env("HOME", folder)
            .process_group(0)
            .kill_on_drop(true);
        if let Some(user) = user {
            command.uid(user.uid).gid(user.gid);
        }
        Ok(command)
    }

    fn find(&self, name: &str) -> Result<PathBuf, MissingProgram> {
        let candidates: Vec<PathBuf> = if name.contains('/') {
            vec![PathBuf::from(name)]
        } else {
            env::split_paths(&self.0)
                .map(|folder| folder.join(name))
                .collect()
        };
        candidates
            .into_iter()
            .find(|path| is_executable(path))
            .ok_or_else(|| MissingProgram {
                program: name.to_owned(),
            })
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_installed_is_named() {
        let error = SearchPath::inherited().find("no-such-program").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the program 'no-such-program' is not on the PATH"
        );
    }
}
