use odb_adapter_sdk::protocol::{GeneratedManifest, ManifestText, Subcommand};
use odb_adapter_sdk::{json, yaml};
use serde_json::Value;

use crate::process::Ended;

/// The form of a request to the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a document on stdin.
    Stdin,
    /// In arguments, as old brokers do.
    Arguments,
}

/// The parsed stdout of an adapter.
pub(super) enum Answer {
    /// A parsed manifest, with the other members of the answer.
    Manifest {
        generated: Box<GeneratedManifest>,
        document: Value,
    },
    /// Any other document.
    Document(Value),
    /// Nothing, as it should be.
    Nothing,
}

/// Why stdout is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("stdout is empty")]
    Empty,
    #[error("stdout is not UTF-8")]
    NotText,
    #[error("stdout is not the one JSON value that it should be")]
    NotJson(#[source] json::Error),
    #[error("the manifest is not YAML")]
    NotYaml(#[source] yaml::Error),
    #[error("the manifest is not a map")]
    NoMap,
}

impl Answer {
    /// Parses the output of a successful adapter.
    pub(super) fn of(subcommand: Subcommand, form: Form, ended: &Ended) -> Result<Self, NoAnswer> {
        if subcommand == Subcommand::DeleteBinding {
            return Ok(Self::Nothing);
        }
        let text = str::from_utf8(&ended.stdout).map_err(|_| NoAnswer::NotText)?;
        if text.trim().is_empty() {
            return Err(NoAnswer::Empty);
        }
        if subcommand != Subcommand::GenerateManifest {
            return json::from_str(text)
                .map(Self::Document)
                .map_err(NoAnswer::NotJson);
        }
        let generated = match form {
            Form::Stdin => json::from_str(text).map_err(NoAnswer::NotJson)?,
            Form::Arguments => GeneratedManifest::from_text(ManifestText::from(text)),
        };
        let document: Value =
            yaml::from_str(generated.manifest.as_str()).map_err(NoAnswer::NotYaml)?;
        if !document.is_object() {
            return Err(NoAnswer::NoMap);
        }
        Ok(Self::Manifest {
            generated: Box::new(generated),
            document,
        })
    }
}

/// A broker's error about a manifest (`spec/contracts/adapter-protocol.md`, "What the broker checks in a generated
/// manifest").
pub(super) fn objection(manifest: &Value, deployment: &str) -> Option<String> {
    if manifest.get("name").and_then(Value::as_str) != Some(deployment) {
        return Some(format!("its `name` is not `{deployment}`"));
    }
    ["releases", "stemcells"].into_iter().find_map(|kind| {
        let members = manifest.get(kind)?.as_array()?;
        let floats = members.iter().any(|member| {
            member
                .get("version")
                .and_then(Value::as_str)
                .is_some_and(|version| version.ends_with("latest"))
        });
        floats.then(|| format!("one of its `{kind}` has a version that ends in `latest`"))
    })
}
