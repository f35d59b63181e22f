use std::{fs, path::Path};

use jiff::{Timestamp, civil::date, tz::TimeZone};
use odb_config::{Inspection, Paths};

use super::own::of_own;
use crate::preflight::check::Findings;

/// A day in the spring of 2030, the date of the tests.
fn now() -> Timestamp {
    date(2030, 4, 1)
        .to_zoned(TimeZone::UTC)
        .unwrap()
        .timestamp()
}

/// A certificate in PEM form that ends on that day, and its key.
fn certificate(until: (i32, u8, u8)) -> (String, String) {
    certificate_of((2020, 1, 1), until)
}

fn certificate_of(from: (i32, u8, u8), until: (i32, u8, u8)) -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(["broker.example".to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
    parameters.not_after = rcgen::date_time_ymd(until.0, until.1, until.2);
    let certificate = parameters.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// The findings of a configuration: errors, then warnings, each as `KEY WRONG`.
fn said(source: &str) -> (Vec<String>, Vec<String>) {
    let mut inspection = Inspection::of(Path::new("broker.yml"), source, Paths::OfThisMachine);
    inspection.errors.clear();
    inspection.warnings.clear();
    let mut findings = Findings::of(inspection, now());
    let own = findings.inspection.tls.as_ref();
    let of_own = own.map(|files| of_own(files, now()));
    findings.add(of_own.unwrap_or_default());
    let Inspection {
        errors, warnings, ..
    } = findings.inspection;
    let reported = |findings: Vec<odb_config::ConfigFinding>| {
        let findings = findings.iter();
        findings
            .map(|finding| format!("{} {}", finding.key, finding.wrong))
            .collect()
    };
    (reported(errors), reported(warnings))
}

/// The findings of a certificate and a key in files. No key: the file is missing.
fn said_of_files(certificate: &str, key: Option<&str>) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name| folder.path().join(name).display().to_string();
    fs::write(file("broker.crt"), certificate).unwrap();
    if let Some(key) = key {
        fs::write(file("broker.key"), key).unwrap();
    }
    let (certificate, key) = (file("broker.crt"), file("broker.key"));
    let source = format!("broker: {{tls: {{cert_file: '{certificate}', key_file: '{key}'}}}}");
    let (errors, warnings) = said(&source);
    let folder = folder.path().display().to_string();
    let shortened = |reported: Vec<String>| {
        let reported = reported
            .into_iter()
            .map(|reported| reported.replace(&folder, "FOLDER"));
        reported.collect()
    };
    (shortened(errors), shortened(warnings))
}

#[test]
fn a_certificate_is_warned_about_from_thirty_days_before_its_end_and_refused_after_it() {
    for (until, errors, warnings) in [
        ((2030, 5, 2), 0, 0),
        ((2030, 4, 30), 0, 1),
        ((2030, 4, 2), 0, 1),
        ((2030, 3, 31), 1, 0),
    ] {
        let (pem, key) = certificate(until);
        let said = said_of_files(&pem, Some(&key));
        assert_eq!(
            (said.0.len(), said.1.len()),
            (errors, warnings),
            "{until:?}: {said:?}"
        );
        for reported in said.0.iter().chain(&said.1) {
            let day = date(
                2030,
                i8::try_from(until.1).unwrap(),
                i8::try_from(until.2).unwrap(),
            );
            assert!(
                reported.starts_with("broker.tls.cert_file ")
                    && reported.contains(&day.to_string()),
                "{reported}"
            );
        }
    }
}

#[test]
fn a_certificate_that_begins_in_the_future_is_refused_with_the_day() {
    for (from, errors) in [((2030, 3, 31), 0), ((2030, 4, 2), 1)] {
        let (pem, key) = certificate_of(from, (2040, 1, 1));
        let (said, _) = said_of_files(&pem, Some(&key));
        assert_eq!(said.len(), errors, "{from:?}: {said:?}");
        for reported in said {
            assert!(
                reported.starts_with("broker.tls.cert_file ")
                    && reported.contains("begins on 2030-04-02"),
                "{reported}"
            );
        }
    }
}

#[test]
fn a_chain_is_warned_about_when_one_of_its_certificates_ends() {
    let ((pem, key), (other, _)) = (certificate((2040, 1, 1)), certificate((2030, 4, 9)));

    let (errors, warnings) = said_of_files(&(pem + &other), Some(&key));

    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(
        warnings,
        [
            "broker.tls.cert_file is `FOLDER/broker.crt`, with a certificate in its chain that expires on 2030-04-09"
        ]
    );
}

#[test]
fn certificate_and_key_are_each_looked_at_then_both_together() {
    let (pem, key) = certificate((2040, 1, 1));
    let (_, other) = certificate((2040, 1, 1));
    let of = |pem: &str, key: Option<&str>| said_of_files(pem, key).0.join("\n");
    let broken = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    insta::assert_snapshot!(of("no certificate", None), @r"
    broker.tls.key_file is `FOLDER/broker.key`, which does not exist
    broker.tls.cert_file is `FOLDER/broker.crt`, which has no certificate in PEM form
    ");
    insta::assert_snapshot!(of(&pem, Some("no key")), @"broker.tls.key_file is `FOLDER/broker.key`, which has no private key in PEM form");
    insta::assert_snapshot!(of(broken, Some(&key)), @"broker.tls.cert_file is `FOLDER/broker.crt`, which has no certificate in PEM form");
    assert_eq!(of(&pem, Some(&key)), "");

    let reported = of(&pem, Some(&other));
    assert!(
        reported.starts_with("broker.tls.key_file is a key that does not go with the certificate"),
        "{reported}"
    );
}

#[test]
fn trust_roots_are_refused_when_they_are_none_and_warned_about_when_they_end() {
    let section = |pem: &str| format!("bosh:\n  root_ca_cert: {}\n", serde_json::json!(pem));
    let (old, fine) = (certificate((2029, 1, 1)).0, certificate((2040, 1, 1)).0);

    assert_eq!(said(&section(&fine)), (vec![], vec![]));
    let (errors, warnings) = said(&section(&(fine + &old)));
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(
        warnings,
        ["bosh.root_ca_cert has a certificate that expired on 2029-01-01"]
    );
    let (errors, _) = said(&section("hunter2"));
    assert!(
        errors[0].starts_with("bosh.root_ca_cert has no usable certificate"),
        "{errors:?}"
    );
}
