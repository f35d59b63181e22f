//! One supervised child process. Whatever it does, it ends, is reaped, and takes what it started with it.

use std::{
    ffi::OsString,
    fmt, io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use bytes::BytesMut;
use rustix::process::{Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    time::{Instant, timeout_at},
};

use super::{question::Question, strays::Leader};
use crate::telemetry::Redaction;

/// The most that is read of one call's stderr: more is no complaint but a flood.
const MAX_STDERR: usize = 64 * 1024 * 1024;

/// The longest line of stderr that reaches the log in one piece.
const MAX_LINE: usize = 4 * 1024;

/// How long what an ended leader left behind may hold on to its output.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);

/// What one call may cost, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceilings {
    /// The longest answer.
    pub(super) answer: usize,
    /// How much of its stderr reaches the log; the rest is read and thrown away.
    pub(super) log: usize,
}

/// How a child ended that ended by itself.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// The last line of stderr that is not blank, redacted; none where more was said than reaches the log.
    pub(super) last_words: Option<String>,
}

/// What a child prints on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Its answer.
    Stdout,
    /// What it says to the operator.
    Stderr,
}

/// Why there is no exit status.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfinished {
    #[error("could not start the process")]
    Start(#[source] io::Error),
    #[error("the process did not end in time and was killed")]
    Hung,
    #[error("the process printed more than {limit} bytes on {stream} and was killed")]
    TooMuchOutput { stream: Stream, limit: usize },
    #[error("could not read what the process printed")]
    Read(#[source] io::Error),
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}

/// A running adapter and everything it has started. None of it outlives this value.
struct Guest {
    child: Child,
    leader: Option<Leader>,
}

impl Guest {
    /// Kills the whole group; what is outside of it goes with the leader.
    fn kill(&self) {
        if let Some(leader) = &self.leader {
            // An empty group answers ESRCH, which is what we want to hear.
            let _ = kill_process_group(leader.id(), Signal::KILL);
        }
    }

    /// The leader is reaped: its id, which is that of its group, may soon be somebody else's.
    fn retire(&mut self) {
        self.leader = None;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // `kill_on_drop` reaches the leader alone; what the leader started holds on to the group.
        self.kill();
    }
}

/// Runs `program` with what it is asked, reads it, and sees it ended by `deadline`.
pub(super) async fn run(
    program: &Path,
    question: Question,
    environment: &[(OsString, OsString)],
    ceilings: Ceilings,
    deadline: Instant,
) -> Result<Ended, Unfinished> {
    let mut guest = spawn(program, &question, environment).map_err(Unfinished::Start)?;
    let attended = attend(&mut guest, question.stdin, ceilings);
    let result = match timeout_at(deadline, attended).await {
        Ok(result) => result,
        Err(_) => Err(Unfinished::Hung),
    };
    guest.kill();
    // Reaps the leader; it is dead by now, or about to be.
    let _ = guest.child.wait().await;
    guest.retire();
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
    let mut command = Command::new(program);
    command
        .arg(question.call.name())
        .args(&question.arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .process_group(0)
        .kill_on_drop(true)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (child, leader) = Leader::spawn(|| command.spawn())?;
    Ok(Guest { child, leader })
}

async fn attend(
    guest: &mut Guest,
    input: Option<Vec<u8>>,
    ceilings: Ceilings,
) -> Result<Ended, Unfinished> {
    let stdin = guest.child.stdin.take();
    let stdout = guest.child.stdout.take();
    let stderr = guest.child.stderr.take();
    let mut answer = Vec::new();
    let mut log = StderrLog::new(ceilings.log);
    let status = {
        let talking = async {
            // A child that has answered need not have read everything.
            tokio::select! {
                biased;
                heard = listen(stdout, stderr, &mut answer, ceilings.answer, &mut log) => heard,
                never = async { feed(stdin, input).await; std::future::pending().await } => never,
            }
        };
        tokio::pin!(talking);
        tokio::select! {
            heard = &mut talking => {
                heard?;
                guest.child.wait().await.map_err(Unfinished::Read)?
            }
            status = guest.child.wait() => {
                let status = status.map_err(Unfinished::Read)?;
                // Somebody the leader started may still hold the pipes. What the leader has said is in them by now.
                if let Ok(heard) = tokio::time::timeout(LEFTOVER_GRACE, &mut talking).await {
                    heard?;
                }
                status
            }
        }
    };
    Ok(Ended {
        status,
        stdout: answer,
        last_words: log.last_words,
    })
}

async fn listen(
    stdout: Option<impl AsyncRead + Unpin>,
    stderr: Option<impl AsyncRead + Unpin>,
    answer: &mut Vec<u8>,
    longest_answer: usize,
    log: &mut StderrLog,
) -> Result<(), Unfinished> {
    let reading = read_answer(stdout, answer, longest_answer);
    let logging = log_stderr(stderr, log);
    tokio::try_join!(reading, logging)?;
    Ok(())
}

/// Writes the input. A child that does not care to read it closes the pipe, which is its right.
async fn feed(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}

/// Reads an answer to its end. Dropped before, it leaves in `answer` what there was.
async fn read_answer(
    stdout: Option<impl AsyncRead + Unpin>,
    answer: &mut Vec<u8>,
    limit: usize,
) -> Result<(), Unfinished> {
    let Some(mut stdout) = stdout else {
        return Ok(());
    };
    while stdout.read_buf(answer).await.map_err(Unfinished::Read)? > 0 {
        if answer.len() > limit {
            let stream = Stream::Stdout;
            return Err(Unfinished::TooMuchOutput { stream, limit });
        }
    }
    Ok(())
}

/// Hands stderr to the log as it comes, line by line and redacted. Dropped before its end, it leaves in `log` the last words
/// that were heard.
async fn log_stderr(
    stderr: Option<impl AsyncRead + Unpin>,
    log: &mut StderrLog,
) -> Result<(), Unfinished> {
    let Some(stderr) = stderr else { return Ok(()) };
    let mut reader = BufReader::new(stderr);
    let mut line = BytesMut::with_capacity(MAX_LINE);
    let mut read = 0;
    loop {
        let Ok(available) = reader.fill_buf().await else {
            return Ok(());
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
        read += consumed;
        if read > MAX_STDERR {
            return Err(Unfinished::TooMuchOutput {
                stream: Stream::Stderr,
                limit: MAX_STDERR,
            });
        }
    }
    log.take(&line);
    Ok(())
}

/// What of a call's stderr goes into the log.
struct StderrLog {
    limit: usize,
    logged: usize,
    redaction: Redaction,
    last_words: Option<String>,
}

impl StderrLog {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            logged: 0,
            redaction: Redaction::default(),
            last_words: None,
        }
    }

    fn take(&mut self, line: &[u8]) {
        if line.is_empty() || self.logged > self.limit {
            return;
        }
        self.logged += line.len();
        if self.logged > self.limit {
            tracing::warn!("the service adapter's stderr goes on; the rest is left out");
            self.last_words = None;
            return;
        }
        let text = String::from_utf8_lossy(line);
        let text = self.redaction.line(&text);
        tracing::info!(adapter.stderr = %text, "the service adapter says");
        if !text.trim().is_empty() {
            self.last_words = Some(text.trim().to_owned());
        }
    }
}
