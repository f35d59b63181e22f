//! The broker's own certificate and key: read at the start, watched from then on.

use std::time::Duration;

use jiff::Timestamp;
use odb_api_types::code::Code;

use crate::{
    api::{OldClients, OwnCertificate, OwnTls, load_tls},
    config::Broker,
    finding::Finding,
    operations::Lifecycle,
    preflight::start::Checked,
    telemetry::metrics::metrics,
};

const KEY: &str = "broker.tls.cert_file";
const DAY: Duration = Duration::from_hours(24);
/// How long before its end a certificate is spoken of.
const NOTICE_DAYS: i64 = 30;

/// Reads certificate and key where HTTPS is configured.
pub(crate) fn check(broker: &Broker) -> Checked<Option<OwnTls>> {
    let tls = broker.tls.as_ref().map(load_tls).transpose();
    tls.map_err(|error| {
        let found = "the broker's own certificate cannot be used";
        let finding = Finding::fault(Code::Certificate, "broker.tls", found, error.remedy());
        vec![Finding {
            is_in_file: true,
            ..finding.because(&error)
        }]
    })
}

/// Shows when the chain ends among the metrics, and warns of it once a day while that is near.
pub(crate) fn watch(tls: &OwnTls, lifecycle: &Lifecycle) {
    if tls.old_clients == OldClients::LeftOut {
        tracing::warn!(
            code = %Code::CertificateKind,
            "the key in `broker.tls.key_file` is not an RSA key, with which alone TLS 1.2 is spoken here: clients that do not \
             speak TLS 1.3 cannot connect; give an RSA certificate if there are such"
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

/// A chain is as good as the one of its certificates that ends first.
pub(crate) fn first_to_expire(chain: &[OwnCertificate]) -> Option<&OwnCertificate> {
    chain.iter().min_by_key(|certificate| certificate.not_after)
}

fn warn_of(certificate: &OwnCertificate, now: Timestamp) {
    let Some(days) = days_left(certificate, now) else {
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

/// The whole days that are left, if they are few; negative when the time is over.
pub(crate) fn days_left(certificate: &OwnCertificate, now: Timestamp) -> Option<i64> {
    let seconds = certificate.not_after.as_second() - now.as_second();
    let days = seconds.div_euclid(24 * 60 * 60);
    (days < NOTICE_DAYS).then_some(days)
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
    fn a_certificate_is_spoken_of_from_30_days_before_its_end() {
        let now = "2026-11-01T12:00:00Z".parse().unwrap();
        for (not_after, days) in [
            ("2027-11-01T12:00:00Z", None),
            ("2026-12-01T12:00:00Z", None),
            ("2026-12-01T11:59:59Z", Some(29)),
            ("2026-11-02T11:00:00Z", Some(0)),
            ("2026-11-01T11:59:59Z", Some(-1)),
        ] {
            let certificate = certificate(not_after);
            assert_eq!(days_left(&certificate, now), days, "{not_after}");
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
