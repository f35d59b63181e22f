//! Programs that are run.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// By the system's `tar`, as Directors and agents do it.
pub(super) fn unpacked(archive: &Path) -> TempDir {
    let folder = tempfile::tempdir().expect("tests may write temporary files");
    succeed(
        Command::new("tar")
            .arg("-xzf")
            .arg(archive)
            .arg("-C")
            .arg(folder.path()),
    );
    folder
}

pub(super) fn packaging(source: &Path, target: &Path) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-x", "packaging"])
        .current_dir(source)
        .env_clear()
        .env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .env("BOSH_COMPILE_TARGET", source)
        .env("BOSH_INSTALL_TARGET", target);
    command
}

pub(super) fn succeed(command: &mut Command) -> String {
    let output = run(command);
    assert!(
        output.status.success(),
        "{command:?} ended with {}: {}",
        output.status,
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub(super) fn run(command: &mut Command) -> Output {
    command
        .stdin(Stdio::null())
        .output()
        .expect("the program is there")
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
