//! One call of helm: a private folder, exactly the variables that it needs, limits on what it uses.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use odb_process::{Capture, ChildProcess, Limits, Outcome, ProcessError};
use tempfile::TempDir;

use super::{Helm, HelmError, HelmFailure};

const OUTPUT: usize = 32 << 20;
const MESSAGES: usize = 1 << 20;

/// Go reserves gigabytes that it does not use.
const LIMITS: Limits = Limits {
    address_space: 8 << 30,
    resident: 512 << 20,
    processor_seconds: 60,
};

/// The folder of a call, which is removed after it. Mode 0700.
pub(super) struct Call(TempDir);

impl Call {
    pub(super) fn new() -> io::Result<Self> {
        let call = Self(tempfile::Builder::new().prefix("odb-helm-").tempdir()?);
        for folder in ["home", "tmp", "work"] {
            DirBuilder::new()
                .mode(0o700)
                .create(call.0.path().join(folder))?;
        }
        // Helm warns of `/dev/null`, and of one that others may read.
        call.write("kubeconfig", b"")?;
        Ok(call)
    }

    /// Writes a file that only this user reads; returns its path.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<String> {
        let path = self.0.path().join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = File::options();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(content)?;
        as_text(&path)
    }

    pub(super) fn path(&self, name: &str) -> io::Result<String> {
        as_text(&self.0.path().join(name))
    }

    /// Runs helm; returns what it prints.
    pub(super) fn run(
        &self,
        helm: &Helm,
        arguments: &[&str],
        time: Duration,
    ) -> Result<String, HelmError> {
        let folder = self.0.path();
        let mut command = Command::new(&helm.path);
        command
            .args(arguments)
            .current_dir(folder.join("work"))
            // HELM_NAMESPACE or HELM_KUBETOKEN of this process would redirect it.
            .env_clear()
            .env("HOME", folder.join("home"))
            .env("TMPDIR", folder.join("tmp"))
            .env("PATH", "/usr/bin:/bin")
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .env("HELM_CACHE_HOME", folder.join("home/cache"))
            .env("HELM_CONFIG_HOME", folder.join("home/config"))
            .env("HELM_DATA_HOME", folder.join("home/data"))
            .env("HELM_NO_PLUGINS", "1")
            .env("HELM_DRIVER", "secret");
        let (mut stdout, mut stderr) = (Capture::at_most(OUTPUT), Capture::first(MESSAGES));
        let child = ChildProcess::new(command, Instant::now() + time)
            .with_orphans(helm.orphans)
            .with_limits(LIMITS);
        let child = match &helm.cancel {
            Some(cancel) => child.with_cancel(cancel.try_clone().map_err(HelmError::Folder)?),
            None => child,
        };
        let ended = child
            .run(&mut stdout, &mut stderr)
            .map_err(|error| match error {
                ProcessError::Start(error) => HelmError::Start(error),
                ProcessError::Follow(error) => HelmError::Follow(error),
            })?;
        match ended.outcome {
            Outcome::Exited(status) if status.success() => Ok(stdout.into_text()),
            Outcome::Exited(status) => match status.code() {
                Some(_) => Err(HelmError::Failed(HelmFailure::of(&stderr.into_text()))),
                None => Err(HelmError::TooMuch("processor time or memory")),
            },
            Outcome::TimedOut => Err(HelmError::TooMuch("time")),
            Outcome::Cancelled => Err(HelmError::Cancelled),
            Outcome::TooMuchOutput(_) => Err(HelmError::TooMuch("output")),
            Outcome::TooMuchMemory => Err(HelmError::TooMuch("memory")),
        }
    }
}

fn as_text(path: &Path) -> io::Result<String> {
    let text = path
        .to_str()
        .ok_or_else(|| io::Error::other("the temporary folder is not UTF-8"))?;
    Ok(text.to_owned())
}
