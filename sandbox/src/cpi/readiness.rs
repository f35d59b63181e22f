//! When a process that was started is ready: its port is open, and its check passes.

use std::{net::SocketAddr, process::Stdio, time::Duration};

use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{process::KilledOnDrop, program::Launcher};

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);
const BETWEEN_LATE_ATTEMPTS: Duration = Duration::from_secs(1);
const ATTEMPT: Duration = Duration::from_secs(5);

/// How it is found out whether a process is ready.
pub(super) struct Readiness {
    pub(super) listens_on: SocketAddr,
    /// A program that exits with 0 once the process does its work.
    pub(super) check: Option<Vec<String>>,
    pub(super) launcher: Launcher,
}

impl Readiness {
    /// Returns once the process is ready.
    pub(super) async fn reached(&self) {
        self.attempted_every(BETWEEN_ATTEMPTS).await;
    }

    /// As [`Self::reached`], for a process that should have been ready long ago.
    pub(super) async fn reached_late(&self) {
        self.attempted_every(BETWEEN_LATE_ATTEMPTS).await;
    }

    async fn attempted_every(&self, pause: Duration) {
        while !self.listens().await {
            sleep(pause).await;
        }
        while !self.check_passes().await {
            sleep(pause).await;
        }
    }

    async fn listens(&self) -> bool {
        matches!(
            timeout(ATTEMPT, TcpStream::connect(self.listens_on)).await,
            Ok(Ok(_))
        )
    }

    /// Runs the check once. One that cannot be run does not pass.
    async fn check_passes(&self) -> bool {
        let Some(command_line) = &self.check else {
            return true;
        };
        let Ok(mut command) = self.launcher.command(command_line) else {
            return false;
        };
        let spawned = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let Ok(mut child) = spawned else {
            return false;
        };
        let _group = KilledOnDrop::of(&child);
        matches!(timeout(ATTEMPT, child.wait()).await, Ok(Ok(status)) if status.success())
    }
}
