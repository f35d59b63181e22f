use anyhow::{Context as _, ensure};
use odb_adapter_sdk::protocol::{ExitCode, GeneratedManifest, ManifestText, Subcommand};
use odb_adapter_sdk::{json, yaml};
use serde::Serialize;
use serde_json::Value;

use crate::process::{End, Ended};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a document on stdin.
    Stdin,
    /// In arguments, as old brokers do.
    Arguments,
}

pub(super) enum Response {
    Manifest {
        generated: Box<GeneratedManifest>,
        document: Value,
    },
    /// Any other document.
    Document(Value),
    /// Nothing, as it should be.
    Nothing,
}

impl Response {
    /// The answer, or why stdout is none.
    pub(super) fn of(subcommand: Subcommand, form: Form, ended: &Ended) -> anyhow::Result<Self> {
        const NOT_JSON: &str = "stdout is not the one JSON value that it should be";
        if subcommand == Subcommand::DeleteBinding {
            return Ok(Self::Nothing);
        }
        let text = str::from_utf8(&ended.stdout).ok();
        let text = text.context("stdout is not UTF-8")?;
        ensure!(!text.trim().is_empty(), "stdout is empty");
        if subcommand != Subcommand::GenerateManifest {
            return json::from_str(text).map(Self::Document).context(NOT_JSON);
        }
        let generated = match form {
            Form::Stdin => json::from_str(text).context(NOT_JSON)?,
            Form::Arguments => GeneratedManifest::from_text(ManifestText::from(text)),
        };
        let document: Value =
            yaml::from_str(generated.manifest.as_str()).context("the manifest is not YAML")?;
        ensure!(document.is_object(), "the manifest is not a map");
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

/// The result of a call (`spec/contracts/adapter-protocol.md`, "Exit codes").
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Explanation {
    /// The broker's reaction.
    pub(super) broker: String,
    /// The user's view.
    pub(super) user: String,
}

const GENERIC: &str = "that the operation failed, and an id to quote; the operator finds stderr in the log under this id";

/// A call that gave an answer which a broker takes.
pub(super) fn answered(subcommand: Subcommand) -> Explanation {
    let (broker, user) = match subcommand {
        Subcommand::GenerateManifest => (
            "stores secrets and configs and deploys the manifest",
            "that the operation is in progress",
        ),
        Subcommand::CreateBinding => ("returns the credentials", "the credentials"),
        Subcommand::DeleteBinding => ("has nothing left to do", "that the binding does not exist"),
        Subcommand::DashboardUrl => ("returns the address", "the address"),
        Subcommand::GeneratePlanSchemas => (
            "shows the schemas in the catalog and validates parameters with them",
            "the schemas",
        ),
    };
    explanation(broker, user)
}

/// A call that ended well and gave no answer that a broker could use.
pub(super) fn not_understood(why: &str) -> Explanation {
    explanation(format!("fails the operation: {why}"), GENERIC)
}

/// A call that ended otherwise; `has_text` if stdout has something for the user.
pub(super) fn failed(subcommand: Subcommand, end: End, has_text: bool) -> Explanation {
    let user = if has_text {
        "stdout, as it is"
    } else {
        GENERIC
    };
    let End::Exited(code) = end else {
        return explanation(format!("fails the operation: the adapter {end}"), user);
    };
    match (code, subcommand) {
        (ExitCode::NotImplemented, Subcommand::DashboardUrl) => {
            explanation("continues without a dashboard", "nothing of it")
        }
        (ExitCode::NotImplemented, Subcommand::GeneratePlanSchemas) => explanation(
            "cannot use the adapter with `enable_plan_schemas`: it refuses to start, the Go broker fails with the first catalog",
            "no catalog",
        ),
        (ExitCode::NotImplemented, _) => explanation(
            format!("fails the operation, for which it needs `{subcommand}`"),
            GENERIC,
        ),
        (ExitCode::BindingNotFound, Subcommand::DeleteBinding) => explanation(
            "answers 410: the binding does not exist",
            "that the binding does not exist",
        ),
        (ExitCode::AppGuidRequired, Subcommand::CreateBinding) => explanation(
            "answers 422 `RequiresApp`",
            "that the service can be bound to applications only",
        ),
        (ExitCode::BindingExists, Subcommand::CreateBinding) => {
            explanation("answers 409", "that the binding already exists")
        }
        (ExitCode::BindingNotFound | ExitCode::AppGuidRequired | ExitCode::BindingExists, _) => {
            explanation(
                format!(
                    "fails the operation: code {} is not for `{subcommand}`; the Go broker answers as if it were",
                    code.code()
                ),
                user,
            )
        }
        _ => explanation("fails the operation", user),
    }
}

fn explanation(broker: impl Into<String>, user: impl Into<String>) -> Explanation {
    Explanation {
        broker: broker.into(),
        user: user.into(),
    }
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::protocol::{ExitCode, Subcommand};

    use super::failed;
    use crate::process::End;

    fn broker(subcommand: Subcommand, code: ExitCode) -> String {
        failed(subcommand, End::Exited(code), false).broker
    }

    #[test]
    fn a_code_means_what_it_means_for_its_own_subcommand_only() {
        use ExitCode as E;
        use Subcommand as S;
        assert!(broker(S::DeleteBinding, E::BindingNotFound).contains("410"));
        assert!(broker(S::CreateBinding, E::BindingExists).contains("409"));
        assert!(broker(S::CreateBinding, E::AppGuidRequired).contains("RequiresApp"));
        assert!(broker(S::CreateBinding, E::BindingNotFound).contains("is not for"));
        assert!(broker(S::GenerateManifest, E::BindingExists).contains("is not for"));
        assert!(broker(S::DashboardUrl, E::NotImplemented).contains("without a dashboard"));
        assert!(broker(S::CreateBinding, E::NotImplemented).contains("fails"));
    }

    #[test]
    fn users_read_stdout_where_there_is_any() {
        let read = |end, text| failed(Subcommand::GenerateManifest, end, text).user;
        let failure = End::Exited(ExitCode::Failure);
        assert!(read(failure, true).contains("stdout"));
        assert!(read(failure, false).contains("operator"));
        assert!(read(End::Signalled(11), false).contains("operator"));
    }
}
