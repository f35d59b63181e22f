//! One run of an errand, from start to end.

use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus, process::Stdio};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

use super::{Cpi, MissingProgram, Processes, RenderedJob, Vm, process::KilledOnDrop};

/// As much of each output stream is kept; the rest is read and thrown away.
const OUTPUT_LIMIT: u64 = 1024 * 1024;
const KILLED: i32 = 137;

/// What an errand said and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrandOutput {
    /// The exit status; 128 and the signal's number for one that was killed.
    pub exit_code: i32,
    /// Standard output, at most 1 MiB.
    pub stdout: String,
    /// Standard error, at most 1 MiB.
    pub stderr: String,
}

/// An errand could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ErrandError {
    /// The job is no errand.
    #[error("job '{0}' is not an errand")]
    NotAnErrand(super::JobName),
    /// Its program is not installed.
    #[error("the errand cannot be run")]
    Missing(#[from] MissingProgram),
    /// It could not be started or watched.
    #[error("the errand could not be run")]
    Run(#[source] io::Error),
}

impl Cpi {
    /// Runs an errand that has been placed on the VM. One that takes longer than its catalog
    /// entry allows is killed; so is everything that it started when this future is dropped.
    pub async fn run_errand(
        &self,
        vm: &Vm,
        job: &RenderedJob,
    ) -> Result<ErrandOutput, ErrandError> {
        let errand = job
            .errand()
            .ok_or_else(|| ErrandError::NotAnErrand(job.name.clone()))?;
        if self.inner.processes == Processes::None {
            return Ok(ErrandOutput {
                exit_code: 0,
                stdout: String::new(),
                stderr: String::new(),
            });
        }
        let mut child = self
            .inner
            .search_path
            .command(
                &job.command,
                &self.job_folder(&vm.cid, &job.name),
                self.inner.user,
            )?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(ErrandError::Run)?;
        let group = KilledOnDrop::of(&child).map_err(ErrandError::Run)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let run = async {
            // What the errand has left running goes with it, or its output would never end.
            let status = async {
                let status = child.wait().await;
                drop(group);
                status
            };
            tokio::join!(status, text(stdout), text(stderr))
        };
        if let Ok((status, stdout, stderr)) = timeout(errand.timeout, run).await {
            return Ok(ErrandOutput {
                exit_code: exit_code(status.map_err(ErrandError::Run)?),
                stdout,
                stderr,
            });
        }
        child.wait().await.map_err(ErrandError::Run)?;
        Ok(ErrandOutput {
            exit_code: KILLED,
            stdout: String::new(),
            stderr: format!("killed after {} s\n", errand.timeout.as_secs()),
        })
    }
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
    // What cannot be read is not shown; the exit status tells how the errand went.
    let _ = (&mut stream)
        .take(OUTPUT_LIMIT)
        .read_to_end(&mut kept)
        .await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}
