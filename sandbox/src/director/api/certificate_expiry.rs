//! `GET /deployments/NAME/certificate_expiry`: how long the certificates among a deployment's variables are good for.

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use x509_parser::{parse_x509_certificate, pem::parse_x509_pem};

use super::{Rejection, answer, caller::Caller, submission::deployment};
use crate::director::{Director, variables::Reference};

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// The certificates of a deployment, each with its end.
pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Rejection> {
    let (deployment, row) = deployment(&director, name.into_inner())?;
    caller.may_read(&row)?;
    let director = &director.inner;
    let now = Timestamp::now();
    let variables = row.variables.iter();
    let shown: Vec<Value> = variables
        .filter_map(|(name, id)| {
            let reference =
                Reference::parse(name, &director.settings.name, deployment.as_ref()).ok()?;
            let (_, value) = director.variables.look_up(&reference, Some(*id)).ok()?;
            let end = end_of(value.get("certificate")?.as_str()?)?;
            let left = end.as_second() - now.as_second();
            Some(json!({
                "name": name,
                "id": id,
                "expiry_date": end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                "days_left": left.div_euclid(SECONDS_PER_DAY),
            }))
        })
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// When a certificate in PEM form ends. None for what is no certificate.
fn end_of(pem: &str) -> Option<Timestamp> {
    let (_, pem) = parse_x509_pem(pem.as_bytes()).ok()?;
    let (_, certificate) = parse_x509_certificate(&pem.contents).ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}
