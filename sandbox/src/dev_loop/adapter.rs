//! The author's adapter: an executable, or a folder that `template-service-adapter` makes an adapter of.
//!
//! The adapter's lines on stderr, which the broker copies to its log: shown once the call is known to have failed.

use std::{
    collections::VecDeque,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::folder::{ExecutableError, Executables};

/// Owner may read and execute, as the broker demands.
const READ_AND_EXECUTE: u32 = 0o500;

const DESCRIPTION: &str = "adapter.yml";

const SERVER: &str = "template-service-adapter";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Adapter {
    Executable(PathBuf),
    Folder {
        folder: PathBuf,
        /// `template-service-adapter`.
        server: PathBuf,
    },
}

/// There is no adapter.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdapterError {
    #[error("could not find the adapter `{}`", path.display())]
    Missing {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the adapter `{}` is a file that cannot be executed; `chmod +x` makes it one that can", .0.display())]
    NotExecutable(PathBuf),
    #[error(
        "the folder `{}` is no adapter: it has no `{DESCRIPTION}`; --adapter names an executable, or a folder with that file",
        .0.display()
    )]
    NotDescribed(PathBuf),
    #[error("`{}` is an adapter by means of another executable", folder.display())]
    Server {
        folder: PathBuf,
        #[source]
        source: ExecutableError,
    },
}

impl Adapter {
    pub(super) fn find(path: &Path, executables: &Executables) -> Result<Self, AdapterError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let found = fs::metadata(&path).map_err(|source| AdapterError::Missing {
            path: path.clone(),
            source,
        })?;
        if found.is_dir() {
            return if path.join(DESCRIPTION).is_file() {
                Self::of_folder(path, executables)
            } else {
                Err(AdapterError::NotDescribed(path))
            };
        }
        if is_executable(found.permissions().mode()) {
            return Ok(Self::Executable(path));
        }
        match path.parent() {
            Some(folder) if path.file_name() == Some(DESCRIPTION.as_ref()) => {
                Self::of_folder(folder.to_owned(), executables)
            }
            _ => Err(AdapterError::NotExecutable(path)),
        }
    }

    fn of_folder(folder: PathBuf, executables: &Executables) -> Result<Self, AdapterError> {
        match executables.find(SERVER) {
            Ok(server) => Ok(Self::Folder { folder, server }),
            Err(source) => Err(AdapterError::Server { folder, source }),
        }
    }

    /// The files that make it: one executable, or all in the folder.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Executable(path) => path,
            Self::Folder { folder, .. } => folder,
        }
    }

    /// Whether it can be called now. While it is built anew it cannot.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Executable(path) => fs::metadata(path)
                .is_ok_and(|found| found.is_file() && is_executable(found.permissions().mode())),
            Self::Folder { folder, .. } => folder.join(DESCRIPTION).is_file(),
        }
    }

    /// The executable that the broker is to call. `service_adapter.path` takes no arguments, so that for a folder one
    /// is written.
    pub(super) fn executable(&self, made: &Path) -> io::Result<PathBuf> {
        let (folder, server) = match self {
            Self::Executable(path) => return Ok(path.clone()),
            Self::Folder { folder, server } => (folder, server),
        };
        let script = format!(
            "#!/bin/sh\nexec {} {} \"$@\"\n",
            quoted(server),
            quoted(folder)
        );
        let unfinished = made.with_extension("unfinished");
        if let Err(error) = fs::remove_file(&unfinished)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&unfinished)?;
        file.write_all(script.as_bytes())?;
        drop(file);
        fs::rename(&unfinished, made)?;
        Ok(made.to_owned())
    }
}

fn is_executable(mode: u32) -> bool {
    mode & READ_AND_EXECUTE == READ_AND_EXECUTE
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// How many lines are kept of calls in progress.
const LINES: usize = 200;

/// The prefix of the codes of adapter failures (`docs/operators/reference/errors.md`).
const FAILURES: &str = "ODB-30";

const ANSWERED: &str = "request answered";

/// The adapters' lines in requests without an answer yet.
#[derive(Debug, Default)]
pub(super) struct AdapterWords {
    said: VecDeque<Words>,
}

#[derive(Debug)]
struct Words {
    /// Empty for the broker's own calls, as at its start.
    request: String,
    text: String,
}

impl AdapterWords {
    /// Records a line of the broker's log. If it reports a failed adapter, returns the adapter's lines.
    pub(super) fn note(&mut self, line: &Map<String, Value>) -> Vec<String> {
        let request = request(line);
        if let Some(text) = of_adapter(line) {
            if self.said.len() == LINES {
                self.said.pop_front();
            }
            let (request, text) = (request.to_owned(), text.to_owned());
            self.said.push_back(Words { request, text });
            return Vec::new();
        }
        let has_failed = if request.is_empty() {
            word(line, "level") == "ERROR"
        } else {
            word(line, "code").starts_with(FAILURES)
        };
        if has_failed {
            return self.take(request);
        }
        if word(line, "message") == ANSWERED {
            self.take(request);
        }
        Vec::new()
    }

    fn take(&mut self, request: &str) -> Vec<String> {
        let mut taken = Vec::new();
        self.said.retain(|words| {
            let is_wanted = words.request == request;
            if is_wanted && !taken.contains(&words.text) {
                taken.push(words.text.clone());
            }
            !is_wanted
        });
        taken
    }
}

/// The adapter's text in a line of the broker's log, if it is such a line.
pub(super) fn of_adapter(line: &Map<String, Value>) -> Option<&str> {
    line.get("adapter.stderr").and_then(Value::as_str)
}

fn request(line: &Map<String, Value>) -> &str {
    word(line, "request.id")
}

fn word<'l>(line: &'l Map<String, Value>, name: &str) -> &'l str {
    line.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn executables(folder: &Path) -> Executables {
        let server = folder.join(SERVER);
        fs::write(&server, "#!/bin/sh\nfor word; do echo \"$word\"; done\n").unwrap();
        fs::set_permissions(&server, PermissionsExt::from_mode(0o755)).unwrap();
        Executables::in_folders(vec![folder.to_owned()])
    }

    #[test]
    fn a_folder_with_an_adapter_yml_is_served_with_its_path_as_first_argument() {
        let folder = tempfile::tempdir().unwrap();
        let executables = executables(folder.path());
        let templates = folder.path().join("the author's own");
        fs::create_dir(&templates).unwrap();
        let refused = Adapter::find(&templates, &executables).unwrap_err();
        assert!(refused.to_string().contains("adapter.yml"), "{refused}");

        fs::write(templates.join(DESCRIPTION), "").unwrap();
        for path in [templates.clone(), templates.join(DESCRIPTION)] {
            let adapter = Adapter::find(&path, &executables).unwrap();
            let made = adapter.executable(&folder.path().join("made")).unwrap();
            let said = Command::new(made)
                .arg("generate-manifest")
                .output()
                .unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            let words: Vec<&str> = said.lines().collect();
            assert_eq!(words, [templates.to_str().unwrap(), "generate-manifest"]);
        }
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_refused_with_what_would_help() {
        let folder = tempfile::tempdir().unwrap();
        let executables = executables(folder.path());
        let file = folder.path().join("adapter");
        let missing = Adapter::find(&file, &executables).unwrap_err();
        assert!(matches!(missing, AdapterError::Missing { .. }), "{missing}");

        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let refused = Adapter::find(&file, &executables).unwrap_err();

        assert!(refused.to_string().contains("chmod +x"), "{refused}");
    }
}

#[cfg(test)]
mod adapter_words_tests {
    use serde_json::json;

    use super::*;

    fn note(words: &mut AdapterWords, request: &str, line: Value) -> Vec<String> {
        let Value::Object(mut line) = line else {
            panic!("lines are objects");
        };
        line.insert("request.id".to_owned(), request.into());
        words.note(&line)
    }

    #[test]
    fn the_words_of_the_call_that_failed_are_reported_and_those_of_no_other() {
        let mut words = AdapterWords::default();
        let says = |text: &str| json!({"level": "INFO", "adapter.stderr": text});
        let failed = || json!({"level": "ERROR", "code": "ODB-3003"});
        for (request, text) in [("one", "a"), ("two", "b"), ("one", "c"), ("one", "a")] {
            assert!(note(&mut words, request, says(text)).is_empty());
        }

        assert_eq!(note(&mut words, "one", failed()), ["a", "c"]);
        assert!(note(&mut words, "one", failed()).is_empty());
        let answered = json!({"level": "INFO", "message": "request answered"});
        assert!(note(&mut words, "two", answered).is_empty());
        assert!(note(&mut words, "two", failed()).is_empty());
    }

    #[test]
    fn a_failure_that_is_not_the_adapters_reports_nothing_of_it() {
        let mut words = AdapterWords::default();
        note(&mut words, "one", json!({"adapter.stderr": "all is well"}));

        let failed = json!({"level": "ERROR", "code": "ODB-4001"});

        assert!(note(&mut words, "one", failed).is_empty());
    }
}
