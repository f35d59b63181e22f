//! `/api/v2/permissions`: by path and actor. Servers before version 2 do not have it.

use std::collections::BTreeSet;

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{self, Data, Path, Query, ServiceConfig},
};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{JSON, data::required, no_method, view, with_and_without_slash};
use crate::credhub::{
    Actor, CredHub, Operation, Permission, PermissionPath, Rejection, Session, credential::Members,
    operations::Granted, rejection::PermissionRejection,
};

const PATH_LIMIT: usize = 255;
const PUNCTUATION: &str = "-_/.:,()[]+";

#[derive(Debug, Deserialize)]
pub(super) struct Parameters {
    path: Option<String>,
    actor: Option<String>,
}

pub(super) fn routes(api: &mut ServiceConfig) {
    api.service(
        web::resource(with_and_without_slash("/v2/permissions"))
            .guard(actix_web::guard::fn_guard(is_modern))
            .route(web::get().to(find))
            .route(web::post().to(grant))
            .default_service(web::to(no_method)),
    )
    .service(
        web::resource(with_and_without_slash("/v2/permissions/{id}"))
            .guard(actix_web::guard::fn_guard(is_modern))
            .route(web::put().to(replace))
            .route(web::delete().to(revoke))
            .default_service(web::to(no_method)),
    );
}

fn is_modern(context: &actix_web::guard::GuardContext<'_>) -> bool {
    context
        .app_data::<Data<CredHub>>()
        .is_some_and(|credhub| !credhub.behaviour().is_legacy())
}

async fn find(session: Session, parameters: Query<Parameters>) -> Result<HttpResponse, Rejection> {
    let Parameters { path, actor } = parameters.into_inner();
    let path = PermissionPath::from(required(path, "path")?);
    let actor = Actor::from(required(actor, "actor")?);
    Ok(view::ok(&shown(&session.find_permission(&path, &actor)?)))
}

async fn grant(session: Session, members: Members) -> Result<HttpResponse, Rejection> {
    let granted = session.grant(permission(members)?)?;
    Ok(HttpResponse::build(StatusCode::CREATED)
        .content_type(JSON)
        .json(shown(&granted)))
}

async fn replace(
    session: Session,
    id: Path<String>,
    members: Members,
) -> Result<HttpResponse, Rejection> {
    let Permission {
        path,
        actor,
        operations,
    } = permission(members)?;
    let id = permission_id(&id)?;
    let changed = session.change_permission(id, (path, actor), operations)?;
    Ok(view::ok(&shown(&changed)))
}

async fn revoke(session: Session, id: Path<String>) -> Result<HttpResponse, Rejection> {
    let revoked = session.revoke(permission_id(&id)?)?;
    Ok(view::ok(&shown(&revoked)))
}

fn permission_id(text: &str) -> Result<Uuid, Rejection> {
    Ok(text.parse().map_err(|_| PermissionRejection::Unknown)?)
}

fn permission(mut members: Members) -> Result<Permission, Rejection> {
    let (path, actor) = (members.text("path")?, members.filled_text("actor")?);
    let operations = members.take("operations");
    members.end(Rejection::UnreadableMember)?;
    let operations = self::operations(operations)?;
    let path = PermissionPath::from(path.ok_or(PermissionRejection::NoPath)?);
    check_path(path.as_str())?;
    Ok(Permission {
        path,
        actor: actor.ok_or(PermissionRejection::NoActor)?.into(),
        operations,
    })
}

fn check_path(path: &str) -> Result<(), Rejection> {
    if path == "/" {
        return Err(PermissionRejection::NoPath.into());
    }
    if path.contains("//") || path.ends_with('/') {
        return Err(PermissionRejection::PathSlash.into());
    }
    let name = path.strip_suffix("/*").unwrap_or(path);
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || PUNCTUATION.contains(letter);
    if !name.chars().all(allowed) {
        return Err(PermissionRejection::PathCharacter.into());
    }
    if path.len() > PATH_LIMIT {
        return Err(Rejection::Malformed);
    }
    Ok(())
}

/// A list of operations, of which there must be one.
pub(super) fn operations(value: Option<Value>) -> Result<BTreeSet<Operation>, Rejection> {
    let operations: BTreeSet<Operation> = match value {
        None => BTreeSet::new(),
        Some(value) => serde_json::from_value(value).map_err(|_| PermissionRejection::Operation)?,
    };
    if operations.is_empty() {
        return Err(PermissionRejection::NoOperations.into());
    }
    Ok(operations)
}

fn shown(granted: &Granted) -> Value {
    let Permission {
        path,
        actor,
        operations,
    } = &granted.permission;
    json!({"path": path, "operations": operations, "actor": actor, "uuid": granted.id})
}
