//! Certificates: whether they can be used, and for how long.

use std::{fs, io, path::Path};

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use odb_api_types::code::Code;
use odb_clients::http::Trust;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use crate::{
    api::{CertificateError, load_tls},
    config::{CertificateText, Inspection, Message, TlsFiles},
    preflight::check::Findings,
    telemetry::Chain,
};

/// From so many days before its end on a certificate is remarked on.
const DAYS_AHEAD: i32 = 30;

const CERTIFICATE_KEY: &str = "broker.tls.cert_file";
const KEY_KEY: &str = "broker.tls.key_file";

/// Checks every trust root of the file.
pub(crate) fn check_roots(inspection: &Inspection, now: Timestamp, findings: &mut Findings) {
    for CertificateText { key, pem } in &inspection.certificates {
        if let Err(error) = Trust::only(pem) {
            let text = (
                format!("holds no usable certificate: {}", Chain(&error)),
                "give one or more in PEM form, or leave it out",
            );
            findings.faults.push(inspection.problem(key, text));
            continue;
        }
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()).flatten() {
            let text = match time(&certificate).map(|time| Remaining::of(time.end, now)) {
                Some(Remaining::None { since }) => (
                    format!("holds a certificate that expired on {since}"),
                    "give the one that came after it",
                ),
                Some(Remaining::Little { until }) => (
                    format!("holds a certificate that expires on {until}"),
                    "renew it in time",
                ),
                Some(Remaining::Enough) | None => continue,
            };
            findings.remarks.push(inspection.problem(key, text));
        }
    }
}

/// Checks the broker's own certificate and key: each by itself, so that neither hides the other, then together.
pub(crate) fn check_own(inspection: &Inspection, now: Timestamp, findings: &mut Findings) {
    let Some(files) = &inspection.tls else { return };
    let chain = own_chain(&files.certificate);
    let key = own_key(&files.key);
    let mut refuse = |key, text: Message| {
        let problem = inspection.problem(key, text).with_code(Code::Certificate);
        findings.faults.push(problem);
    };
    if let Err(text) = &key {
        refuse(KEY_KEY, text.clone());
    }
    let (own, others) = match chain {
        Ok(times) => times,
        Err(text) => return refuse(CERTIFICATE_KEY, text),
    };
    if now < own.begin {
        let (file, day) = (files.certificate.display(), day(own.begin));
        let text = (
            format!("is `{file}`, whose certificate begins on {day}, which is in the future"),
            "set the clock of this machine if it is slow, else give a certificate that is good by now",
        );
        return refuse(CERTIFICATE_KEY, text.into());
    }
    match Remaining::of(own.end, now) {
        Remaining::None { since } => {
            let file = files.certificate.display();
            let text = (
                format!("is `{file}`, whose certificate expired on {since}"),
                "renew it (BOSH: `tls.certificate` of the job, then deploy)",
            );
            refuse(CERTIFICATE_KEY, text.into());
        }
        remaining => {
            if let (Ok(()), Some(text)) = (key, of_no_use_together(files)) {
                refuse(KEY_KEY, text);
            }
            let mut remark = |text| {
                let problem = inspection.problem(CERTIFICATE_KEY, text);
                findings
                    .remarks
                    .push(problem.with_code(Code::CertificateExpiry));
            };
            let file = files.certificate.display();
            if let Remaining::Little { until } = remaining {
                remark((
                    format!("is `{file}`, whose certificate expires on {until}"),
                    "renew it in time",
                ));
            }
            // What else is in the file may be more than clients need.
            match others
                .iter()
                .map(|other| other.end)
                .min()
                .map(|end| Remaining::of(end, now))
            {
                Some(Remaining::None { since: day } | Remaining::Little { until: day }) => {
                    remark((
                        format!(
                            "is `{file}`, in whose chain the time of a certificate is over on {day}"
                        ),
                        "renew the chain",
                    ));
                }
                Some(Remaining::Enough) | None => {}
            }
        }
    }
}

/// From when until when a certificate is good.
#[derive(Clone, Copy)]
struct Time {
    begin: Timestamp,
    end: Timestamp,
}

/// When the certificates of a file are good: the first, which is the broker's own, and the others.
fn own_chain(file: &Path) -> Result<(Time, Vec<Time>), Message> {
    let pem = read(file)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let times: Option<Vec<_>> = chain
        .ok()
        .and_then(|chain| chain.iter().map(time).collect());
    let split = times.and_then(|times| Some((*times.first()?, times.get(1..)?.to_vec())));
    split.ok_or_else(|| {
        let file = file.display();
        let wrong = format!("is `{file}`, which holds no certificate in PEM form");
        (wrong, "give the broker's certificate chain").into()
    })
}

fn own_key(file: &Path) -> Result<(), Message> {
    let pem = read(file)?;
    match PrivateKeyDer::from_pem_slice(&pem) {
        Ok(_) => Ok(()),
        Err(_) => Err((
            format!(
                "is `{}`, which holds no private key in PEM form",
                file.display()
            ),
            "give that of the broker's certificate",
        )
            .into()),
    }
}

fn of_no_use_together(files: &TlsFiles) -> Option<Message> {
    match load_tls(files) {
        // When it is good has been looked at.
        Ok(_) | Err(CertificateError::NotYetValid { .. } | CertificateError::Expired { .. }) => {
            None
        }
        Err(error @ CertificateError::Unusable { .. }) => Some(
            (
                format!(
                    "is a key that does not go with the certificate: {}",
                    Chain(&error)
                ),
                "give that of the broker's certificate",
            )
                .into(),
        ),
        Err(error) => Some(
            (
                format!("cannot be used: {}", Chain(&error)),
                "check `broker.tls`",
            )
                .into(),
        ),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Message> {
    fs::read(file).map_err(|error| {
        let file = file.display();
        let message = match error.kind() {
            io::ErrorKind::NotFound => (
                format!("is `{file}`, which does not exist"),
                "give a PEM file",
            ),
            _ => (
                format!("is `{file}`, which cannot be read: {error}"),
                "give a PEM file that the broker's user may read",
            ),
        };
        message.into()
    })
}

fn time(certificate: &CertificateDer<'_>) -> Option<Time> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let validity = certificate.validity();
    Some(Time {
        begin: Timestamp::from_second(validity.not_before.timestamp()).ok()?,
        end: Timestamp::from_second(validity.not_after.timestamp()).ok()?,
    })
}

/// The day, in UTC.
fn day(time: Timestamp) -> jiff::civil::Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// What is left of a certificate's time. Days are those of UTC.
enum Remaining {
    None { since: jiff::civil::Date },
    Little { until: jiff::civil::Date },
    Enough,
}

impl Remaining {
    fn of(end: Timestamp, now: Timestamp) -> Self {
        let day = day(end);
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
