//! `PUT /api/v1/data`: set.
//!
//! `POST /api/v1/data` and `/api/v1/regenerate`: generate and regenerate.

use actix_web::{HttpResponse, web::Data};
use serde_json::Value;

use super::view::{self, Occasion};
use crate::credhub::{
    CredHub, CredentialName, Mode, Rejection, Session,
    credential::{CredentialType, Members, Secret},
    generate::recipe,
    operations::{Generation, IfPresent, Setting},
};

pub(super) async fn set(
    session: Session,
    credhub: Data<CredHub>,
    mut members: Members,
) -> Result<HttpResponse, Rejection> {
    let kind = members.text("type").map_err(|_| Rejection::TypeForSet)?;
    let kind = kind.as_deref().and_then(CredentialType::named);
    let kind = kind.ok_or(Rejection::TypeForSet)?;
    let name = members.text("name")?.unwrap_or_default();
    let value = members.take("value");
    let metadata = members.take("metadata");
    let if_present = if credhub.behaviour().is_legacy() {
        legacy_mode(&mut members)?
    } else {
        IfPresent::Replace
    };
    members.end(Rejection::UnreadableMember)?;
    let stored = session.set(Setting {
        name: CredentialName::parse(&name)?,
        secret: secret(kind, value.ok_or(Rejection::ValueMissing)?)?,
        metadata,
        if_present,
    })?;
    Ok(view::ok(&view::credential(&stored, Occasion::Read)))
}

/// The mode that servers before version 2 received for an existing value.
fn legacy_mode(members: &mut Members) -> Result<IfPresent, Rejection> {
    // Rights for others, which came with the request in those days.
    members.take("additional_permissions");
    let (mode, overwrite) = (members.text("mode")?, members.flag("overwrite")?);
    Ok(match (mode.as_deref(), overwrite) {
        (Some(_), Some(_)) => return Err(Rejection::ModeAndOverwrite),
        (Some("overwrite"), None) | (None, Some(true)) => IfPresent::Replace,
        (Some("no-overwrite" | "converge") | None, _) => IfPresent::Keep,
        (Some(_), None) => return Err(Rejection::Mode),
    })
}

fn secret(kind: CredentialType, value: Value) -> Result<Secret, Rejection> {
    match kind {
        CredentialType::Value => Ok(Secret::Value {
            value: text(value, Rejection::ValueMissing)?,
        }),
        CredentialType::Password => Ok(Secret::Password {
            password: text(value, Rejection::PasswordMissing)?,
            parameters: None,
        }),
        CredentialType::Json => Ok(Secret::Json { value }),
        // These are only generated here.
        CredentialType::User
        | CredentialType::Certificate
        | CredentialType::Ssh
        | CredentialType::Rsa => Err(Rejection::TypeForSet),
    }
}

fn text(value: Value, missing: Rejection) -> Result<String, Rejection> {
    match value {
        Value::String(text) if text.is_empty() => Err(missing),
        Value::String(text) => Ok(text),
        _ => Err(Rejection::Malformed),
    }
}

pub(super) async fn generate(
    session: Session,
    mut members: Members,
) -> Result<HttpResponse, Rejection> {
    if members.flag("regenerate")? == Some(true) {
        return regenerate(session, members).await;
    }
    let name = members.text("name")?.unwrap_or_default();
    let kind = members.text("type")?.unwrap_or_default();
    let (parameters, value) = (members.take("parameters"), members.take("value"));
    let metadata = members.take("metadata");
    let mode = mode(&mut members)?;
    let name = CredentialName::parse(&name)?;
    let recipe = recipe(&kind, parameters, value)?;
    members.end(Rejection::UnknownMember)?;
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

pub(super) async fn regenerate(
    session: Session,
    mut members: Members,
) -> Result<HttpResponse, Rejection> {
    let name = members.filled_text("name")?.ok_or(Rejection::NameMissing)?;
    let metadata = members.take("metadata");
    members.end(Rejection::UnknownMember)?;
    let name = CredentialName::sought(&name);
    let stored = session.regenerate(&name, metadata).await?;
    Ok(view::ok(&view::credential(&stored, Occasion::Made)))
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
