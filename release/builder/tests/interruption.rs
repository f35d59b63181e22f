//! A builder that is killed leaves no command running.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Whether a process of this id runs. One that only waits to be reaped does not.
fn runs(process: &str) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_command_ends_with_the_builder_that_is_killed() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let strip = folder.path().join("strip");
    fs::write(&strip, "#!/bin/sh\necho $$ >&2\nexec sleep 1000\n")?;
    fs::set_permissions(&strip, fs::Permissions::from_mode(0o755))?;
    fs::write(folder.path().join("on-demand-broker"), "")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [folder.path().to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let mut builder = Command::new(env!("CARGO_BIN_EXE_odb-release"))
        .arg("stage")
        .arg("--project")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .arg("--binaries")
        .arg(folder.path())
        .arg("--into")
        .arg(folder.path().join("release"))
        .env("PATH", std::env::join_paths(path).unwrap())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut process = String::new();
    BufReader::new(builder.stderr.take().unwrap()).read_line(&mut process)?;
    let process = process.trim();
    assert!(runs(process), "{process}");

    builder.kill()?;
    builder.wait()?;

    let end = Instant::now() + Duration::from_secs(30);
    while runs(process) {
        assert!(Instant::now() < end, "process {process} still runs");
        std::thread::yield_now();
    }
    Ok(())
}
