//! Parses the output of a successful adapter (`spec/contracts/adapter-protocol.md` §1.5).

use odb_adapter_sdk::protocol::{GeneratedManifest, ManifestText, Subcommand};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::AdapterError;

/// The complete stdout.
pub(super) struct Answer {
    call: Subcommand,
    stdout: Vec<u8>,
}

impl Answer {
    pub(super) fn new(call: Subcommand, stdout: Vec<u8>) -> Self {
        Self { call, stdout }
    }

    /// One JSON value and nothing after it.
    pub(super) fn json<T: DeserializeOwned>(self) -> Result<T, AdapterError> {
        serde_json::from_slice(&self.stdout).map_err(|error| {
            // serde's own text quotes the invalid value.
            let (line, column) = (error.line(), error.column());
            let error = match error.classify() {
                Category::Eof if self.stdout.is_empty() => "it is empty".to_owned(),
                Category::Eof => "it ends too early".to_owned(),
                Category::Syntax | Category::Io => {
                    format!("it is not JSON, seen at line {line} column {column}")
                }
                Category::Data => {
                    format!("a value has the wrong type, seen at line {line} column {column}")
                }
            };
            AdapterError::Answer {
                call: self.call,
                error,
            }
        })
    }

    /// A manifest with no JSON around it.
    pub(super) fn manifest(self) -> Result<GeneratedManifest, AdapterError> {
        let call = self.call;
        let error = |error: &str| AdapterError::Answer {
            call,
            error: error.to_owned(),
        };
        match String::from_utf8(self.stdout) {
            Ok(text) if text.trim().is_empty() => Err(error("it is empty")),
            Ok(text) => Ok(GeneratedManifest::from_text(ManifestText::from(text))),
            Err(_) => Err(error("it is not text in UTF-8")),
        }
    }
}
