//! Certificates of a configuration: whether they can be used, and for how long.

use std::{fs, io, path::Path};

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_clients::http::Trust;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use super::{day, days_left};

use crate::{
    api::{CertificateError, load_tls},
    config::{CertificateText, Inspection, TlsFiles},
    finding::Finding,
    telemetry::Chain,
};

const CERTIFICATE_KEY: &str = "broker.tls.cert_file";
const KEY_KEY: &str = "broker.tls.key_file";

/// What is wrong, and the remedy.
type Wrong = (String, &'static str);

/// Looks at every trust root of the file.
pub(crate) fn of_roots(inspection: &Inspection, now: Timestamp) -> Vec<Finding> {
    let mut findings = Vec::new();
    for CertificateText { key, pem } in &inspection.certificates {
        let finding =
            |found, remedy| Finding::fault(Code::ConfigurationInvalid, key.clone(), found, remedy);
        if let Err(error) = Trust::only(pem) {
            let found = format!("holds no usable certificate: {}", Chain(&error));
            findings.push(finding(
                found,
                "give one or more in PEM form, or leave it out",
            ));
            continue;
        }
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).flatten();
        for (_, end) in certificates.filter_map(|certificate| validity(&certificate)) {
            let (found, remedy) = match days_left(end, now) {
                Some(..0) => ("expired", "give the one that came after it"),
                Some(_) => ("expires", "renew it in time"),
                None => continue,
            };
            let found = format!("holds a certificate that {found} on {}", day(end));
            findings.push(finding(found, remedy).warning());
        }
    }
    findings
}

/// Looks at the broker's own certificate and key: each by itself, so that neither hides the other, then together.
pub(crate) fn of_own(files: &TlsFiles, now: Timestamp) -> Vec<Finding> {
    let file = files.certificate.display();
    let fault = |key, (found, remedy): Wrong| Finding::fault(Code::Certificate, key, found, remedy);
    let warning = |found, remedy| {
        Finding::fault(Code::CertificateExpiry, CERTIFICATE_KEY, found, remedy).warning()
    };
    let key = unusable_key(&files.key);
    let is_key_usable = key.is_none();
    let mut findings: Vec<Finding> = key.map(|wrong| fault(KEY_KEY, wrong)).into_iter().collect();
    let (begin, end, others) = match own_chain(&files.certificate) {
        Ok(times) => times,
        Err(wrong) => {
            findings.push(fault(CERTIFICATE_KEY, wrong));
            return findings;
        }
    };
    let days = days_left(end, now);
    if now < begin {
        let begins = day(begin);
        let wrong = (
            format!("is `{file}`, whose certificate begins on {begins}, which is in the future"),
            "set the clock of this machine if it is slow, else give a certificate that is good by now",
        );
        findings.push(fault(CERTIFICATE_KEY, wrong));
        return findings;
    }
    if days.is_some_and(|days| days < 0) {
        let wrong = (
            format!("is `{file}`, whose certificate expired on {}", day(end)),
            "renew it (BOSH: `tls.certificate` of the job, then deploy)",
        );
        findings.push(fault(CERTIFICATE_KEY, wrong));
        return findings;
    }
    if is_key_usable && let Some(wrong) = of_no_use_together(files) {
        findings.push(fault(KEY_KEY, wrong));
    }
    if days.is_some() {
        let found = format!("is `{file}`, whose certificate expires on {}", day(end));
        findings.push(warning(found, "renew it in time"));
    }
    // What else is in the file may be more than clients need.
    if let Some(end) = others.filter(|end| days_left(*end, now).is_some()) {
        let day = day(end);
        let found =
            format!("is `{file}`, in whose chain the time of a certificate is over on {day}");
        findings.push(warning(found, "renew the chain"));
    }
    findings
}

/// When the first certificate of a file begins and ends, which is the broker's own, and when the first of the others ends.
fn own_chain(file: &Path) -> Result<(Timestamp, Timestamp, Option<Timestamp>), Wrong> {
    let pem = read(file)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let times: Option<Vec<_>> = chain
        .ok()
        .and_then(|chain| chain.iter().map(validity).collect());
    let Some([(begin, end), others @ ..]) = times.as_deref() else {
        let file = file.display();
        let wrong = format!("is `{file}`, which holds no certificate in PEM form");
        return Err((wrong, "give the broker's certificate chain"));
    };
    let first_of_others = others.iter().map(|(_, end)| *end).min();
    Ok((*begin, *end, first_of_others))
}

fn unusable_key(file: &Path) -> Option<Wrong> {
    match read(file).map(|pem| PrivateKeyDer::from_pem_slice(&pem)) {
        Ok(Ok(_)) => None,
        Ok(Err(_)) => {
            let file = file.display();
            let wrong = format!("is `{file}`, which holds no private key in PEM form");
            Some((wrong, "give that of the broker's certificate"))
        }
        Err(wrong) => Some(wrong),
    }
}

fn of_no_use_together(files: &TlsFiles) -> Option<Wrong> {
    let error = load_tls(files).err()?;
    let cause = Chain(&error);
    match &error {
        // When it is good has been looked at.
        CertificateError::NotYetValid { .. } | CertificateError::Expired { .. } => None,
        CertificateError::Unusable { .. } => Some((
            format!("is a key that does not go with the certificate: {cause}"),
            "give that of the broker's certificate",
        )),
        _ => Some((format!("cannot be used: {cause}"), "check `broker.tls`")),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Wrong> {
    fs::read(file).map_err(|error| {
        let file = file.display();
        match error.kind() {
            io::ErrorKind::NotFound => (
                format!("is `{file}`, which does not exist"),
                "give a PEM file",
            ),
            _ => (
                format!("is `{file}`, which cannot be read: {error}"),
                "give a PEM file that the broker's user may read",
            ),
        }
    })
}

/// From when until when a certificate is good.
fn validity(certificate: &CertificateDer<'_>) -> Option<(Timestamp, Timestamp)> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let validity = certificate.validity();
    Some((
        Timestamp::from_second(validity.not_before.timestamp()).ok()?,
        Timestamp::from_second(validity.not_after.timestamp()).ok()?,
    ))
}

#[cfg(test)]
mod tests;
