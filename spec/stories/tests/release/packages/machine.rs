//! A machine of its own with systemd, on which a package is installed. `machine.bash` makes it.

use std::{
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use odb_stories::{Process, eventually, new_id};

use super::{TIMEOUT, site::Site};

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/release/packages/machine.bash"
);

pub(super) struct Machine {
    process: Process,
    init: String,
}

impl Machine {
    /// Starts it and waits until systemd has. The folder is at `/mnt`.
    pub(super) async fn start(mounted: &Path, logs: &Path) -> Self {
        let mut command = as_root("bash");
        command
            .arg(SCRIPT)
            .arg(format!("odb-{}", new_id()))
            .arg(mounted);
        let mut process = Process::start("machine", &mut command, logs);
        let init = eventually("the machine starts", TIMEOUT, async || {
            assert!(process.is_running(), "it ended: {}", process.errors());
            let printed = process.output();
            let init = printed.trim();
            if init.is_empty() {
                return Err(process.errors());
            }
            Ok(init.to_owned())
        })
        .await;
        let machine = Self { process, init };
        eventually("systemd is up", TIMEOUT, async || {
            let state = machine.run("systemctl is-system-running");
            let seen = text(&state.stdout);
            match seen.trim() {
                "running" | "degraded" => Ok(()),
                _ => Err(seen + &text(&state.stderr)),
            }
        })
        .await;
        machine
    }

    /// Runs a script as root on the machine.
    pub(super) fn run(&self, script: &str) -> Output {
        self.shell(script).output().expect("nsenter is there")
    }

    /// The output of a script that succeeds.
    pub(super) fn succeed(&self, script: &str) -> String {
        succeed(&mut self.shell(script))
    }

    /// Writes the configuration of the Debian package's broker.
    pub(super) fn configure(&self, site: &Site) {
        let folder = "/etc/on-demand-broker";
        self.write(&format!("{folder}/broker.yml"), &site.configuration);
        self.write(&format!("{folder}/tls/tls.crt"), &site.certificate);
        self.write(&format!("{folder}/tls/tls.key"), &site.key);
        for (file, secret) in &site.secrets {
            self.write(&format!("{folder}/secrets/{file}"), secret);
        }
    }

    /// Writes a file that the broker's group may read, as the documents say.
    fn write(&self, path: &str, content: &str) {
        let script = format!(
            "install -D -o root -g on-demand-broker -m 0640 /dev/stdin {path} && \
             chgrp -R on-demand-broker $(dirname {path})"
        );
        let mut child = self
            .shell(&script)
            .stdin(Stdio::piped())
            .spawn()
            .expect("nsenter is there");
        let mut input = child.stdin.take().expect("it is a pipe");
        input.write_all(content.as_bytes()).expect("it is read");
        drop(input);
        assert!(child.wait().expect("it ends").success(), "{path}");
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = as_root("nsenter");
        command
            .args([
                "--target", &self.init, "--mount", "--pid", "--ipc", "--uts", "--cgroup",
            ])
            .arg(format!("--root=/proc/{}/root", self.init))
            .args([
                "/usr/bin/env",
                "--chdir=/",
                "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            ])
            .args(["/bin/bash", "-euo", "pipefail", "-c", script])
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.process.terminate();
    }
}

/// A program that needs root. Contributors have `sudo`, as for the installation of Debian packages.
pub(super) fn as_root(program: &str) -> Command {
    if rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["--non-interactive", program]);
    command
}

pub(super) fn succeed(command: &mut Command) -> String {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ended with {}: {}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
