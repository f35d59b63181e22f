//! Runs the blocks of a document.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::{Fence, output};
use crate::{Binaries, Process, eventually};

/// Everything is up within seconds; a busy machine takes its time.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Where calls of programs that are not there are written down: a file in the reader's folder, and what ends an
/// argument and a call in it, in the words of `printf`.
const CALLS: &str = ".calls";
const ARGUMENT_END: &str = "\\037";
const CALL_END: &str = "\\036";

/// Marks a block that has to fail; what has to be said follows.
const FAILS: &str = "sh fails: ";

/// Runs the blocks of a document in an empty folder.
///
/// | block | effect |
/// | --- | --- |
/// | `sh` | is run and must succeed; its folder and its variables are kept for the next blocks |
/// | `sh fails: TEXT` | must fail with that text |
/// | `sh up` | starts a sandbox, and waits for it |
/// | `sh edit` | is run, and then waits until the sandbox's broker is up again |
/// | `sh PROGRAM` | is run; the calls of the program, which is not installed, are recorded |
///
/// It returns the output, which has what the document shows of it.
#[derive(Debug)]
pub struct Reader {
    programs: Vec<PathBuf>,
    sandbox: Option<Process>,
    environment: Vec<(String, String)>,
    words: Vec<(String, String)>,
    functions: String,
    document: String,
    // Last, for the sandbox has its files there.
    folder: TempDir,
}

#[derive(Clone, Copy, Debug)]
enum End<'t> {
    Success,
    Failure(&'t str),
}

impl Reader {
    pub fn new() -> Self {
        let adapter = Binaries::find().path("odb-adapter");
        let binaries = adapter.parent().expect("it is in a folder").to_owned();
        let folder = tempfile::Builder::new().prefix("odb-reader.").tempdir();
        Self {
            programs: vec![binaries],
            sandbox: None,
            environment: Vec::new(),
            words: Vec::new(),
            functions: String::new(),
            document: String::new(),
            folder: folder.expect("tests may write temporary files"),
        }
    }

    /// The same with a variable in the environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, who says what is read when something does not work.
    #[must_use]
    pub fn of(mut self, document: &str) -> Self {
        document.clone_into(&mut self.document);
        self
    }

    /// The same with more programs on the path.
    #[must_use]
    pub fn with_programs(mut self, folder: &Path) -> Self {
        self.programs.insert(0, folder.to_owned());
        self
    }

    /// With a word that replaces one of the document.
    #[must_use]
    pub fn with_word(mut self, word: &str, meant: &str) -> Self {
        self.words.push((word.to_owned(), meant.to_owned()));
        self
    }

    /// With a name for a program and its first arguments.
    #[must_use]
    pub fn with_program(mut self, name: &str, stands_for: &str) -> Self {
        writeln!(self.functions, "{name}() {{ {stands_for} \"$@\"; }}")
            .expect("a text takes everything");
        self
    }

    /// Without the program of this name, whose calls are recorded: [`calls`](Self::calls).
    #[must_use]
    pub fn without_program(mut self, name: &str) -> Self {
        let calls = self.folder.path().join(CALLS);
        writeln!(
            self.functions,
            "{name}() {{ printf '%s{ARGUMENT_END}' {name} \"$@\" >>'{calls}'; printf '{CALL_END}' >>'{calls}'; }}",
            calls = calls.display(),
        )
        .expect("a text takes everything");
        self
    }

    /// How programs that are not there were called since this was asked the last time, each with its name first.
    pub fn calls(&self) -> Vec<Vec<String>> {
        let file = self.folder.path().join(CALLS);
        let text = fs::read_to_string(&file).unwrap_or_default();
        // There is none before the first call.
        let _ = fs::remove_file(&file);
        text.split_terminator('\x1e')
            .map(|call| call.split_terminator('\x1f').map(str::to_owned).collect())
            .collect()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Types a block and sees that it does what the document says.
    pub async fn follow(&mut self, fence: &Fence) -> String {
        match fence.information.as_str() {
            "sh" => self.run(fence, End::Success).await,
            "sh up" => {
                self.start(fence).await;
                String::new()
            }
            "sh edit" => {
                let before = self.times_up();
                let said = self.run(fence, End::Success).await;
                self.wait_for("the broker is up again", |reader| {
                    reader.times_up() > before
                })
                .await;
                said
            }
            other => {
                if let Some(text) = other.strip_prefix(FAILS) {
                    return self.run(fence, End::Failure(text)).await;
                }
                let program = other.strip_prefix("sh ").unwrap_or_default();
                let is_known = self.functions.contains(&format!("{program}() {{"));
                assert!(is_known, "no test handles a block of `{other}`");
                self.run(fence, End::Success).await
            }
        }
    }

    async fn run(&self, fence: &Fence, end: End<'_>) -> String {
        let state = self.folder.path().join(".shell");
        // The state after the block is kept for the next one, except for read-only variables of Bash.
        let script = format!(
            "save() {{ declare -p | grep -v '^declare -[a-zA-Z]*r' >{state}; echo \"cd $PWD\" >>{state}; }}\n\
             trap save EXIT\n\
             [[ ! -e {state} ]] || . {state}\n{functions}\n{text}",
            functions = self.functions,
            text = self.as_meant(&fence.text),
            state = state.display(),
        );
        let mut command = self.shell(&script);
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .expect("it is not cancelled")
            .expect("there is a shell");
        let said = said(&output);
        let is_as_reported = match end {
            End::Success => output.status.success(),
            End::Failure(text) => !output.status.success() && said.contains(text),
        };
        assert!(
            is_as_reported,
            "{}:{}: not a {end:?}: {said}",
            self.document, fence.line
        );
        if let Some(shown) = &fence.output {
            let missing = output::missing(shown, &said);
            assert!(
                missing.is_none(),
                "{}:{}: the commands do not print {missing:?}: {said}",
                self.document,
                fence.line
            );
        }
        said
    }

    /// The text with the reader's words in place of the document's.
    fn as_meant(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, meant) in &self.words {
            text = replace_word(&text, word, meant);
        }
        text
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
        sandbox.errors().matches("broker: up at ").count()
    }

    async fn wait_for(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        eventually(what, TIMEOUT, async || {
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
        let path = self
            .programs
            .iter()
            .cloned()
            .chain(std::env::split_paths(&path));
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

/// Replaces a word where no letter, digit, `-` or `_` is beside it.
fn replace_word(text: &str, word: &str, meant: &str) -> String {
    let is_of_a_word = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, from) = rest.split_at(at);
        let after = &from[word.len()..];
        let touches = (before.ends_with(is_of_a_word) && word.starts_with(is_of_a_word))
            || (after.starts_with(is_of_a_word) && word.ends_with(is_of_a_word));
        replaced.push_str(before);
        replaced.push_str(if touches { word } else { meant });
        rest = after;
    }
    replaced + rest
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
