//! Deployments: list, show, deploy, delete, and the variables of one.

use std::collections::BTreeMap;

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path, Query},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Rejection, answer,
    caller::Caller,
    submission::{SentManifest, Submission, context_id, deployment, is_set, submit},
};
use crate::director::{
    Director,
    deploy::{
        DeleteOrder, DeployOptions, DeployOrder, DiskRequest, Extent, Force, SilentAgents,
        SkipDrain, UpdateAction, UpdateOverrides, VmRequest,
    },
    deployments::Deployment,
    ids::{ConfigId, DeploymentName, TeamName},
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

#[derive(Default, Deserialize)]
pub(super) struct DeploySwitches {
    recreate: Option<String>,
    recreate_persistent_disks: Option<String>,
    recreate_vms_created_before: Option<String>,
    fix: Option<String>,
    dry_run: Option<String>,
    skip_drain: Option<String>,
    canaries: Option<String>,
    max_in_flight: Option<String>,
    context: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct DeleteOptions {
    force: Option<String>,
}

/// The configs that a call pins, as a diff gave them.
#[derive(Deserialize)]
struct Context {
    cloud_config_ids: Vec<Value>,
    runtime_config_ids: Vec<Value>,
}

/// Deployments that the caller may see, by name.
pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
    exclusions: Query<Exclusions>,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let mut view = ListView {
        director: &director,
        exclusions: &exclusions,
        configs: BTreeMap::new(),
    };
    let shown = director.inner.deployments.map(|name, row| {
        let visible = caller.reads_all() || row.belongs_to(&caller.teams);
        visible.then(|| view.row(name, row))
    });
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// The manifest of a deployment, `null` if it was never deployed completely.
pub(super) async fn show(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Rejection> {
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
    switches: Query<DeploySwitches>,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    caller.may_create()?;
    let context_id = context_id(&request)?;
    let manifest = SentManifest::read(&body)?;
    let name = manifest.name()?;
    let deployments = &director.inner.deployments;
    let teams: Vec<TeamName> = match deployments.find(name.as_ref()) {
        Some(row) => {
            caller.may_change(&row)?;
            row.teams.clone()
        }
        None => caller.teams.iter().cloned().collect(),
    };
    let options = switches.into_inner().options(&director, &teams)?;
    deployments.ensure(&name, &teams, &options.cloud_configs);
    let submission = Submission {
        kind: TaskKind::UpdateDeployment,
        description: description(&options).to_owned(),
        deployment: name,
        teams: teams.clone(),
        context_id,
        work: Work::Deploy(Box::new(DeployOrder {
            text: Some(manifest.text),
            teams,
            options,
        })),
    };
    submit(&director, &request, caller, submission)
}

pub(super) async fn delete(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
    options: Query<DeleteOptions>,
) -> Result<HttpResponse, Rejection> {
    let (name, row) = deployment(&director, name.into_inner())?;
    caller.may_change(&row)?;
    let force = if is_set(options.force.as_ref()) {
        Force::Yes
    } else {
        Force::No
    };
    let submission = Submission {
        kind: TaskKind::DeleteDeployment,
        description: format!("delete deployment {name}"),
        deployment: name,
        teams: row.teams.clone(),
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
) -> Result<HttpResponse, Rejection> {
    let (_, row) = deployment(&director, name.into_inner())?;
    caller.may_change(&row)?;
    let shown: Vec<Value> = row
        .variables
        .iter()
        .map(|(name, id)| json!({"id": id, "name": name}))
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// The description of a deploy task, whatever it changes.
pub(super) fn description(options: &DeployOptions) -> &'static str {
    match options.extent {
        Extent::Whole => "create deployment",
        Extent::DryRun => "create deployment (dry run)",
    }
}

impl DeploySwitches {
    fn options(self, director: &Director, teams: &[TeamName]) -> Result<DeployOptions, Rejection> {
        let (cloud_configs, runtime_configs) = match &self.context {
            Some(context) => pinned(director, context, teams)?,
            None => (
                director.inner.config_ids("cloud", teams),
                director.inner.config_ids("runtime", teams),
            ),
        };
        Ok(DeployOptions {
            action: UpdateAction::Deploy,
            extent: if is_set(self.dry_run.as_ref()) {
                Extent::DryRun
            } else {
                Extent::Whole
            },
            vms: self.vms()?,
            disks: if is_set(self.recreate_persistent_disks.as_ref()) {
                DiskRequest::Recreate
            } else {
                DiskRequest::Keep
            },
            silent_agents: if is_set(self.fix.as_ref()) {
                SilentAgents::Replace
            } else {
                SilentAgents::Fail
            },
            skip_drain: self
                .skip_drain
                .as_deref()
                .map_or(SkipDrain::None, SkipDrain::read),
            overrides: UpdateOverrides {
                canaries: self.canaries,
                max_in_flight: self.max_in_flight,
            },
            state: None,
            cloud_configs,
            runtime_configs,
        })
    }

    fn vms(&self) -> Result<VmRequest, Rejection> {
        match (
            is_set(self.recreate.as_ref()),
            &self.recreate_vms_created_before,
        ) {
            (false, _) => Ok(VmRequest::Keep),
            (true, None) => Ok(VmRequest::Recreate),
            (true, Some(time)) => match time.parse::<Timestamp>() {
                Ok(time) => Ok(VmRequest::RecreateOlderThan(time)),
                Err(_) => Err(Rejection::Unreadable),
            },
        }
    }
}

/// The configs that a call names. All must exist and belong to the teams or to no team.
fn pinned(
    director: &Director,
    context: &str,
    teams: &[TeamName],
) -> Result<(Vec<ConfigId>, Vec<ConfigId>), Rejection> {
    let context: Context = serde_json::from_str(context).map_err(|_| Rejection::Unreadable)?;
    let known = |ids: &[Value], kind: &str| -> Result<Vec<ConfigId>, Rejection> {
        ids.iter()
            .map(|id| {
                let id = match id {
                    Value::String(text) => ConfigId::parse(text),
                    other => ConfigId::parse(&other.to_string()),
                };
                let config = id.and_then(|id| Some(director.inner.configs.find(id)?.0));
                let config = config.filter(|config| {
                    config.kind == kind
                        && config.team.as_ref().is_none_or(|team| teams.contains(team))
                });
                config
                    .map(|config| config.id)
                    .ok_or(Rejection::UnknownConfigInContext)
            })
            .collect()
    };
    Ok((
        known(&context.cloud_config_ids, "cloud")?,
        known(&context.runtime_config_ids, "runtime")?,
    ))
}

/// How a list shows its rows.
struct ListView<'a> {
    director: &'a Director,
    exclusions: &'a Exclusions,
    configs: BTreeMap<Vec<TeamName>, Vec<ConfigId>>,
}

impl ListView<'_> {
    fn row(&mut self, name: &DeploymentName, row: &Deployment) -> Value {
        let mut shown = Map::new();
        let mut show = |key: &str, value: Value| shown.insert(key.to_owned(), value);
        show("name", json!(name));
        show("teams", json!(row.teams));
        if !is_set(self.exclusions.configs.as_ref()) {
            show("cloud_config", json!(self.cloud_config(row)));
        }
        if !is_set(self.exclusions.stemcells.as_ref()) {
            show("stemcells", json!(row.stemcells));
        }
        if !is_set(self.exclusions.releases.as_ref()) {
            show("releases", json!(row.releases));
        }
        if !is_set(self.exclusions.lock.as_ref()) {
            show("locked", json!(self.director.inner.locks.is_held(name)));
        }
        Value::Object(shown)
    }

    /// Whether a deployment was last deployed with the cloud configs that are in force now.
    fn cloud_config(&mut self, row: &Deployment) -> &'static str {
        if row.cloud_configs.is_empty() {
            return "none";
        }
        let latest = self.configs.entry(row.teams.clone()).or_insert_with(|| {
            let mut ids = self.director.inner.config_ids("cloud", &row.teams);
            ids.sort_unstable();
            ids
        });
        let mut used = row.cloud_configs.clone();
        used.sort_unstable();
        if used == *latest {
            "latest"
        } else {
            "outdated"
        }
    }
}
