//! How answers look. The order of members is a real server's.

use actix_web::HttpResponse;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::JSON;
use crate::credhub::{
    certificate::ReadCertificate,
    credential::{CertificateSecret, Origin},
    operations::Stored,
};

/// Why a certificate is shown: the answer to its generation includes its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    Made,
    Read,
}

/// 200 with a body.
pub(super) fn ok(body: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok().content_type(JSON).json(body)
}

pub(super) fn credential(stored: &Stored, occasion: Occasion) -> Value {
    let version = &stored.version;
    let mut shown = Map::new();
    let mut show = |name: &str, value: Value| shown.insert(name.to_owned(), value);
    show("type", json!(version.secret.kind().name()));
    if let Some(certificate) = version.secret.as_certificate() {
        let facts = Facts::of(certificate);
        show("expiry_date", json!(facts.expiry_date));
        show("certificate_authority", json!(facts.is_ca));
        show("self_signed", json!(facts.self_signed));
        show("generated", json!(facts.generated));
        if occasion == Occasion::Made {
            show("duration_overridden", json!(false));
            show("duration_used", json!(facts.days));
        }
        show("transitional", json!(false));
    }
    show("version_created_at", json!(seconds(version.created_at)));
    show("id", json!(stored.id));
    show("name", json!(version.name));
    show("metadata", json!(version.metadata));
    show("value", version.secret.shown());
    Value::Object(shown)
}

pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

struct Facts {
    expiry_date: Option<String>,
    is_ca: bool,
    self_signed: bool,
    generated: bool,
    days: u32,
}

impl Facts {
    fn of(certificate: &CertificateSecret) -> Self {
        let read = ReadCertificate::read(&certificate.certificate);
        let parameters = read.as_ref().map(|read| &read.parameters);
        Self {
            expiry_date: read.as_ref().map(|read| seconds(read.not_after)),
            is_ca: parameters.is_some_and(|parameters| parameters.is_ca),
            self_signed: parameters.is_some_and(|parameters| parameters.self_signed),
            generated: certificate.origin == Origin::Generated,
            days: parameters.map_or(0, |parameters| parameters.days),
        }
    }
}
