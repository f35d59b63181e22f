//! A child that never outlives its test.

use std::{
    env,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

use crate::eventually;

/// How long a child may take to end gracefully once its test is over.
const GOOD_ORDER: Duration = Duration::from_secs(15);

/// How much of each log a failing test prints.
const PRINTED: usize = 64 * 1024;

/// A child process with its output in files. Dropped, it gets SIGTERM, then SIGKILL.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    output: Output,
    errors: Output,
}

/// A file that a process writes. It is readable even when its folder is gone.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: File,
}

impl Process {
    /// Starts `command`. Its stdout goes to `NAME.out` and its stderr to `NAME.err` in the folder `logs`.
    pub fn start(name: &str, command: &mut Command, logs: &Path) -> Self {
        let output = Output::create(logs.join(format!("{name}.out")));
        let errors = Output::create(logs.join(format!("{name}.err")));
        for (name, _) in env::vars_os().filter(|(name, _)| is_proxy(name)) {
            command.env_remove(name);
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(output.for_child())
            .stderr(errors.for_child())
            .spawn()
            .unwrap_or_else(|error| panic!("could not start `{name}`: {error}"));
        Self {
            name: name.to_owned(),
            child,
            output,
            errors,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn output(&self) -> String {
        self.output.text()
    }

    pub fn errors(&self) -> String {
        self.errors.text()
    }

    /// Ends it with SIGTERM, then SIGKILL.
    pub(crate) fn end(&mut self) {
        self.terminate();
        if self.is_running() {
            // A frozen one would not receive it.
            let _ = kill_process(self.pid(), Signal::CONT);
        }
        if !self.wait_in_place(GOOD_ORDER) {
            self.kill();
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.status().is_none()
    }

    pub fn terminate(&mut self) {
        if self.status().is_none() {
            // It may end in between, which is as good.
            let _ = kill_process(self.pid(), Signal::TERM);
        }
    }

    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends SIGSTOP and waits until every thread has stopped.
    pub async fn freeze(&self) {
        self.signal(Signal::STOP);
        let what = format!("`{}` is frozen", self.name);
        eventually(&what, GOOD_ORDER, async || {
            let moving = threads_that_move(self.id());
            if moving == 0 {
                Ok(())
            } else {
                Err(format!("{moving} threads still move"))
            }
        })
        .await;
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    pub fn kill(&mut self) {
        if self.status().is_none() {
            let _ = self.child.kill();
            self.child.wait().expect("it is a child of this process");
        }
    }

    pub async fn exit(&mut self, within: Duration) -> ExitStatus {
        let what = format!("`{}` ends", self.name);
        eventually(&what, within, async || {
            self.status().ok_or_else(|| "it still runs".to_owned())
        })
        .await
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.child
            .try_wait()
            .expect("it is a child of this process")
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs until its test is over");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits without a runtime, for a drop has none.
    fn wait_in_place(&mut self, timeout: Duration) -> bool {
        let Ok(handle) = pidfd_open(self.pid(), PidfdFlags::empty()) else {
            return self.status().is_some();
        };
        let until = Instant::now() + timeout;
        while self.status().is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let left = Timespec::try_from(left).expect("it is a matter of seconds");
            // Interrupted or not, what counts is the look at the child.
            let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left));
        }
        true
    }

    #[expect(clippy::print_stderr, reason = "a failing test shows what it knows")]
    fn print_logs(&self) {
        for file in [&self.output, &self.errors] {
            let text = file.text();
            if !text.is_empty() {
                let cut = text.len().saturating_sub(PRINTED);
                let start = text.ceil_char_boundary(cut);
                eprintln!("--- {} ---\n{}", file.path.display(), &text[start..]);
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            self.print_logs();
        }
    }
}

fn threads_that_move(process: u32) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("this is Linux");
    let states = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        // The name in brackets may hold anything, brackets included.
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    });
    states.filter(|state| *state != 'T').count()
}

fn is_proxy(name: &OsStr) -> bool {
    name.to_string_lossy()
        .to_ascii_lowercase()
        .ends_with("_proxy")
}

impl Output {
    fn create(path: PathBuf) -> Self {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap_or_else(|error| panic!("could not make `{}`: {error}", path.display()));
        Self { path, file }
    }

    fn for_child(&self) -> File {
        self.file.try_clone().expect("a file can be opened twice")
    }

    /// What is in it so far. The child has the same offset, so this one reads at its own.
    fn text(&self) -> String {
        let length = self.file.metadata().map_or(0, |file| file.len());
        let mut bytes = vec![0; usize::try_from(length).expect("it is a log")];
        self.file
            .read_exact_at(&mut bytes, 0)
            .expect("a log only grows");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
