//! `GET /info`: the Director's description. Public; for an authenticated caller it includes the user.
//!
//! `GET /deployments/NAME/certificate_expiry`: how long the certificates among a deployment's variables are good for.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use x509_parser::{parse_x509_certificate, pem::parse_x509_pem};

use super::{Rejection, answer, caller::Caller, submission::deployment};
use crate::director::{ConfigServer, Director, UserManagement, variables::Reference};

/// The version whose behaviour this Director has.
const VERSION: &str = "277.3.0 (3604d808)";

pub(super) async fn info(request: HttpRequest, director: Data<Director>) -> HttpResponse {
    let settings = &director.inner.settings;
    let user = Caller::of(&request).ok().map(|caller| caller.user);
    answer::open_json(&json!({
        "name": settings.name,
        "uuid": settings.uuid,
        "version": VERSION,
        "user": user,
        "cpi": "process_cpi",
        "stemcell_os": "-",
        "stemcell_version": "-",
        "user_authentication": match settings.user_management {
            UserManagement::Local(_) => json!({"type": "basic", "options": {}}),
            UserManagement::Uaa => json!({
                "type": "uaa",
                "options": {"url": settings.uaa_url, "urls": [settings.uaa_url]},
            }),
        },
        "features": {
            "local_dns": {"status": settings.local_dns, "extras": {"domain_name": "bosh"}},
            "power_dns": {"status": false, "extras": {"domain_name": "bosh"}},
            "snapshots": {"status": false},
            "config_server": config_server(&settings.config_server),
        },
    }))
}

fn config_server(server: &ConfigServer) -> Value {
    match server {
        ConfigServer::Off => json!({"status": false, "extras": {"urls": []}}),
        ConfigServer::CredHub { url, .. } => json!({"status": true, "extras": {"urls": [url]}}),
    }
}

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
