//! The broker's own certificate and key.

use jiff::Timestamp;
use odb_api_types::code::Code;

use crate::{
    api::load_tls,
    config::Broker,
    finding::Finding,
    preflight::{
        certificates::own::{days_left, first_to_expire},
        doctor::{
            chart::Chart,
            subject::{Probe, Subject},
        },
    },
    telemetry::Chain,
};

const KEY: &str = "broker.tls.cert_file";

/// Reads certificate and key as a start does.
pub(crate) fn look(broker: &Broker, now: Timestamp) -> Vec<Chart> {
    let mut chart = Chart::of(Subject::OwnCertificate);
    let Some(files) = &broker.tls else {
        chart.not_asked(
            Probe::Certificate,
            "`broker.tls` is not set: plain HTTP is spoken",
        );
        return vec![chart];
    };
    let file = files.certificate.display();
    let trouble = |code, came, remedy: &str| {
        Finding::tried(
            code,
            Some(KEY),
            format!("to read `{file}` and `{}`", files.key.display()),
            came,
            remedy,
        )
    };
    match load_tls(files) {
        Ok(tls) => match first_to_expire(&tls.chain) {
            Some(first) => {
                let subject = &first.subject;
                let day = first.not_after.to_zoned(jiff::tz::TimeZone::UTC).date();
                if days_left(first, now).is_some() {
                    let came = format!("the certificate of `{subject}` in `{file}` ends on {day}");
                    let remedy = "put a new chain into that file, and restart the broker";
                    let trouble = trouble(Code::CertificateExpiry, came, remedy);
                    chart.odd(Probe::Certificate, None, trouble);
                } else {
                    let text = format!("`{subject}`, until {day}");
                    chart.fine(Probe::Certificate, None, text);
                }
            }
            None => chart.fine(Probe::Certificate, None, format!("`{file}`")),
        },
        Err(error) => {
            let came = Chain(&error).to_string();
            let trouble = trouble(Code::Certificate, came, error.remedy());
            chart.wrong(Probe::Certificate, None, trouble);
        }
    }
    vec![chart]
}
