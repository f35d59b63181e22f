//! One supervised child process. Whatever it does, it ends, is reaped, and takes what it started with it.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use bytes::BytesMut;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    time::{Instant, timeout_at},
};

use super::question::Question;
use crate::telemetry::Redaction;

/// The most that is read of an answer. The largest manifests have some hundred kilobytes.
pub(super) const MAX_STDOUT: usize = 8 * 1024 * 1024;

/// The most of one call's stderr that reaches the log; the rest is read and thrown away.
const MAX_LOGGED_STDERR: usize = 256 * 1024;

/// The longest line of stderr that reaches the log in one piece.
const MAX_LINE: usize = 4 * 1024;

/// How long what an ended leader left behind may hold on to its output.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// How a child ended that ended by itself.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
}

/// Why there is no exit status.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfinished {
    #[error("could not start the process")]
    Start(#[source] io::Error),
    #[error("the process did not end in time and was killed")]
    Hung,
    #[error("the process printed more than {MAX_STDOUT} bytes and was killed")]
    TooMuchOutput,
    #[error("could not read what the process printed")]
    Read(#[source] io::Error),
}

/// A running adapter and everything it has started. None of it outlives this value.
struct Guest {
    child: Child,
    group: Option<Pid>,
}

fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        // An empty group answers ESRCH, which is what we want to hear.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // `kill_on_drop` reaches the leader alone; what the leader started holds on to the group.
        kill(self.group);
    }
}

/// Runs `program` with what it is asked, reads it, and sees it ended by `deadline`.
pub(super) async fn run(
    program: &Path,
    question: Question,
    environment: &[(OsString, OsString)],
    deadline: Instant,
) -> Result<Ended, Unfinished> {
    let mut guest = spawn(program, &question, environment).map_err(Unfinished::Start)?;
    let result = match timeout_at(deadline, attend(&mut guest, question.stdin)).await {
        Ok(result) => result,
        Err(_) => Err(Unfinished::Hung),
    };
    kill(guest.group);
    // Reaps the leader; it is dead by now, or about to be.
    let _ = guest.child.wait().await;
    result
}

fn spawn(
    program: &Path,
    question: &Question,
    environment: &[(OsString, OsString)],
) -> io::Result<Guest> {
    let stdin = match question.stdin {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    };
    let child = Command::new(program)
        .arg(question.call.name())
        .args(&question.arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .process_group(0)
        .kill_on_drop(true)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    Ok(Guest { child, group })
}

async fn attend(guest: &mut Guest, input: Option<Vec<u8>>) -> Result<Ended, Unfinished> {
    let stdin = guest.child.stdin.take();
    let stdout = guest.child.stdout.take();
    let stderr = guest.child.stderr.take();
    let group = guest.group;
    let talking = async {
        // A child that has answered need not have read everything.
        tokio::select! {
            biased;
            answer = listen(stdout, stderr) => answer,
            never = async { feed(stdin, input).await; std::future::pending().await } => never,
        }
    };
    tokio::pin!(talking);
    tokio::select! {
        answer = &mut talking => {
            let stdout = answer?;
            let status = guest.child.wait().await.map_err(Unfinished::Read)?;
            Ok(Ended { status, stdout })
        }
        status = guest.child.wait() => {
            let status = status.map_err(Unfinished::Read)?;
            // Somebody the leader started may still hold the pipes.
            let in_grace = tokio::time::timeout(LEFTOVER_GRACE, &mut talking).await;
            let answer = if let Ok(answer) = in_grace {
                answer
            } else {
                kill(group);
                talking.await
            };
            Ok(Ended { status, stdout: answer? })
        }
    }
}

async fn listen(
    stdout: Option<impl AsyncRead + Unpin>,
    stderr: Option<impl AsyncRead + Unpin>,
) -> Result<Vec<u8>, Unfinished> {
    let logging = async {
        log_stderr(stderr).await;
        Ok(())
    };
    let (answer, ()) = tokio::try_join!(read_answer(stdout), logging)?;
    Ok(answer)
}

/// Writes the input. A child that does not care to read it closes the pipe, which is its right.
async fn feed(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}

async fn read_answer(stdout: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, Unfinished> {
    let mut answer = Vec::new();
    if let Some(stdout) = stdout {
        let limit = MAX_STDOUT as u64 + 1;
        stdout
            .take(limit)
            .read_to_end(&mut answer)
            .await
            .map_err(Unfinished::Read)?;
    }
    if answer.len() > MAX_STDOUT {
        return Err(Unfinished::TooMuchOutput);
    }
    Ok(answer)
}

/// Hands stderr to the log as it comes, line by line and redacted.
async fn log_stderr(stderr: Option<impl AsyncRead + Unpin>) {
    let Some(stderr) = stderr else { return };
    let mut reader = BufReader::new(stderr);
    let mut line = BytesMut::with_capacity(MAX_LINE);
    let mut log = StderrLog::default();
    loop {
        let Ok(available) = reader.fill_buf().await else {
            return;
        };
        if available.is_empty() {
            break;
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let piece = end.map_or(available, |end| &available[..end]);
        let room = MAX_LINE.saturating_sub(line.len());
        line.extend_from_slice(&piece[..piece.len().min(room)]);
        let consumed = end.map_or(available.len(), |end| end + 1);
        reader.consume(consumed);
        if end.is_some() {
            log.take(&line);
            line.clear();
        }
    }
    log.take(&line);
}

/// What of a call's stderr goes into the log.
#[derive(Default)]
struct StderrLog {
    logged: usize,
    redaction: Redaction,
}

impl StderrLog {
    fn take(&mut self, line: &[u8]) {
        if line.is_empty() || self.logged > MAX_LOGGED_STDERR {
            return;
        }
        self.logged += line.len();
        if self.logged > MAX_LOGGED_STDERR {
            tracing::warn!("the service adapter's stderr goes on; the rest is left out");
            return;
        }
        let text = String::from_utf8_lossy(line);
        tracing::info!(adapter.stderr = %self.redaction.line(&text), "the service adapter says");
    }
}
