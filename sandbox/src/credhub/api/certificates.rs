//! `/api/v1/certificates`: which certificates there are.

use actix_web::{
    HttpResponse,
    web::{self, Query, ServiceConfig},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{resource, view};
use crate::credhub::{CredentialName, Rejection, Session, operations::CertificateSummary};

#[derive(Debug, Deserialize)]
pub(super) struct Parameters {
    name: Option<String>,
}

pub(super) fn routes(api: &mut ServiceConfig) {
    api.service(resource("/v1/certificates", web::get().to(list)));
}

async fn list(session: Session, parameters: Query<Parameters>) -> Result<HttpResponse, Rejection> {
    let found = match &parameters.name {
        None => session.certificates(),
        Some(name) => vec![session.certificate(&CredentialName::sought(name))?],
    };
    let shown: Vec<Value> = found.iter().map(summary).collect();
    Ok(view::ok(&json!({"certificates": shown})))
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
