//! The broker's own certificate and key: read at the start, monitored later, and checked by `doctor`.

use std::time::Duration;

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_config::{Broker, Reported};
use odb_core::{finding::Finding, metrics::metrics, operations::Lifecycle};
use odb_redaction::Chain;

use crate::{
    api::{OldClients, OwnCertificate, OwnTls, load_tls},
    preflight::{
        certificates::{day, days_left},
        doctor::{
            chart::Chart,
            context::{Context, FILE_HAS_ERRORS},
            subject::{Probe, Subject},
        },
        start::Checked,
    },
};

const KEY: &str = "broker.tls.cert_file";
const DAY: Duration = Duration::from_hours(24);

/// Reads certificate and key where HTTPS is configured.
pub(crate) fn check(broker: &Broker) -> Checked<Option<OwnTls>> {
    let tls = broker.tls.as_ref().map(load_tls).transpose();
    let tls = tls.map_err(|error| {
        let found = "the broker's own certificate cannot be used";
        let finding = Finding::error(Code::Certificate, "broker.tls", found, error.remedy());
        Finding {
            is_in_file: true,
            ..finding.because(&error)
        }
    })?;
    Ok(tls)
}

/// Shows when the chain ends among the metrics, and warns of it once a day while that is near.
pub(crate) fn watch(tls: &OwnTls, lifecycle: &Lifecycle) {
    if tls.old_clients == OldClients::LeftOut {
        tracing::warn!(
            code = %Code::CertificateKind,
            "the key in `broker.tls.key_file` is not an RSA key, which TLS 1.2 needs here: clients without TLS 1.3 cannot connect; \
             give an RSA certificate if there are such clients"
        );
    }
    let chain = tls.chain.clone();
    let Some(first) = first_to_expire(&chain).cloned() else {
        return;
    };
    let expiries = &metrics().certificates;
    expiries.expires(KEY, first.not_after.as_second());
    let stopping = lifecycle.stopping();
    lifecycle.runtime().spawn(async move {
        loop {
            for certificate in &chain {
                warn_of(certificate, Timestamp::now());
            }
            tokio::select! {
                () = tokio::time::sleep(DAY) => {}
                () = stopping.cancelled() => return,
            }
        }
    });
}

/// The certificate of a chain that expires first, which limits the chain.
pub(crate) fn first_to_expire(chain: &[OwnCertificate]) -> Option<&OwnCertificate> {
    chain.iter().min_by_key(|certificate| certificate.not_after)
}

fn warn_of(certificate: &OwnCertificate, now: Timestamp) {
    let Some(days) = days_left(certificate.not_after, now) else {
        return;
    };
    let (subject, expiry) = (&certificate.subject, certificate.not_after);
    if days < 0 {
        tracing::error!(
            code = %Code::CertificateExpiry, %subject, %expiry,
            "a certificate in `{KEY}` has expired: clients do not connect any more; renew it and restart the broker (BOSH: \
             `tls.certificate` of the job, then deploy)"
        );
    } else {
        tracing::warn!(
            code = %Code::CertificateExpiry, %subject, %expiry, days,
            "a certificate in `{KEY}` expires soon; renew it and restart the broker (BOSH: `tls.certificate` of the job, then deploy)"
        );
    }
}

/// Reads certificate and key as a start does, for the doctor.
pub(crate) fn look(context: &Context<'_>, now: Timestamp) -> Chart {
    let Reported::Right(broker) = &context.sections.broker else {
        return context.left_out(Subject::OwnCertificate, FILE_HAS_ERRORS);
    };
    let mut chart = context.chart(Subject::OwnCertificate);
    let Some(files) = &broker.tls else {
        let why = "`broker.tls` is not set: the broker serves plain HTTP";
        chart.not_asked(Probe::Certificate, why);
        return chart;
    };
    let file = files.certificate.display();
    let finding = |code, came, remedy: &str| {
        let tried = format!("to read `{file}` and `{}`", files.key.display());
        Finding::tried(code, Some(KEY), tried, came, remedy)
    };
    let tls = match load_tls(files) {
        Ok(tls) => tls,
        Err(error) => {
            let came = Chain(&error).to_string();
            let finding = finding(Code::Certificate, came, error.remedy());
            chart.found(Probe::Certificate, None, finding);
            return chart;
        }
    };
    let Some(first) = first_to_expire(&tls.chain) else {
        chart.fine(Probe::Certificate, None, format!("`{file}`"));
        return chart;
    };
    let (subject, day) = (&first.subject, day(first.not_after));
    if days_left(first.not_after, now).is_some() {
        let came = format!("the certificate of `{subject}` in `{file}` ends on {day}");
        let remedy = "put a new chain into that file, and restart the broker";
        let finding = finding(Code::CertificateExpiry, came, remedy).warning();
        chart.found(Probe::Certificate, None, finding);
    } else {
        let text = format!("`{subject}`, until {day}");
        chart.fine(Probe::Certificate, None, text);
    }
    chart
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
