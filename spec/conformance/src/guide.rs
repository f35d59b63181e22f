//! Documents whose commands are run: fenced blocks by what stands behind their back-ticks.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use crate::{Binaries, Process, eventually};

/// Everything is up within seconds; a busy machine takes its time.
const PATIENCE: Duration = Duration::from_mins(2);

/// Marks a block that has to fail; what has to be said follows.
const FAILS: &str = "sh fails: ";

/// A fenced block of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// What stands behind the back-ticks, such as `sh`.
    pub information: String,
    /// The line of the document in which it begins.
    pub line: usize,
    /// What stands in it.
    pub text: String,
}

/// The fenced blocks of a document, in their order.
pub fn fences(document: &str) -> Vec<Fence> {
    let mut found = Vec::new();
    let mut lines = document.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(information) = line.strip_prefix("```") {
            let block = lines.by_ref().map(|(_, line)| line);
            let block = block.take_while(|line| *line != "```");
            found.push(Fence {
                information: information.to_owned(),
                line: number + 1,
                text: block.collect::<Vec<_>>().join("\n"),
            });
        }
    }
    found
}

/// Somebody who types what a document says, in an empty folder.
///
/// | block | what becomes of it |
/// | --- | --- |
/// | `sh` | is run and has to succeed; its folder and its variables are those of the blocks that follow |
/// | `sh fails: TEXT` | has to fail, and to say that |
/// | `sh up` | is a sandbox, which runs from then on; it is waited for |
/// | `sh edit` | is run, and the sandbox waited for, until its broker is up again |
#[derive(Debug)]
pub struct Reader {
    binaries: PathBuf,
    sandbox: Option<Process>,
    environment: Vec<(String, String)>,
    // Last, for the sandbox has its files there.
    folder: TempDir,
}

/// How the commands of a block are to end.
#[derive(Clone, Copy, Debug)]
enum End<'t> {
    Success,
    /// With this text in what they print.
    Failure(&'t str),
}

impl Reader {
    /// With the executables under test on the path.
    pub fn new() -> Self {
        let adapter = Binaries::find().path("odb-adapter");
        let binaries = adapter.parent().expect("it is in a folder").to_owned();
        let folder = tempfile::Builder::new().prefix("odb-reader.").tempdir();
        Self {
            binaries,
            sandbox: None,
            environment: Vec::new(),
            folder: folder.expect("tests may write temporary files"),
        }
    }

    /// The same with a variable in the environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder in which it began.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Types a block and sees that it does what the document says.
    pub async fn follow(&mut self, fence: &Fence) {
        match fence.information.as_str() {
            "sh" => self.run(fence, End::Success).await,
            "sh up" => self.start(fence).await,
            "sh edit" => {
                let before = self.times_up();
                self.run(fence, End::Success).await;
                self.wait_for("the broker is up again", |reader| {
                    reader.times_up() > before
                })
                .await;
            }
            other => {
                let text = other.strip_prefix(FAILS);
                let text = text
                    .unwrap_or_else(|| panic!("nobody knows what to do with a block of `{other}`"));
                self.run(fence, End::Failure(text)).await;
            }
        }
    }

    async fn run(&self, fence: &Fence, end: End<'_>) {
        let state = self.folder.path().join(".shell");
        // What the block leaves behind counts for the next one, but for what Bash lets nobody set.
        let script = format!(
            "remember() {{ declare -p | grep -v '^declare -[a-zA-Z]*r' >{state}; echo \"cd $PWD\" >>{state}; }}\n\
             trap remember EXIT\n\
             [[ ! -e {state} ]] || . {state}\n{}",
            fence.text,
            state = state.display(),
        );
        let mut command = self.shell(&script);
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .expect("it is not cancelled")
            .expect("there is a shell");
        let said = said(&output);
        let is_as_told = match end {
            End::Success => output.status.success(),
            End::Failure(text) => !output.status.success() && said.contains(text),
        };
        assert!(is_as_told, "line {}: not a {end:?}: {said}", fence.line);
    }

    async fn start(&mut self, fence: &Fence) {
        let mut command = self.shell(&fence.text);
        self.sandbox = Some(Process::start("sandbox", &mut command, self.folder.path()));
        self.wait_for("the sandbox is ready", |reader| {
            let sandbox = reader.sandbox.as_ref();
            sandbox.is_some_and(|sandbox| sandbox.output().contains("ready "))
        })
        .await;
    }

    /// How often the sandbox has said that a broker is up.
    fn times_up(&self) -> usize {
        let sandbox = self.sandbox.as_ref().expect("there is a sandbox");
        sandbox.complaints().matches("broker: up at ").count()
    }

    async fn wait_for(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        eventually(what, PATIENCE, async || {
            if let Some(sandbox) = &mut self.sandbox {
                assert!(sandbox.is_running(), "the sandbox has ended");
            }
            if is_so(self) {
                Ok(())
            } else {
                Err("not yet".to_owned())
            }
        })
        .await;
    }

    fn shell(&self, script: &str) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.binaries.clone()).chain(std::env::split_paths(&path));
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("set -euo pipefail\n{script}")])
            .current_dir(self.folder.path())
            .env(
                "PATH",
                std::env::join_paths(path).expect("they were joined"),
            )
            .env_remove("CARGO_TARGET_DIR")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        // No proxy of the machine reaches the loopback net.
        for name in [
            "http_proxy",
            "https_proxy",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
        ] {
            command.env_remove(name);
        }
        command
    }
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "{}\n{}\n{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    )
}
