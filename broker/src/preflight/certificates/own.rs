//! The broker's own certificate and key: read at the start, and checked by `check` and `doctor`.

use std::{io, path::Path};

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_config::{Broker, TlsFiles};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::{
    api::{CertificateError, OwnCertificate, OwnTls, load_tls, read_chain, read_key},
    preflight::{
        certificates::{day, days_left},
        chart::{Chart, Probe, Subject},
        context::{Context, FILE_HAS_ERRORS},
        start::Checked,
    },
};

pub(super) const CERTIFICATE_KEY: &str = "broker.tls.cert_file";
const KEY_KEY: &str = "broker.tls.key_file";

pub(crate) fn check(broker: &Broker) -> Checked<Option<OwnTls>> {
    let Some(files) = &broker.tls else {
        return Ok(None);
    };
    let tls = load_tls(files).map_err(|error| cannot_be_used(files, &error))?;
    Ok(Some(tls))
}

fn cannot_be_used(files: &TlsFiles, error: &CertificateError) -> Finding {
    let (code, tried) = (Code::Certificate, tried(files));
    let found = "the broker's own certificate cannot be used";
    let finding = Finding::tried(code, Some(CERTIFICATE_KEY), tried, found, error.remedy());
    Finding {
        is_in_file: true,
        ..finding.because(error)
    }
}

fn tried(files: &TlsFiles) -> String {
    let (certificate, key) = (files.certificate.display(), files.key.display());
    format!("to read `{certificate}` and `{key}`")
}

pub(crate) fn first_to_expire(chain: &[OwnCertificate]) -> Option<&OwnCertificate> {
    chain.iter().min_by_key(|certificate| certificate.not_after)
}

/// Reads certificate and key as a start does, for the doctor.
pub(crate) fn look(context: &Context<'_>, now: Timestamp) -> Chart {
    let Some(broker) = context.broker else {
        return context.left_out(Subject::OwnCertificate, FILE_HAS_ERRORS);
    };
    let mut chart = context.chart(Subject::OwnCertificate);
    let Some(files) = &broker.tls else {
        let why = "`broker.tls` is not set: the broker serves plain HTTP";
        chart.not_asked(Probe::Certificate, why);
        return chart;
    };
    let file = files.certificate.display();
    let loaded = chart.unless_failed(Probe::Certificate, None, load_tls(files), |error| {
        cannot_be_used(files, &error)
    });
    let Some(tls) = loaded else {
        return chart;
    };
    chart.certificates.clone_from(&tls.chain);
    match first_to_expire(&tls.chain) {
        None => chart.fine(Probe::Certificate, None, format!("`{file}`")),
        Some(first) => {
            let (subject, day) = (&first.subject, day(first.not_after));
            if days_left(first.not_after, now).is_some() {
                let came = format!("the certificate of `{subject}` in `{file}` ends on {day}");
                let remedy = "put a new chain into that file";
                let (code, key) = (Code::CertificateExpiry, Some(CERTIFICATE_KEY));
                let finding = Finding::tried(code, key, tried(files), came, remedy).warning();
                chart.found(Probe::Certificate, None, finding);
            } else {
                let text = format!("`{subject}`, until {day}");
                chart.fine(Probe::Certificate, None, text);
            }
        }
    }
    chart
}

type Wrong = (String, &'static str);

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

fn unusable(file: &Path, error: &CertificateError, what: &str, remedy: &'static str) -> Wrong {
    let file = file.display();
    let (why, remedy) = match error {
        CertificateError::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            ("does not exist".to_owned(), "give a PEM file")
        }
        CertificateError::Unreadable { source, .. } => (
            format!("cannot be read: {source}"),
            "give a PEM file that the broker's user may read",
        ),
        _ => (format!("has no {what} in PEM form"), remedy),
    };
    (format!("is `{file}`, which {why}"), remedy)
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
mod tests {
    use super::*;

    fn certificate(not_after: &str) -> OwnCertificate {
        OwnCertificate {
            subject: "CN=broker".to_owned(),
            not_before: Timestamp::UNIX_EPOCH,
            not_after: not_after.parse().unwrap(),
        }
    }

    #[test]
    fn a_certificate_is_mentioned_from_30_days_before_its_end() {
        let now = "2026-11-01T12:00:00Z".parse().unwrap();
        for (not_after, days) in [
            ("2027-11-01T12:00:00Z", None),
            ("2026-12-01T12:00:00Z", None),
            ("2026-12-01T11:59:59Z", Some(29)),
            ("2026-11-02T11:00:00Z", Some(0)),
            ("2026-11-01T11:59:59Z", Some(-1)),
        ] {
            let certificate = certificate(not_after);
            assert_eq!(days_left(certificate.not_after, now), days, "{not_after}");
        }
    }

    #[test]
    fn a_chain_ends_with_the_first_of_its_certificates() {
        let chain = [
            certificate("2028-01-01T00:00:00Z"),
            certificate("2027-01-01T00:00:00Z"),
        ];
        assert_eq!(first_to_expire(&chain), Some(&chain[1]));
        assert_eq!(first_to_expire(&[]), None);
    }
}
