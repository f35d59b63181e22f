use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use odb_process::{Capture, ChildProcess, Outcome, ProcessError};

/// How much of each stream is kept, in bytes. The rest is dropped.
const KEPT: usize = 64 * 1024;

/// How a program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Why nothing is known of a program's work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildProcessError {
    #[error("could not start `{}`", program.display())]
    NotStarted {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` had not ended after {} s and was killed", program.display(), limit.as_secs())]
    Hung { program: PathBuf, limit: Duration },
    #[error("could not follow `{}`", program.display())]
    Lost {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Runs a program to its end, or kills it when `limit` has passed. Nothing that it started in its process group
/// outlives the call.
pub(crate) fn run(
    program: &Path,
    arguments: &[&str],
    limit: Duration,
) -> Result<Ended, ChildProcessError> {
    let mut command = Command::new(program);
    command.args(arguments);
    let (mut stdout, mut stderr) = (Capture::first(KEPT), Capture::first(KEPT));
    let ended = ChildProcess::new(command, Instant::now() + limit).run(&mut stdout, &mut stderr);
    let program = program.to_owned();
    match ended.map(|ended| ended.outcome) {
        Ok(Outcome::Exited(status)) => Ok(Ended {
            status,
            stdout: stdout.into_text(),
            stderr: stderr.into_text(),
        }),
        // Output does not end it, and no caller cancels it, so it was the time limit.
        Ok(_) => Err(ChildProcessError::Hung { program, limit }),
        Err(ProcessError::Start(source)) => Err(ChildProcessError::NotStarted { program, source }),
        Err(ProcessError::Follow(source)) => Err(ChildProcessError::Lost { program, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn both_streams_and_the_status_are_reported() {
        let script = "echo out; echo err >&2; exit 3";
        let ended = run(Path::new("bash"), &["-c", script], LIMIT).unwrap();
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_does_not_end_or_is_not_there_is_named() {
        let error = run(Path::new("sleep"), &["1000"], Duration::from_secs(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sleep` had not ended after 1 s and was killed"
        );
        let error = run(Path::new("/does/not/exist"), &[], LIMIT).unwrap_err();
        assert_eq!(error.to_string(), "could not start `/does/not/exist`");
    }
}
