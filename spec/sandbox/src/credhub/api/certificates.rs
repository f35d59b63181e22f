//! `/api/v1/certificates`: certificates by id, and their versions.

use actix_web::{
    HttpResponse,
    web::{self, Bytes, Path, Query, ServiceConfig},
};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    resource, set,
    view::{self, Occasion},
    with_and_without_slash,
};
use crate::credhub::{
    CredentialName, Refusal, Session,
    members::Members,
    operations::{CertificateSummary, Stored, Transitional},
};

#[derive(Debug, Deserialize)]
pub(super) struct Parameters {
    name: Option<String>,
    current: Option<String>,
}

pub(super) fn routes(api: &mut ServiceConfig) {
    api.service(resource("/v1/certificates", web::get().to(list)))
        .service(
            web::resource(with_and_without_slash("/v1/certificates/{id}/versions"))
                .route(web::get().to(versions))
                .route(web::post().to(add_version))
                .default_service(web::to(super::no_method)),
        )
        .service(resource(
            "/v1/certificates/{id}/versions/{version}",
            web::delete().to(delete_version),
        ))
        .service(resource(
            "/v1/certificates/{id}/regenerate",
            web::post().to(regenerate),
        ))
        .service(resource(
            "/v1/certificates/{id}/update_transitional_version",
            web::put().to(update_transitional),
        ));
}

async fn list(session: Session, parameters: Query<Parameters>) -> Result<HttpResponse, Refusal> {
    let found = match &parameters.name {
        None => session.certificates(),
        Some(name) => vec![session.certificate(&CredentialName::sought(name))?],
    };
    let shown: Vec<Value> = found.iter().map(summary).collect();
    Ok(view::ok(&json!({"certificates": shown})))
}

async fn versions(
    session: Session,
    id: Path<String>,
    parameters: Query<Parameters>,
) -> Result<HttpResponse, Refusal> {
    let id = credential_id(&id)?;
    let found = match parameters.current.as_deref() {
        Some("true") => session.current_certificates(id)?,
        _ => session.certificate_versions(id)?,
    };
    Ok(view::ok(&shown(&found)))
}

async fn add_version(
    session: Session,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, Refusal> {
    let mut members = Members::read(&body)?;
    let value = members.take("value").ok_or(Refusal::ValueMissing)?;
    let transitional = members.flag("transitional")?.unwrap_or(false);
    members.end()?;
    let mut certificate = set::certificate(value)?;
    certificate.transitional = transitional;
    let stored = session.add_certificate_version(credential_id(&id)?, certificate)?;
    Ok(view::ok(&view::credential(&stored, Occasion::Read)))
}

async fn delete_version(
    session: Session,
    ids: Path<(String, String)>,
) -> Result<HttpResponse, Refusal> {
    let (id, version) = ids.into_inner();
    let gone = session.delete_certificate_version(credential_id(&id)?, credential_id(&version)?)?;
    Ok(view::ok(&view::credential(&gone, Occasion::Read)))
}

async fn regenerate(
    session: Session,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, Refusal> {
    let mut members = if body.is_empty() {
        Members::of(None)?
    } else {
        Members::read(&body)?
    };
    let transitional = members.flag("set_as_transitional")?.unwrap_or(false);
    members.end()?;
    let made = session.regenerate_certificate(credential_id(&id)?, transitional);
    Ok(view::ok(&view::credential(&made.await?, Occasion::Made)))
}

async fn update_transitional(
    session: Session,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, Refusal> {
    let mut members = Members::read(&body)?;
    let version = members.text("version")?;
    members.end()?;
    let transitional = match version.as_deref() {
        None => Transitional::None,
        Some("latest") => Transitional::Latest,
        Some(version) => Transitional::Version(credential_id(version)?),
    };
    let current = session.update_transitional(credential_id(&id)?, transitional)?;
    Ok(view::ok(&shown(&current)))
}

fn credential_id(text: &str) -> Result<Uuid, Refusal> {
    text.parse().map_err(|_| Refusal::NoSuchCredential)
}

fn shown(versions: &[Stored]) -> Vec<Value> {
    versions
        .iter()
        .map(|stored| view::credential(stored, Occasion::Read))
        .collect()
}

fn summary(certificate: &CertificateSummary) -> Value {
    let versions: Vec<Value> = certificate
        .versions
        .iter()
        .filter_map(view::certificate_version)
        .collect();
    let signed_by = certificate.signed_by.as_ref();
    json!({
        "name": certificate.name,
        "id": certificate.id,
        "versions": versions,
        "signed_by": signed_by.map_or("", CredentialName::as_str),
        "signs": certificate.signs,
    })
}
