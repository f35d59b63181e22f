//! The inputs on the command line and in files.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use odb_adapter_sdk::protocol::Subcommand;
use odb_adapter_sdk::{json, yaml};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::process::StartError;

/// Why there is no request.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("could not read `{}`", file.display())]
    ReadFile {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{what} cannot be read{}", hint(file.as_deref()))]
    NotReadable {
        what: String,
        /// How to pass a file, if the text may name one.
        file: Option<String>,
        #[source]
        source: yaml::Error,
    },
    #[error("{what} is not as brokers hand it to adapters")]
    NotTyped {
        what: String,
        #[source]
        source: json::Error,
    },
    #[error("the parameters are not a JSON object{}", hint(file.as_deref()))]
    NoParameters {
        /// How to pass a file, if the text may name one.
        file: Option<String>,
        #[source]
        source: json::Error,
    },
    #[error(
        "unknown plan `{name}`: no file has this name; available in the inputs: {}",
        listed(plans)
    )]
    NoSuchPlan { name: String, plans: Vec<String> },
    #[error(
        "no inputs: write an `adapter-check.yml` beside the adapter, or name one with --inputs"
    )]
    NoInputs,
    #[error(
        "the document is not the input of `{subcommand}` in the argument form: a JSON list of strings"
    )]
    NotArguments {
        subcommand: Subcommand,
        #[source]
        source: json::Error,
    },
    #[error("could not ask for the manifest first")]
    StartForManifest(#[source] StartError),
    #[error(
        "no manifest to continue with: the adapter {why}; run `generate-manifest`, or pass a manifest with --manifest"
    )]
    NoManifest { why: String },
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn hint(file: Option<&str>) -> String {
    let hint = |file| format!("; a file is `{file}`");
    file.map(hint).unwrap_or_default()
}

/// JSON or YAML, or the name of a file with it after an @.
pub(super) fn given<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, RequestError> {
    yaml::from_str(&text_or_file(text)?).map_err(|source| RequestError::NotReadable {
        what: what.to_owned(),
        file: file_meant(text),
        source,
    })
}

/// How to pass a file, if the text is neither a file argument nor a JSON object. The text may be a secret unless it
/// looks like a file name.
pub(super) fn file_meant(text: &str) -> Option<String> {
    if text.starts_with('@') || text.trim_start().starts_with('{') {
        return None;
    }
    let path = Path::new(text);
    let extension = path.extension().and_then(OsStr::to_str);
    let is_a_name = path.is_file() || matches!(extension, Some("json" | "yml" | "yaml"));
    Some(if is_a_name {
        format!("@{text}")
    } else {
        "@FILE".to_owned()
    })
}

/// YAML, of which JSON is a part.
pub(super) fn parsed<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, RequestError> {
    yaml::from_str(text).map_err(|source| RequestError::NotReadable {
        what: what.to_owned(),
        file: None,
        source,
    })
}

pub(super) fn typed<T: DeserializeOwned>(what: &str, document: &Value) -> Result<T, RequestError> {
    json::from_str(&document.to_string()).map_err(|source| RequestError::NotTyped {
        what: what.to_owned(),
        source,
    })
}

pub(super) fn text_or_file(text: &str) -> Result<String, RequestError> {
    match text.strip_prefix('@') {
        Some(file) => read(Path::new(file)),
        None => Ok(text.to_owned()),
    }
}

pub(super) fn read(file: &Path) -> Result<String, RequestError> {
    fs::read_to_string(file).map_err(|source| RequestError::ReadFile {
        file: file.to_owned(),
        source,
    })
}
