//! Checks every upstream without changing anything, and reports errors with remedies
//! (`docs/operators/reference/doctor.md`).
//!
//! | file | contents |
//! | --- | --- |
//! | `report` | the report |
//! | `clock`, `foundation` | comparisons of all upstreams |
//!
//! The probes themselves are in the folders beside this one.
//!
//! All upstreams are called concurrently, with the broker's own clients. Only GET requests and token requests are sent.
//! Scopes are read from tokens, and permissions from CredHub.

pub(crate) mod clock;
pub(crate) mod foundation;
mod report;

use std::{ffi::OsString, io, path::Path};

use jiff::Timestamp;
use odb_config::{Inspection, Paths};
use odb_core::finding::{Finding, Severity};

use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::api::OwnCertificate;
use crate::preflight::{
    adapter::executable,
    certificates::own,
    chart::{Chart, Probe, Row, Subject},
    check::Findings,
    cloud_controller,
    context::Context,
    credhub, director,
    instances::{self, ApiCalls},
    server::are_the_same,
};

pub use crate::preflight::context::Timeouts;

/// The result of an examination.
#[derive(Debug)]
pub struct Diagnosis {
    configuration: Findings,
    charts: Vec<Chart>,
}

impl Diagnosis {
    /// There was no configuration to go by.
    pub fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self {
            configuration: Findings::unreadable(file, error),
            charts: Vec::new(),
        }
    }

    /// Nothing keeps the broker from working.
    pub fn is_well(&self) -> bool {
        self.configuration.is_fine() && self.count(Severity::Error) == 0
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (Subject, &Row)> {
        let charts = self.charts.iter();
        charts.flat_map(|chart| chart.rows.iter().map(|row| (chart.subject, row)))
    }

    /// The findings about the configuration file.
    pub(crate) fn configuration(&self) -> &Inspection {
        &self.configuration.inspection
    }

    /// The certificates that the subjects show, and the configured trust roots under their keys.
    pub(crate) fn certificates(&self) -> Vec<(String, OwnCertificate)> {
        let shown = self.charts.iter().flat_map(|chart| {
            let subject = chart.subject.to_string();
            let certificates = chart.certificates.iter().cloned();
            certificates.map(move |certificate| (subject.clone(), certificate))
        });
        let roots = self.configuration.inspection.certificates.iter();
        let roots = roots.flat_map(|(key, pem)| {
            let read = CertificateDer::pem_slice_iter(pem.as_bytes()).flatten();
            read.filter_map(|der| Some((key.clone(), OwnCertificate::of(&der)?)))
        });
        shown.chain(roots).collect()
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = (Subject, &Row, &Finding)> {
        self.rows()
            .filter_map(|(subject, row)| Some((subject, row, row.finding()?)))
    }

    fn count(&self, severity: Severity) -> usize {
        let findings = self.findings();
        findings
            .filter(|(_, _, finding)| finding.severity == severity)
            .count()
    }
}

/// Examines all upstreams of a configuration. `file` is its name, `environment` that of which an adapter inherits a few
/// names.
pub async fn examine(
    file: &Path,
    source: &str,
    environment: impl Iterator<Item = (OsString, OsString)>,
    timeouts: Timeouts,
    now: Timestamp,
) -> Diagnosis {
    let inspection = Inspection::of(file, source, Paths::OfThisMachine);
    let configuration = Findings::of(inspection, now).sorted();
    let context = Context::of_sections(&configuration.inspection.sections, timeouts);
    let (director, director_credhub, cloud_controller, runtime_credhub, api, adapter) = tokio::join!(
        Box::pin(director::look(&context)),
        Box::pin(credhub::look_at_the_directors(&context)),
        Box::pin(cloud_controller::look(&context)),
        Box::pin(credhub::look_at_that_of_applications(&context)),
        Box::pin(instances::look(&context, ApiCalls::Made)),
        Box::pin(executable::look(&context, environment)),
    );
    let several = [
        director.charts,
        director_credhub.charts,
        cloud_controller.charts,
        runtime_credhub.charts,
        api.charts,
        vec![adapter, own::look(&context, now)],
    ];
    let mut charts: Vec<Chart> = several.into_iter().flatten().collect();
    foundation::compare(&mut charts);
    fold(&mut charts);
    clock::compare(&mut charts);
    Diagnosis {
        configuration,
        charts,
    }
}

/// A UAA that two upstreams share is reported once, under the first of them.
fn fold(charts: &mut Vec<Chart>) {
    use Subject::{
        CloudControllerUaa, DirectorCredHub, DirectorCredHubUaa, DirectorUaa, RuntimeCredHub,
        RuntimeCredHubUaa,
    };
    for (first, credhub, second) in [
        (DirectorUaa, DirectorCredHub, DirectorCredHubUaa),
        (CloudControllerUaa, RuntimeCredHub, RuntimeCredHubUaa),
        (CloudControllerUaa, DirectorCredHub, DirectorCredHubUaa),
        (DirectorUaa, RuntimeCredHub, RuntimeCredHubUaa),
    ] {
        let chart = |subject| charts.iter().find(|chart| chart.subject == subject);
        let url = |subject| chart(subject)?.uaa.url.as_ref();
        let is_shared = match (url(first), url(credhub)) {
            (Some(one), Some(two)) => are_the_same(one, two),
            _ => false,
        };
        let results = |subject| -> Option<Vec<_>> {
            let rows = chart(subject)?.rows.iter();
            let of_server = rows.filter(|row| is_of_server(row.probe));
            Some(of_server.map(|row| (row.probe, row.marks())).collect())
        };
        // If one upstream trusts it and the other does not, both are reported.
        if is_shared && results(first) == results(second) {
            charts.retain(|chart| chart.subject != second);
        }
    }
}

fn is_of_server(probe: Probe) -> bool {
    matches!(
        probe,
        Probe::Name | Probe::Connection | Probe::Certificate | Probe::Answer
    )
}
