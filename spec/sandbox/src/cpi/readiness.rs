//! When a process that was started is ready: its port is open, and its check passes.

use std::{net::SocketAddr, path::PathBuf, process::ExitStatus, process::Stdio, time::Duration};

use tokio::{
    net::TcpStream,
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    process::{KilledOnDrop, ended},
    program::SearchPath,
    user::JobUser,
};

const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);
const ATTEMPT: Duration = Duration::from_secs(5);

/// The time between the start of a process and its being ready.
pub(super) struct Startup {
    pub(super) end: watch::Receiver<Option<ExitStatus>>,
    pub(super) listens_on: SocketAddr,
    pub(super) check: Option<Check>,
    pub(super) within: Duration,
}

/// A program that exits with 0 once the process does its work.
pub(super) struct Check {
    pub(super) command_line: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) search_path: SearchPath,
    pub(super) user: Option<JobUser>,
}

/// Why a process is not ready.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotReady {
    /// It ended.
    Ended,
    /// It kept its port closed, or failed its check, for too long.
    TooLate,
}

impl Startup {
    /// Waits until the process is ready.
    pub(super) async fn ready(self) -> Result<(), NotReady> {
        tokio::select! {
            biased;
            () = ended(self.end.clone()) => Err(NotReady::Ended),
            ready = timeout(self.within, self.works()) => match ready {
                Ok(()) if self.end.borrow().is_some() => Err(NotReady::Ended),
                Ok(()) => Ok(()),
                Err(_) => Err(NotReady::TooLate),
            },
        }
    }

    async fn works(&self) {
        while !self.listens().await {
            sleep(BETWEEN_ATTEMPTS).await;
        }
        if let Some(check) = &self.check {
            while !check.passes().await {
                sleep(BETWEEN_ATTEMPTS).await;
            }
        }
    }

    async fn listens(&self) -> bool {
        matches!(
            timeout(ATTEMPT, TcpStream::connect(self.listens_on)).await,
            Ok(Ok(_))
        )
    }
}

impl Check {
    /// Runs the program once. One that cannot be run does not pass.
    async fn passes(&self) -> bool {
        let Ok(mut command) = self
            .search_path
            .command(&self.command_line, &self.folder, self.user)
        else {
            return false;
        };
        let spawned = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = spawned else {
            return false;
        };
        let _group = KilledOnDrop::of(&child);
        matches!(timeout(ATTEMPT, child.wait()).await, Ok(Ok(status)) if status.success())
    }
}
