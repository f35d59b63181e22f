//! The file that most errands are given.

use std::path::{Path, PathBuf};

use anyhow::bail;
use odb_config::{InvalidConfig, LoadError, Loaded};

use super::Form;
use crate::{Console, Dependencies};

/// A flag is missing that only our own form of the command line needs.
#[derive(Debug, thiserror::Error)]
#[error("Missing flag {0}")]
pub struct UsageError(pub(crate) &'static str);

/// The words of the Go release's errands for an error in their file (`spec/contracts/errands.md` §1.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfigTexts {
    /// The error if it is not given; without one, the default file is used.
    pub(crate) missing: Option<&'static str>,
    /// The prefix of the cause when the file cannot be read.
    pub(crate) unreadable: Option<&'static str>,
    /// The prefix of the cause when the file is invalid.
    pub(crate) invalid: Option<&'static str>,
}

/// Reads the file of an errand and reports its warnings.
pub(crate) fn load<T>(
    file: Option<&Path>,
    texts: &ConfigTexts,
    read: fn(&Path) -> Result<Loaded<T>, LoadError>,
    dependencies: &Dependencies,
) -> anyhow::Result<T> {
    let console = &dependencies.console;
    let given = file.filter(|file| !file.as_os_str().is_empty());
    let file = match (given, dependencies.form, texts.missing) {
        (Some(file), ..) => file.to_owned(),
        (None, Form::Own, _) => {
            return Err(UsageError("--config: give the errand's configuration file").into());
        }
        (None, Form::Go, Some(text)) => bail!("{text}"),
        (None, Form::Go, None) => PathBuf::new(),
    };
    match read(&file) {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                console.log(warning);
            }
            Ok(loaded.config)
        }
        Err(LoadError::Unreadable { file, source }) => {
            let cause = format!("open {file}: {}", words(&source));
            bail!(prefixed(texts.unreadable, &cause))
        }
        Err(LoadError::Invalid(invalid)) => {
            bail!(prefixed(texts.invalid, &all_errors(&invalid, console)))
        }
    }
}

fn prefixed(prefix: Option<&str>, cause: &str) -> String {
    match prefix {
        Some(prefix) => format!("{prefix}: {cause}"),
        None => cause.to_owned(),
    }
}

/// A single error is reported as the cause; several errors get a line each before it.
fn all_errors(invalid: &InvalidConfig, console: &Console) -> String {
    for warning in &invalid.warnings {
        console.log(warning);
    }
    match invalid.findings.as_slice() {
        [finding] => finding.to_string(),
        findings => {
            for finding in findings {
                console.log(finding);
            }
            format!("the configuration has {} errors", findings.len())
        }
    }
}

/// The operating system's error in the spelling of Go.
fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}
