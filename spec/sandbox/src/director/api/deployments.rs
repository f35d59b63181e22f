//! Deployments: list, show, deploy, delete, and the variables of one.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path, Query},
};
use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Refusal, answer,
    caller::Caller,
    submission::{Submission, context_id, deployment, submit},
};
use crate::director::{
    Director,
    deploy::{DeleteOrder, DeployOrder, Force},
    deployments::Deployment,
    ids::{DeploymentName, TeamName},
    tasks::{TaskKind, Work},
};

/// Which fields a list leaves out, each if it is exactly `true`.
#[derive(Deserialize)]
pub(super) struct Exclusions {
    #[serde(rename = "exclude_configs")]
    configs: Option<String>,
    #[serde(rename = "exclude_releases")]
    releases: Option<String>,
    #[serde(rename = "exclude_stemcells")]
    stemcells: Option<String>,
    #[serde(rename = "exclude_lock")]
    lock: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct DeleteOptions {
    force: Option<String>,
}

/// Deployments that the caller may see, by name.
pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
    exclusions: Query<Exclusions>,
) -> Result<HttpResponse, Refusal> {
    caller.may_list()?;
    let shown = director.inner.deployments.map(|name, row| {
        let visible = caller.reads_all() || row.belongs_to(&caller.teams);
        visible.then(|| listed(&director, name, row, &exclusions))
    });
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// The manifest of a deployment, `null` if it was never deployed as a whole.
pub(super) async fn show(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let (_, row) = deployment(&director, name.into_inner())?;
    caller.may_read(&row)?;
    Ok(answer::json_as_html(
        StatusCode::OK,
        &json!({"manifest": row.manifest}),
    ))
}

/// Starts a deploy. The deployment exists from here on, whatever becomes of the task.
pub(super) async fn deploy(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    body: Bytes,
) -> Result<HttpResponse, Refusal> {
    caller.may_create()?;
    let context_id = context_id(&request)?;
    let (text, document, name) = manifest(&body)?;
    let teams: Vec<TeamName> = caller.teams.iter().cloned().collect();
    let deployments = &director.inner.deployments;
    if let Some(row) = deployments.find(name.as_ref()) {
        caller.may_change(&row)?;
    }
    deployments.ensure(&name, &teams, &director.inner.cloud_config_ids(&teams));
    let teams = deployments
        .find(name.as_ref())
        .map_or(teams, |row| row.teams);
    let submission = Submission {
        kind: TaskKind::UpdateDeployment,
        description: "create deployment".to_owned(),
        deployment: name,
        teams: teams.clone(),
        context_id,
        work: Work::Deploy(DeployOrder {
            text,
            document,
            teams,
        }),
    };
    submit(&director, &request, caller, submission)
}

/// Starts a delete.
pub(super) async fn delete(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
    options: Query<DeleteOptions>,
) -> Result<HttpResponse, Refusal> {
    let (name, row) = deployment(&director, name.into_inner())?;
    caller.may_change(&row)?;
    let force = match options.force.as_deref() {
        Some("true") => Force::Yes,
        _ => Force::No,
    };
    let submission = Submission {
        kind: TaskKind::DeleteDeployment,
        description: format!("delete deployment {name}"),
        deployment: name,
        teams: row.teams,
        context_id: context_id(&request)?,
        work: Work::Delete(DeleteOrder { force }),
    };
    submit(&director, &request, caller, submission)
}

/// The names of the variables of a deployment, with the ids of their values.
pub(super) async fn variables(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Refusal> {
    let (_, row) = deployment(&director, name.into_inner())?;
    caller.may_change(&row)?;
    let shown: Vec<Value> = row
        .variables
        .iter()
        .map(|(name, id)| json!({"id": id, "name": name}))
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

fn listed(
    director: &Director,
    name: &DeploymentName,
    row: &Deployment,
    exclusions: &Exclusions,
) -> Value {
    let excluded = |flag: &Option<String>| flag.as_deref() == Some("true");
    let mut shown = Map::new();
    let mut show = |key: &str, value: Value| shown.insert(key.to_owned(), value);
    show("name", json!(name));
    show("teams", json!(row.teams));
    if !excluded(&exclusions.configs) {
        show("cloud_config", json!(cloud_config(director, row)));
    }
    if !excluded(&exclusions.stemcells) {
        show("stemcells", json!(row.stemcells));
    }
    if !excluded(&exclusions.releases) {
        show("releases", json!(row.releases));
    }
    if !excluded(&exclusions.lock) {
        show("locked", json!(director.inner.locks.is_held(name)));
    }
    Value::Object(shown)
}

/// Whether a deployment was last deployed with the cloud configs that are in force now.
fn cloud_config(director: &Director, row: &Deployment) -> &'static str {
    if row.cloud_configs.is_empty() {
        "none"
    } else if row.cloud_configs == director.inner.cloud_config_ids(&row.teams) {
        "latest"
    } else {
        "outdated"
    }
}

/// The checks of a manifest that are made before there is a task.
fn manifest(body: &Bytes) -> Result<(String, Value, DeploymentName), Refusal> {
    let text = String::from_utf8_lossy(body).into_owned();
    if text.is_empty() {
        return Err(Refusal::EmptyManifest);
    }
    let document: Value = yaml::from_str(&text).map_err(Refusal::ManifestNotYaml)?;
    let Value::Object(manifest) = &document else {
        return Err(Refusal::ManifestNotAHash);
    };
    let name = match manifest.get("name") {
        Some(Value::String(name)) => name.clone().into(),
        Some(Value::Number(number)) => number.to_string().into(),
        _ => return Err(Refusal::ManifestWithoutName),
    };
    Ok((text, document, name))
}
