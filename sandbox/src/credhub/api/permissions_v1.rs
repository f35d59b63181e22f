//! `/api/v1/permissions`: by the name of a credential.

use actix_web::{
    HttpResponse,
    web::{self, ServiceConfig},
};
use serde_json::Value;

use super::{no_method, permissions_v2::operations, with_and_without_slash};
use crate::credhub::{
    Actor, CredentialName, Rejection, Session, credential::Members, rejection::PermissionRejection,
};

pub(super) fn routes(api: &mut ServiceConfig) {
    api.service(
        web::resource(with_and_without_slash("/v1/permissions"))
            .route(web::post().to(grant))
            .default_service(web::to(no_method)),
    );
}

async fn grant(session: Session, mut members: Members) -> Result<HttpResponse, Rejection> {
    let name = members.filled_text("credential_name")?;
    let entries = members.take("permissions");
    members.end(Rejection::UnreadableMember)?;
    let name = CredentialName::sought(&name.ok_or(Rejection::NameMissing)?);
    let entries = match entries {
        Some(Value::Array(entries)) if !entries.is_empty() => entries,
        None | Some(Value::Array(_)) => return Err(PermissionRejection::NoEntries.into()),
        Some(_) => return Err(Rejection::Malformed),
    };
    let mut granted = Vec::new();
    for entry in entries {
        let mut entry = Members::of(Some(entry))?;
        let actor = entry.filled_text("actor")?;
        // The path of an entry is the name of the credential, whatever it says.
        entry.take("path");
        let operations = operations(entry.take("operations"))?;
        entry.end(Rejection::UnreadableMember)?;
        let actor = Actor::from(actor.ok_or(PermissionRejection::NoActor)?);
        granted.push((actor, operations));
    }
    session.grant_more(&name, granted)?;
    Ok(HttpResponse::Created().finish())
}
