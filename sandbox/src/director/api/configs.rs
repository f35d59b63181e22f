//! Configs: list, show, post, delete.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path, Query},
};
use odb_adapter_sdk::yaml;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Rejection, answer, caller::Caller};
use crate::director::{
    Director,
    audit::{Deed, Doer},
    configs::{Config, ConfigFilter, ConfigView, NewConfig, Owners},
    ids::ConfigId,
    ruby,
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
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let options = options.into_inner();
    let limit = options.limit.as_deref().map(positive).transpose()?;
    let versions = match options.latest.as_deref() {
        None | Some("true") => Some(limit.unwrap_or(1)),
        Some("false") => limit,
        Some(_) => return Err(Rejection::BadLatest),
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

pub(super) async fn show(
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Rejection> {
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
) -> Result<HttpResponse, Rejection> {
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
        .map_err(Rejection::StaleConfig)?;
    record(&director, &caller, "create", &kind, &name);
    Ok(answer::json_as_html(StatusCode::CREATED, &view))
}

pub(super) async fn delete(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    options: Query<DeleteOptions>,
) -> Result<HttpResponse, Rejection> {
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
        Err(Rejection::NothingThere {
            path: request.path().to_owned(),
        })
    }
}

pub(super) async fn delete_version(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Rejection> {
    caller.may_create()?;
    let (config, _) = version(&director, &id)?;
    caller.may_change_of(config.team.as_ref())?;
    if director.inner.configs.delete_version(config.id) {
        record(&director, &caller, "delete", &config.kind, &config.name);
        Ok(answer::no_content())
    } else {
        Err(Rejection::NothingThere {
            path: request.path().to_owned(),
        })
    }
}

fn record(director: &Director, caller: &Caller, action: &'static str, kind: &str, name: &str) {
    let doer = Doer {
        user: &caller.user,
        task: None,
        deployment: None,
    };
    let deed = Deed::new(action, format!("config/{kind}")).named(&name);
    director.inner.audit.record(&doer, deed);
}

/// A limit, which the Director takes only as it would write the number itself.
fn positive(limit: &str) -> Result<usize, Rejection> {
    let number: i64 = limit.parse().map_err(|_| Rejection::BadLimit)?;
    if number.to_string() != limit {
        return Err(Rejection::BadLimit);
    }
    let number = usize::try_from(number).map_err(|_| Rejection::LimitTooSmall)?;
    match number {
        0 => Err(Rejection::LimitTooSmall),
        _ => Ok(number),
    }
}

pub(super) fn version(director: &Director, id: &str) -> Result<(Config, ConfigView), Rejection> {
    ConfigId::parse(id)
        .and_then(|id| director.inner.configs.find(id))
        .ok_or_else(|| Rejection::NoSuchConfig(id.to_owned()))
}

pub(super) fn hash(content: &str) -> Result<Map<String, Value>, Rejection> {
    match ruby::from_str(content).map_err(Rejection::ConfigNotYaml)? {
        Value::Object(content) => Ok(content),
        _ => Err(Rejection::ConfigNotAHash),
    }
}

pub(super) fn json_object(body: &Bytes) -> Result<Map<String, Value>, Rejection> {
    let document: Value = serde_json::from_slice(body).map_err(|_| {
        let start: String = String::from_utf8_lossy(body).chars().take(QUOTED).collect();
        Rejection::NotJson(start)
    })?;
    match document {
        Value::Object(document) => Ok(document),
        _ => Err(Rejection::NotAJsonObject),
    }
}

fn new_config(body: &Bytes, caller: &Caller) -> Result<NewConfig, Rejection> {
    let document = json_object(body)?;
    let kind = text(&document, "type")?;
    let name = text(&document, "name")?;
    let content = content(&document)?;
    let parsed = hash(content)?;
    let content = match kind.as_str() {
        "runtime" => rewritten(parsed)?,
        _ => content.to_owned(),
    };
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

/// The content of a config to be. The Director gives it to its YAML library without a look, which reads text alone.
fn content(document: &Map<String, Value>) -> Result<&str, Rejection> {
    let class = match document.get("content") {
        Some(Value::String(text)) => return Ok(text),
        None | Some(Value::Null) => "nil",
        Some(Value::Bool(true)) => "true",
        Some(Value::Bool(false)) => "false",
        Some(Value::Number(number)) if number.is_f64() => "Float",
        Some(Value::Number(_)) => "Integer",
        Some(Value::Array(_)) => "Array",
        Some(Value::Object(_)) => "Hash",
    };
    Err(Rejection::ConfigNotText(class))
}

/// A runtime config is kept as the Director writes it, with the versions of its releases as text (cloudfoundry/bosh,
/// `api/api_helper.rb`, `ensure_release_version_is_string`).
pub(super) fn rewritten(mut content: Map<String, Value>) -> Result<String, Rejection> {
    let releases = content.get_mut("releases").and_then(Value::as_array_mut);
    for release in releases.into_iter().flatten() {
        if let Some(version @ Value::Number(_)) = release.get_mut("version") {
            *version = Value::String(version.to_string());
        }
    }
    let written = yaml::to_string(&content).map_err(|_| Rejection::Unreadable)?;
    Ok(format!("---\n{written}"))
}

fn text(document: &Map<String, Value>, key: &'static str) -> Result<String, Rejection> {
    match document.get(key) {
        None | Some(Value::Null) => Err(Rejection::ConfigParameterMissing(key)),
        Some(Value::String(text)) => present(Some(text.clone()), key),
        Some(_) => Err(Rejection::ConfigParameterNotText(key)),
    }
}

fn present(value: Option<String>, key: &'static str) -> Result<String, Rejection> {
    value
        .filter(|value| !value.is_empty())
        .ok_or(Rejection::ConfigParameterMissing(key))
}
