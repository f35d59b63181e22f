//! `POST /deployments/NAME/diff`: what a manifest would change. Errors come in an answer that looks like a success.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path, Query},
};
use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Rejection, answer, caller::Caller, submission::SentManifest};
use crate::director::{
    Director,
    deploy::{DiffLine, ManifestVersion, Redaction, changes},
    deployments::Deployment,
    ids::{ConfigId, TeamName},
};

/// A real Director shows a complete backtrace. This is its first line, which clients must never show to a user.
const BACKTRACE: &str = "/var/vcap/packages/director/src/bosh-director/lib/bosh/director/api/controllers/deployments_controller.rb:457:in `block in <class:DeploymentsController>'";

#[derive(Deserialize)]
pub(super) struct DiffOptions {
    redact: Option<String>,
}

/// The configs that a deploy of the manifest would use now.
struct Configs {
    cloud: Vec<ConfigId>,
    runtime: Vec<ConfigId>,
}

/// Compares a manifest with the stored one, or with nothing.
pub(super) async fn diff(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
    options: Query<DiffOptions>,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    let row = director.inner.deployments.find(&name);
    let teams: Vec<TeamName> = if let Some(row) = &row {
        caller.may_change(row)?;
        row.teams.clone()
    } else {
        caller.may_create()?;
        caller.teams.iter().cloned().collect()
    };
    let configs = Configs {
        cloud: director.inner.config_ids("cloud", &teams),
        runtime: director.inner.config_ids("runtime", &teams),
    };
    let redaction = match options.redact.as_deref() {
        Some("false") => Redaction::Shown,
        _ => Redaction::Hidden,
    };
    let lines = lines(&director, row.as_deref(), &configs, &body, redaction);
    let shown = match lines {
        Ok(lines) => json!({
            "context": {
                "cloud_config_ids": configs.cloud,
                "runtime_config_ids": configs.runtime,
            },
            "diff": lines.iter().map(DiffLine::view).collect::<Vec<_>>(),
        }),
        Err(error) => json!({
            "diff": [],
            "error": format!("Unable to diff manifest: {error}\n{BACKTRACE}"),
        }),
    };
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

fn lines(
    director: &Director,
    row: Option<&Deployment>,
    configs: &Configs,
    body: &[u8],
    redaction: Redaction,
) -> Result<Vec<DiffLine>, String> {
    let sent =
        SentManifest::read(body).map_err(|rejection| inspected("BadManifest", &rejection))?;
    let before = ManifestVersion {
        document: row.and_then(stored).unwrap_or_default(),
        cloud_configs: row.map(|row| row.cloud_configs.clone()),
    };
    let after = ManifestVersion {
        document: sent.document,
        cloud_configs: Some(configs.cloud.clone()),
    };
    changes(director, before, after, redaction)
        .map_err(|failure| inspected("DirectorError", &failure))
}

/// The manifest of the last deploy. Invalid YAML could not have been deployed.
fn stored(row: &Deployment) -> Option<Map<String, Value>> {
    match yaml::from_str(row.manifest.as_deref()?).ok()? {
        Value::Object(document) => Some(document),
        _ => None,
    }
}

/// An error as the Director's language shows it to programmers.
fn inspected(class: &str, error: &dyn std::fmt::Display) -> String {
    format!("#<Bosh::Director::{class}: {error}>")
}
