//! Configs: list, show, post, delete.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path, Query},
};
use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Refusal, answer, caller::Caller};
use crate::director::{
    Director,
    audit::{Deed, Doer},
    configs::{Config, ConfigFilter, ConfigView, NewConfig, Owners},
    deploy::{DiffLine, document_changes},
    ids::ConfigId,
};

/// How much of a body is shown to who sent it and got it wrong.
const QUOTED: usize = 64;

#[derive(Deserialize)]
pub(super) struct ListOptions {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
    latest: Option<String>,
    limit: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct DeleteOptions {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
}

/// Configs that the caller may see; the latest version of each, unless asked otherwise.
pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
    options: Query<ListOptions>,
) -> Result<HttpResponse, Refusal> {
    caller.may_list()?;
    let options = options.into_inner();
    let versions = match (options.limit.as_deref(), options.latest.as_deref()) {
        (Some(limit), _) => Some(
            limit
                .parse::<usize>()
                .map_err(|_| Refusal::BadLimit)?
                .max(1),
        ),
        (None, None | Some("true")) => Some(1),
        (None, Some("false")) => None,
        (None, Some(_)) => return Err(Refusal::BadLatest),
    };
    let configs = director.inner.configs.list(&ConfigFilter {
        kind: options.kind,
        name: options.name,
        versions,
        owners: if caller.reads_all() {
            Owners::All
        } else {
            Owners::Teams(caller.teams)
        },
    });
    Ok(answer::json_as_html(StatusCode::OK, &configs))
}

/// One version.
pub(super) async fn show(
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Refusal> {
    caller.may_list()?;
    let (config, view) = version(&director, &id)?;
    caller.may_read_of(config.team.as_ref())?;
    Ok(answer::json_as_html(StatusCode::OK, &view))
}

/// Adds a version, which belongs to the caller's team. The same content again is the same version.
pub(super) async fn post(
    director: Data<Director>,
    caller: Caller,
    body: Bytes,
) -> Result<HttpResponse, Refusal> {
    caller.may_create()?;
    let new = new_config(&body, &caller)?;
    if let Some(latest) = director.inner.configs.latest(&new.kind, &new.name) {
        caller.may_change_of(latest.team.as_ref())?;
    }
    let (kind, name) = (new.kind.clone(), new.name.clone());
    let view = director
        .inner
        .configs
        .post(new)
        .map_err(Refusal::StaleConfig)?;
    record(&director, &caller, "create", &kind, &name);
    Ok(answer::json_as_html(StatusCode::CREATED, &view))
}

/// What new content of a config would change, or what has changed between two versions.
pub(super) async fn diff(
    director: Data<Director>,
    caller: Caller,
    body: Bytes,
) -> Result<HttpResponse, Refusal> {
    caller.may_create()?;
    let document = json_object(&body)?;
    let versions =
        ["from", "to"].map(|end| document.get(end).and_then(|end| end.get("id")?.as_str()));
    let (from, before, after) = if let [Some(from), Some(to)] = versions {
        let before = version_to_diff(&director, &caller, from)?;
        let after = version_to_diff(&director, &caller, to)?;
        (Some(from.to_owned()), before, after)
    } else {
        let is_text = |key| document.get(key).is_some_and(Value::is_string);
        if !(is_text("type") && is_text("name") && is_text("content")) {
            return Err(Refusal::BadConfigDiff);
        }
        let new = new_config(&body, &caller)?;
        let latest = director.inner.configs.latest(&new.kind, &new.name);
        let before = match &latest {
            Some(latest) => {
                caller.may_read_of(latest.team.as_ref())?;
                hash(&latest.content)?
            }
            None => Map::new(),
        };
        let from = latest.map(|latest| latest.id.to_string());
        (from, before, hash(&new.content)?)
    };
    let lines = document_changes(&before, &after);
    let lines: Vec<_> = lines.iter().map(DiffLine::view).collect();
    let mut shown = Map::new();
    if let Some(from) = from {
        shown.insert("from".to_owned(), json!({"id": from}));
    }
    shown.insert("diff".to_owned(), json!(lines));
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// Deletes all versions of a config.
pub(super) async fn delete(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    options: Query<DeleteOptions>,
) -> Result<HttpResponse, Refusal> {
    caller.may_create()?;
    let options = options.into_inner();
    let kind = present(options.kind, "type")?;
    let name = present(options.name, "name")?;
    let configs = &director.inner.configs;
    if let Some(latest) = configs.latest(&kind, &name) {
        caller.may_change_of(latest.team.as_ref())?;
    }
    if configs.delete(&kind, &name) {
        record(&director, &caller, "delete", &kind, &name);
        Ok(answer::no_content())
    } else {
        Err(Refusal::NothingThere {
            path: request.path().to_owned(),
        })
    }
}

/// Deletes one version.
pub(super) async fn delete_version(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Refusal> {
    caller.may_create()?;
    let (config, _) = version(&director, &id)?;
    caller.may_change_of(config.team.as_ref())?;
    if director.inner.configs.delete_version(config.id) {
        record(&director, &caller, "delete", &config.kind, &config.name);
        Ok(answer::no_content())
    } else {
        Err(Refusal::NothingThere {
            path: request.path().to_owned(),
        })
    }
}

/// What becomes of configs is part of the audit.
fn record(director: &Director, caller: &Caller, action: &'static str, kind: &str, name: &str) {
    let doer = Doer {
        user: &caller.user,
        task: None,
        deployment: None,
    };
    let deed = Deed::new(action, format!("config/{kind}")).named(&name);
    director.inner.audit.record(&doer, deed);
}

fn version(director: &Director, id: &str) -> Result<(Config, ConfigView), Refusal> {
    ConfigId::parse(id)
        .and_then(|id| director.inner.configs.find(id))
        .ok_or_else(|| Refusal::NoSuchConfig(id.to_owned()))
}

fn version_to_diff(
    director: &Director,
    caller: &Caller,
    id: &str,
) -> Result<Map<String, Value>, Refusal> {
    let found = ConfigId::parse(id).and_then(|id| director.inner.configs.find(id));
    let (config, _) = found.ok_or_else(|| Refusal::NoConfigToDiff(id.to_owned()))?;
    caller.may_read_of(config.team.as_ref())?;
    hash(&config.content)
}

/// The content of a config.
fn hash(content: &str) -> Result<Map<String, Value>, Refusal> {
    match yaml::from_str(content).map_err(Refusal::ConfigNotYaml)? {
        Value::Object(content) => Ok(content),
        _ => Err(Refusal::ConfigNotAHash),
    }
}

fn json_object(body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    let document: Value = serde_json::from_slice(body).map_err(|_| {
        let start: String = String::from_utf8_lossy(body).chars().take(QUOTED).collect();
        Refusal::NotJson(start)
    })?;
    match document {
        Value::Object(document) => Ok(document),
        _ => Err(Refusal::NotAJsonObject),
    }
}

fn new_config(body: &Bytes, caller: &Caller) -> Result<NewConfig, Refusal> {
    let document = json_object(body)?;
    let kind = text(&document, "type")?;
    let name = text(&document, "name")?;
    let content = text(&document, "content")?;
    hash(&content)?;
    let expected_latest = match document.get("expected_latest_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(other) => Some(other.to_string()),
    };
    let team = if caller.is_admin() {
        None
    } else {
        caller.teams.first().cloned()
    };
    Ok(NewConfig {
        kind,
        name,
        content,
        team,
        expected_latest,
    })
}

fn text(document: &Map<String, Value>, key: &'static str) -> Result<String, Refusal> {
    match document.get(key) {
        None | Some(Value::Null) => Err(Refusal::ConfigParameterMissing(key)),
        Some(Value::String(text)) => present(Some(text.clone()), key),
        Some(_) => Err(Refusal::ConfigParameterNotText(key)),
    }
}

fn present(value: Option<String>, key: &'static str) -> Result<String, Refusal> {
    value
        .filter(|value| !value.is_empty())
        .ok_or(Refusal::ConfigParameterMissing(key))
}
