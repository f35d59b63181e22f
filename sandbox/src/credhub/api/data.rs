//! `/api/v1/data`: get, find, delete.

use actix_web::{
    HttpResponse,
    web::{Path, Query},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::view::{self, Occasion};
use crate::credhub::{
    CredentialName, Rejection, Session,
    operations::{Names, Versions},
    vault::Found,
};

#[derive(Debug, Deserialize)]
pub(super) struct Parameters {
    name: Option<String>,
    path: Option<String>,
    #[serde(rename = "name-like")]
    name_like: Option<String>,
    versions: Option<String>,
    current: Option<String>,
}

pub(super) async fn get_or_find(
    session: Session,
    parameters: Query<Parameters>,
) -> Result<HttpResponse, Rejection> {
    let Parameters {
        name,
        path,
        name_like,
        versions,
        current,
    } = parameters.into_inner();
    let names = match (path, name_like) {
        (Some(path), _) => Some(Names::Below(path)),
        (None, Some(text)) => Some(Names::Containing(text)),
        (None, None) => None,
    };
    if let Some(names) = names {
        let found = session.find(&names);
        let shown: Vec<Value> = found.iter().map(found_name).collect();
        return Ok(view::ok(&json!({"credentials": shown})));
    }
    let name = required(name, "name")?;
    let versions = wanted(versions.as_deref(), current.as_deref())?;
    let found = session.get(&CredentialName::sought(&name), versions)?;
    let shown: Vec<Value> = found
        .iter()
        .map(|stored| view::credential(stored, Occasion::Read))
        .collect();
    Ok(view::ok(&json!({"data": shown})))
}

pub(super) async fn version(session: Session, id: Path<String>) -> Result<HttpResponse, Rejection> {
    let id = id.parse().map_err(|_| Rejection::NoSuchCredential)?;
    let stored = session.version(id)?;
    Ok(view::ok(&view::credential(&stored, Occasion::Read)))
}

pub(super) async fn delete(
    session: Session,
    parameters: Query<Parameters>,
) -> Result<HttpResponse, Rejection> {
    let name = required(parameters.into_inner().name, "name")?;
    session.delete(&CredentialName::sought(&name))?;
    Ok(HttpResponse::NoContent().finish())
}

/// A parameter that must be there, and not empty.
pub(super) fn required(value: Option<String>, name: &'static str) -> Result<String, Rejection> {
    value
        .filter(|value| !value.is_empty())
        .ok_or(Rejection::QueryParameterMissing(name))
}

fn wanted(versions: Option<&str>, current: Option<&str>) -> Result<Versions, Rejection> {
    match (versions, current) {
        (Some(_), Some("true")) => Err(Rejection::VersionsAndCurrent),
        (None, Some("true")) => Ok(Versions::Newest(1)),
        (Some(count), _) => {
            let count = count.parse();
            count
                .map(Versions::Newest)
                .map_err(|_| Rejection::QueryParameterInvalid("versions"))
        }
        (None, _) => Ok(Versions::All),
    }
}

fn found_name(found: &Found) -> Value {
    json!({
        "version_created_at": view::seconds(found.created_at),
        "name": found.name,
    })
}
