//! Certificates of a configuration: whether they can be used, and for how long.

use std::{io, path::Path};

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_clients::http::Trust;
use odb_config::{CertificateText, Inspection, TlsFiles};
use odb_core::finding::Finding;
use odb_redaction::Chain;
use rustls_pki_types::{CertificateDer, pem::PemObject};

use super::{day, days_left, own::first_to_expire};
use crate::api::{CertificateError, OwnCertificate, load_tls, read_chain, read_key};

const CERTIFICATE_KEY: &str = "broker.tls.cert_file";
const KEY_KEY: &str = "broker.tls.key_file";

/// The error and the remedy.
type Wrong = (String, &'static str);

/// Checks every trust root of the file.
pub(crate) fn of_roots(inspection: &Inspection, now: Timestamp) -> Vec<Finding> {
    let mut findings = Vec::new();
    for CertificateText { key, pem } in &inspection.certificates {
        let finding =
            |found, remedy| Finding::error(Code::ConfigurationInvalid, key.clone(), found, remedy);
        if let Err(error) = Trust::only(pem) {
            let found = format!("has no usable certificate: {}", Chain(&error));
            findings.push(finding(
                found,
                "give one or more in PEM form, or leave it out",
            ));
            continue;
        }
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).flatten();
        for known in certificates.filter_map(|certificate| OwnCertificate::of(&certificate)) {
            let end = known.not_after;
            let (found, remedy) = match days_left(end, now) {
                Some(..0) => ("expired", "give the one that came after it"),
                Some(_) => ("expires", "renew it in time"),
                None => continue,
            };
            let found = format!("has a certificate that {found} on {}", day(end));
            findings.push(finding(found, remedy).warning());
        }
    }
    findings
}

/// Checks the broker's own certificate and key: each on its own, so that neither hides the other, then together.
pub(crate) fn of_own(files: &TlsFiles, now: Timestamp) -> Vec<Finding> {
    let file = files.certificate.display();
    let failed =
        |key, (found, remedy): Wrong| Finding::error(Code::Certificate, key, found, remedy);
    let warning = |found, remedy| {
        Finding::error(Code::CertificateExpiry, CERTIFICATE_KEY, found, remedy).warning()
    };
    let mut findings = Vec::new();
    let key = read_key(&files.key);
    if let Err(error) = &key {
        let remedy = "give that of the broker's certificate";
        let wrong = unusable(&files.key, error, "private key", remedy);
        findings.push(failed(KEY_KEY, wrong));
    }
    let chain = match read_chain(&files.certificate) {
        Ok((_, chain)) => chain,
        Err(error) => {
            let remedy = "give the broker's certificate chain";
            let wrong = unusable(&files.certificate, &error, "certificate", remedy);
            findings.push(failed(CERTIFICATE_KEY, wrong));
            return findings;
        }
    };
    let Some((own, others)) = chain.split_first() else {
        return findings;
    };
    let (begin, end) = (own.not_before, own.not_after);
    let days = days_left(end, now);
    if now < begin {
        let begins = day(begin);
        let wrong = (
            format!("is `{file}`, whose certificate begins on {begins}, which is in the future"),
            "correct the clock of this machine if it is slow; otherwise configure a certificate that is already valid",
        );
        findings.push(failed(CERTIFICATE_KEY, wrong));
        return findings;
    }
    if days.is_some_and(|days| days < 0) {
        let wrong = (
            format!("is `{file}`, whose certificate expired on {}", day(end)),
            "renew it (BOSH: `tls.certificate` of the job, then deploy)",
        );
        findings.push(failed(CERTIFICATE_KEY, wrong));
        return findings;
    }
    if key.is_ok()
        && let Some(wrong) = of_no_use_together(files)
    {
        findings.push(failed(KEY_KEY, wrong));
    }
    if days.is_some() {
        let found = format!("is `{file}`, whose certificate expires on {}", day(end));
        findings.push(warning(found, "renew it in time"));
    }
    // The other certificates in the file may be more than clients need.
    if let Some(first) = first_to_expire(others)
        && days_left(first.not_after, now).is_some()
    {
        let day = day(first.not_after);
        let found = format!("is `{file}`, with a certificate in its chain that expires on {day}");
        findings.push(warning(found, "renew the chain"));
    }
    findings
}

/// The error of a file that should contain `what`.
fn unusable(file: &Path, error: &CertificateError, what: &str, remedy: &'static str) -> Wrong {
    let file = file.display();
    match error {
        CertificateError::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let wrong = format!("is `{file}`, which does not exist");
            (wrong, "give a PEM file")
        }
        CertificateError::Unreadable { source, .. } => {
            let wrong = format!("is `{file}`, which cannot be read: {source}");
            (wrong, "give a PEM file that the broker's user may read")
        }
        _ => {
            let wrong = format!("is `{file}`, which has no {what} in PEM form");
            (wrong, remedy)
        }
    }
}

fn of_no_use_together(files: &TlsFiles) -> Option<Wrong> {
    let error = load_tls(files).err()?;
    let cause = Chain(&error);
    match &error {
        // Its validity period was checked before.
        CertificateError::NotYetValid { .. } | CertificateError::Expired { .. } => None,
        CertificateError::Unusable { .. } => Some((
            format!("is a key that does not go with the certificate: {cause}"),
            "give that of the broker's certificate",
        )),
        _ => Some((format!("cannot be used: {cause}"), "check `broker.tls`")),
    }
}

#[cfg(test)]
mod tests;
