//! Certificates: whether they can be used, and for how long.

use std::{fs, io, path::Path};

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use odb_platform::http::Trust;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use super::Findings;
use crate::{
    api::{CertificateError, load_tls},
    config::{CertificateText, Inspection, TlsFiles},
    telemetry::Chain,
};

/// From so many days before its end on a certificate is remarked on.
const DAYS_AHEAD: i32 = 30;

const CERTIFICATE_KEY: &str = "broker.tls.cert_file";
const KEY_KEY: &str = "broker.tls.key_file";

/// Checks every trust root of the file.
pub(super) fn check_roots(inspection: &Inspection, now: Timestamp, findings: &mut Findings) {
    for CertificateText { key, pem } in &inspection.certificates {
        if let Err(error) = Trust::only(pem) {
            let text = format!(
                "holds no usable certificate: {}; give one or more in PEM form, or leave it out",
                Chain(&error)
            );
            findings.faults.push(inspection.problem(key, text));
            continue;
        }
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()).flatten() {
            let text = match expiry(&certificate).map(|end| Remaining::of(end, now)) {
                Some(Remaining::None { since }) => {
                    format!(
                        "holds a certificate that expired on {since}; give the one that came after it"
                    )
                }
                Some(Remaining::Little { until }) => {
                    format!("holds a certificate that expires on {until}; renew it in time")
                }
                Some(Remaining::Enough) | None => continue,
            };
            findings.remarks.push(inspection.problem(key, text));
        }
    }
}

/// Checks the broker's own certificate and key: each by itself, so that neither hides the other, then together.
pub(super) fn check_own(inspection: &Inspection, now: Timestamp, findings: &mut Findings) {
    let Some(files) = &inspection.tls else { return };
    let chain = own_chain(&files.certificate);
    let key = own_key(&files.key);
    let mut refuse = |key, text| findings.faults.push(inspection.problem(key, text));
    if let Err(text) = &key {
        refuse(KEY_KEY, text.clone());
    }
    let (own, others) = match chain {
        Ok(ends) => ends,
        Err(text) => return refuse(CERTIFICATE_KEY, text),
    };
    match Remaining::of(own, now) {
        Remaining::None { since } => {
            let file = files.certificate.display();
            let text = format!("is `{file}`, whose certificate expired on {since}; renew it");
            refuse(CERTIFICATE_KEY, text);
        }
        remaining => {
            if let (Ok(()), Some(text)) = (key, of_no_use_together(files)) {
                refuse(KEY_KEY, text);
            }
            let mut remark = |text| {
                findings
                    .remarks
                    .push(inspection.problem(CERTIFICATE_KEY, text));
            };
            let file = files.certificate.display();
            if let Remaining::Little { until } = remaining {
                remark(format!(
                    "is `{file}`, whose certificate expires on {until}; renew it in time"
                ));
            }
            // What else is in the file may be more than clients need.
            match others.into_iter().min().map(|end| Remaining::of(end, now)) {
                Some(Remaining::None { since: day } | Remaining::Little { until: day }) => {
                    remark(format!(
                        "is `{file}`, in whose chain the time of a certificate is over on {day}; renew the chain"
                    ));
                }
                Some(Remaining::Enough) | None => {}
            }
        }
    }
}

/// When the certificates of a file end: the first, which is the broker's own, and the others.
fn own_chain(file: &Path) -> Result<(Timestamp, Vec<Timestamp>), String> {
    let pem = read(file)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let ends: Option<Vec<_>> = chain
        .ok()
        .and_then(|chain| chain.iter().map(expiry).collect());
    let split = ends.and_then(|ends| Some((*ends.first()?, ends.get(1..)?.to_vec())));
    split.ok_or_else(|| {
        let file = file.display();
        format!("is `{file}`, which holds no certificate in PEM form; give the broker's certificate chain")
    })
}

fn own_key(file: &Path) -> Result<(), String> {
    let pem = read(file)?;
    match PrivateKeyDer::from_pem_slice(&pem) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "is `{}`, which holds no private key in PEM form; give that of the broker's certificate",
            file.display()
        )),
    }
}

fn of_no_use_together(files: &TlsFiles) -> Option<String> {
    match load_tls(files) {
        Ok(_) => None,
        Err(error @ CertificateError::Unusable { .. }) => Some(format!(
            "is a key that does not go with the certificate: {}; give that of the broker's certificate",
            Chain(&error)
        )),
        Err(error) => Some(format!(
            "cannot be used: {}; check `broker.tls`",
            Chain(&error)
        )),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| {
        let file = file.display();
        match error.kind() {
            io::ErrorKind::NotFound => format!("is `{file}`, which does not exist; give a PEM file"),
            _ => format!(
                "is `{file}`, which cannot be read: {error}; give a PEM file that the broker's user may read"
            ),
        }
    })
}

fn expiry(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

/// What is left of a certificate's time. Days are those of UTC.
enum Remaining {
    None { since: jiff::civil::Date },
    Little { until: jiff::civil::Date },
    Enough,
}

impl Remaining {
    fn of(end: Timestamp, now: Timestamp) -> Self {
        let day = end.to_zoned(TimeZone::UTC).date();
        if end < now {
            Self::None { since: day }
        } else if end < now.saturating_add((DAYS_AHEAD * 24).hours()).unwrap_or(now) {
            Self::Little { until: day }
        } else {
            Self::Enough
        }
    }
}

#[cfg(test)]
mod tests;
