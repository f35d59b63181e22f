//! Changes of states: `PUT /deployments/NAME/jobs/…?state=`, and instances that deploys are to leave alone.

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path, Query},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Rejection, answer,
    caller::Caller,
    deployments::description,
    submission::{SentManifest, Submission, context_id, deployment, is_set, submit},
};
use crate::director::{
    Director,
    deploy::{
        ChangedGroups, DeployOptions, DeployOrder, Extent, SilentAgents, SkipDrain, StateChange,
        UpdateAction, UpdateOverrides,
    },
    deployments::{Attention, Deployment, Instance},
    ids::{DeploymentName, GroupName},
    tasks::{TaskKind, Work},
};

#[derive(Deserialize)]
pub(super) struct StateSwitches {
    state: Option<String>,
    skip_drain: Option<String>,
    canaries: Option<String>,
    max_in_flight: Option<String>,
    fix: Option<String>,
    dry_run: Option<String>,
}

/// Starts the change of a group's states, or of all groups' (`*`).
pub(super) async fn change_group(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    path: Path<(String, String)>,
    switches: Query<StateSwitches>,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    let (name, group) = path.into_inner();
    let (name, row) = deployment(&director, name)?;
    let groups = match group.as_str() {
        "*" => ChangedGroups::All,
        _ => ChangedGroups::Group(group.clone().into()),
    };
    let change = Change {
        request: &request,
        director: &director,
        name,
        row,
        group,
        groups,
    };
    change.submit(caller, switches.into_inner(), &body)
}

pub(super) async fn change_instance(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    path: Path<(String, String, String)>,
    switches: Query<StateSwitches>,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    let (name, group, index_or_id) = path.into_inner();
    let (name, row) = deployment(&director, name)?;
    caller.may_change(&row)?;
    if !is_index_or_id(&index_or_id) {
        return Err(Rejection::InvalidInstanceIndex(index_or_id));
    }
    let instance = instance(&name, &row, &group, &index_or_id)?;
    let groups = ChangedGroups::Instance(group.clone().into(), instance.index);
    let change = Change {
        request: &request,
        director: &director,
        name,
        row,
        group,
        groups,
    };
    let mut switches = switches.into_inner();
    // Of one instance there is no share.
    switches.canaries = None;
    switches.max_in_flight = None;
    change.submit(caller, switches, &body)
}

/// Makes deploys skip an instance or all of a group (`*`), or include it again.
pub(super) async fn ignore(
    director: Data<Director>,
    caller: Caller,
    path: Path<(String, String, String)>,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    let (name, group, index_or_id) = path.into_inner();
    let (name, row) = deployment(&director, name)?;
    caller.may_change(&row)?;
    let options: Value = serde_json::from_slice(&body).map_err(|_| Rejection::Unreadable)?;
    let attention = match options.get("ignore").and_then(Value::as_bool) {
        Some(true) => Attention::Ignored,
        _ => Attention::Managed,
    };
    let only = match index_or_id.as_str() {
        "*" => None,
        _ => Some(instance(&name, &row, &group, &index_or_id)?.id),
    };
    let group = GroupName::from(group);
    director.inner.deployments.update(&name, |row| {
        for instance in &mut row.instances {
            if instance.group == group && only.is_none_or(|only| instance.id == only) {
                instance.attention = attention;
            }
        }
    });
    Ok(answer::html(StatusCode::OK, ""))
}

struct Change<'a> {
    request: &'a HttpRequest,
    director: &'a Director,
    name: DeploymentName,
    row: Arc<Deployment>,
    group: String,
    groups: ChangedGroups,
}

impl Change<'_> {
    fn submit(
        self,
        caller: Caller,
        switches: StateSwitches,
        body: &[u8],
    ) -> Result<HttpResponse, Rejection> {
        caller.may_change(&self.row)?;
        let inner = &self.director.inner;
        let teams = self.row.teams.clone();
        // Without a manifest the stored one is meant, with the configs that it was deployed with.
        let (text, cloud_configs, runtime_configs) = if body.is_empty() && switches.state.is_some()
        {
            (
                self.row.manifest.clone(),
                self.row.cloud_configs.clone(),
                self.row.runtime_configs.clone(),
            )
        } else {
            (
                Some(SentManifest::read(body)?.text),
                inner.config_ids("cloud", &teams),
                inner.config_ids("runtime", &teams),
            )
        };
        let options = DeployOptions {
            action: UpdateAction::ChangeStates,
            extent: if is_set(switches.dry_run.as_ref()) {
                Extent::DryRun
            } else {
                Extent::Whole
            },
            silent_agents: if is_set(switches.fix.as_ref()) {
                SilentAgents::Replace
            } else {
                SilentAgents::Fail
            },
            skip_drain: if is_set(switches.skip_drain.as_ref()) {
                SkipDrain::read(&self.group)
            } else {
                SkipDrain::None
            },
            overrides: UpdateOverrides {
                canaries: switches.canaries,
                max_in_flight: switches.max_in_flight,
            },
            state: switches.state.map(|state| StateChange {
                groups: self.groups,
                state,
            }),
            cloud_configs,
            runtime_configs,
            ..DeployOptions::default()
        };
        let submission = Submission {
            kind: TaskKind::UpdateDeployment,
            description: description(&options).to_owned(),
            deployment: self.name,
            teams: teams.clone(),
            context_id: context_id(self.request)?,
            work: Work::Deploy(Box::new(DeployOrder {
                text,
                teams,
                options,
            })),
        };
        submit(self.director, self.request, caller, submission)
    }
}

fn instance<'a>(
    name: &DeploymentName,
    row: &'a Deployment,
    group: &str,
    index_or_id: &str,
) -> Result<&'a Instance, Rejection> {
    let mut instances = row.instances.iter();
    let found = instances.find(|instance| {
        instance.group.as_ref() == group
            && (instance.index.to_string() == index_or_id || instance.id.to_string() == index_or_id)
    });
    found.ok_or_else(|| Rejection::NoSuchInstance(format!("{name}/{group}/{index_or_id}")))
}

fn is_index_or_id(text: &str) -> bool {
    text.parse::<i64>().is_ok()
        || (text.len() == 36
            && text
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-'))
}
