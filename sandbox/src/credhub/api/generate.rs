//! `POST /api/v1/data` and `/api/v1/regenerate`: generate and regenerate.

use actix_web::{HttpResponse, web::Bytes};
use serde_json::{Value, json};

use super::view::{self, Occasion};
use crate::credhub::{
    CredentialName, Mode, Rejection, Session, generate::recipe, members::Members,
    operations::Generation,
};

pub(super) async fn generate(session: Session, body: Bytes) -> Result<HttpResponse, Rejection> {
    let mut members = Members::read(&body)?;
    if members.flag("regenerate")? == Some(true) {
        return regenerated(session, members).await;
    }
    let name = members.text("name")?.unwrap_or_default();
    let kind = members.text("type")?.unwrap_or_default();
    let (parameters, value) = (members.take("parameters"), members.take("value"));
    let metadata = members.take("metadata");
    let mode = mode(&mut members)?;
    let name = CredentialName::parse(&name)?;
    let recipe = recipe(&kind, parameters, value)?;
    members.end()?;
    let stored = session
        .generate(Generation {
            name,
            recipe,
            mode,
            metadata,
        })
        .await?;
    Ok(view::ok(&view::credential(&stored, Occasion::Made)))
}

pub(super) async fn regenerate(session: Session, body: Bytes) -> Result<HttpResponse, Rejection> {
    regenerated(session, Members::read(&body)?).await
}

async fn regenerated(session: Session, mut members: Members) -> Result<HttpResponse, Rejection> {
    let name = members.filled_text("name")?.ok_or(Rejection::NameMissing)?;
    let metadata = members.take("metadata");
    members.end()?;
    let name = CredentialName::sought(&name);
    let stored = session.regenerate(&name, metadata).await?;
    Ok(view::ok(&view::credential(&stored, Occasion::Made)))
}

pub(super) async fn bulk_regenerate(
    session: Session,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    let mut members = Members::read(&body)?;
    let authority = members.filled_text("signed_by")?;
    members.end()?;
    let authority = authority.ok_or(Rejection::SignedByMissing)?;
    let authority = CredentialName::sought(&authority);
    let regenerated = session.regenerate_signed_by(&authority).await?;
    Ok(view::ok(&json!({"regenerated_credentials": regenerated})))
}

fn mode(members: &mut Members) -> Result<Mode, Rejection> {
    let (mode, overwrite) = (members.text("mode")?, members.flag("overwrite")?);
    match (mode, overwrite) {
        (Some(_), Some(_)) => Err(Rejection::ModeAndOverwrite),
        (Some(mode), None) => {
            serde_json::from_value(Value::String(mode)).map_err(|_| Rejection::Mode)
        }
        (None, Some(true)) => Ok(Mode::Overwrite),
        (None, Some(false)) => Ok(Mode::NoOverwrite),
        (None, None) => Ok(Mode::Converge),
    }
}
