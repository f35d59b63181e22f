//! One program, from its start to its end.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

use super::{LaunchError, Program, process::KilledOnDrop, program::Launcher};

/// As much of each output stream is kept; the rest is read and thrown away.
const OUTPUT_LIMIT: u64 = 1024 * 1024;
const KILLED: i32 = 137;

/// The output and the exit of an errand, or of another program that runs to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrandOutput {
    /// The exit status; 128 and the signal's number for one that was killed.
    pub exit_code: i32,
    /// Standard output, at most 1 MiB.
    pub stdout: String,
    /// Standard error, at most 1 MiB.
    pub stderr: String,
}

/// A program could not be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Run(#[from] io::Error),
}

/// Runs a program. One that takes too long is killed; so is everything that it started when this future is dropped.
pub(super) async fn run(launcher: &Launcher, program: &Program) -> Result<ErrandOutput, RunError> {
    let mut child = launcher
        .command(&program.command)?
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let group = KilledOnDrop::of(&child)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let to_the_end = async {
        // Processes that the program left running are killed with it, or its output would never end.
        let status = async {
            let status = child.wait().await;
            drop(group);
            status
        };
        tokio::join!(status, text(stdout), text(stderr))
    };
    if let Ok((status, stdout, stderr)) = timeout(program.timeout, to_the_end).await {
        return Ok(ErrandOutput {
            exit_code: exit_code(status?),
            stdout,
            stderr,
        });
    }
    child.wait().await?;
    Ok(ErrandOutput {
        exit_code: KILLED,
        stdout: String::new(),
        stderr: format!("killed after {} s\n", program.timeout.as_secs()),
    })
}

fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

async fn text(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else {
        return String::new();
    };
    let mut kept = Vec::new();
    // Unreadable output is not shown; the exit status has the result.
    let _ = (&mut stream)
        .take(OUTPUT_LIMIT)
        .read_to_end(&mut kept)
        .await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}
