//! Tries every neighbour without changing anything, and says what is wrong and what to do (`docs/operators/doctor.md`).
//!
//! | file | holds |
//! | --- | --- |
//! | `subject`, `chart`, `report` | who is looked at, what has been found of each, and how it is printed |
//! | `whole`, `patience` | what is configured, and how long each step may take |
//!
//! The probes themselves are in the folders beside this one.
//!
//! Everybody is asked at the same time, by the clients that the broker itself has. Nothing but GET requests and requests for
//! tokens is sent. Scopes are read from tokens, and permissions from CredHub.

pub(crate) mod chart;
pub(crate) mod patience;
mod report;
pub(crate) mod subject;
pub(crate) mod whole;

use std::{ffi::OsString, io, path::Path};

use jiff::Timestamp;
use odb_clients::credhub::{CredHubClient, CredentialName};
use secrecy::SecretString;

use self::{
    chart::{Chart, Row},
    subject::{Probe, Subject},
    whole::Whole,
};

use crate::{
    config::{Problem, Told},
    finding::{Finding, Severity},
    preflight::{
        adapter,
        certificates::own_diagnosis as own_certificate,
        check,
        cloud_controller::diagnosis as cloud_controller,
        credhub::diagnosis::{self as credhub, Particulars},
        director::diagnosis as director,
        instances::diagnosis as instances_api,
        server::{clock, configured as servers},
        uaa::{
            diagnosis::{Applicant, ApplicantKind},
            foundation::{self, Known, Uaa},
            grants::{Grants, Side},
            rights::{WITH_CREDENTIALS, WITH_SECRETS},
        },
    },
};

pub use patience::Patience;

/// What has been found.
#[derive(Debug)]
pub struct Diagnosis {
    file: String,
    faults: Vec<Problem>,
    remarks: Vec<Problem>,
    charts: Vec<Chart>,
}

impl Diagnosis {
    /// There was no configuration to go by.
    pub fn unreadable(file: &Path, error: &io::Error) -> Self {
        let text = (
            format!("cannot be read: {error}"),
            "give the path of a configuration, or `-`",
        );
        Self {
            file: file.display().to_string(),
            faults: vec![Problem::of_file(file, text)],
            remarks: Vec::new(),
            charts: Vec::new(),
        }
    }

    /// Nothing keeps the broker from working.
    pub fn is_well(&self) -> bool {
        let mut findings = self.findings();
        self.faults.is_empty()
            && findings.all(|(_, _, finding)| finding.severity != Severity::Fault)
    }

    fn rows(&self) -> impl Iterator<Item = (Subject, &Row)> {
        let charts = self.charts.iter();
        charts.flat_map(|chart| chart.rows.iter().map(|row| (chart.subject, row)))
    }

    fn findings(&self) -> impl Iterator<Item = (Subject, &Row, &Finding)> {
        self.rows()
            .filter_map(|(subject, row)| Some((subject, row, row.finding()?)))
    }
}

/// Looks at everybody whom the text of a configuration names. `file` is what it is called, `environment` what an adapter is
/// shown a few names of.
pub async fn examine(
    file: &Path,
    source: &str,
    environment: impl Iterator<Item = (OsString, OsString)>,
    patience: Patience,
    now: Timestamp,
) -> Diagnosis {
    let read = check::read(file, source, now);
    let whole = Whole {
        sections: &read.sections,
        patience,
    };
    let (director, director_credhub, platform, runtime_credhub, api, adapter) = tokio::join!(
        Box::pin(look_at_director(&whole)),
        Box::pin(look_at_directors_credhub(&whole)),
        Box::pin(look_at_platform(&whole)),
        Box::pin(look_at_runtime_credhub(&whole)),
        Box::pin(look_at_instances_api(&whole)),
        Box::pin(look_at_adapter(&whole, environment)),
    );
    let known = Known {
        director: director.1,
        director_credhub: director_credhub.1,
        cloud_controller: platform.1,
        runtime_credhub: runtime_credhub.1,
    };
    let own = match &read.sections.broker {
        Told::Right(broker) => own_certificate::look(broker, now),
        Told::Nothing | Told::Wrong => left_out(Subject::OwnCertificate, FAULTY),
    };
    let mut charts: Vec<Chart> = [
        director.0,
        director_credhub.0,
        platform.0,
        runtime_credhub.0,
        api,
        adapter,
        own,
    ]
    .into_iter()
    .flatten()
    .collect();
    foundation::compare(&known, &mut charts);
    fold(&mut charts, &known);
    clock::compare(&mut charts);
    Diagnosis {
        file: file.display().to_string(),
        faults: read.faults,
        remarks: read.remarks,
        charts,
    }
}

pub(crate) const FAULTY: &str = "not asked, because of the faults in the file";

fn left_out(subject: Subject, why: &str) -> Vec<Chart> {
    let mut chart = Chart::of(subject);
    chart.not_asked(Probe::Answer, why);
    vec![chart]
}

async fn look_at_director(whole: &Whole<'_>) -> (Vec<Chart>, Uaa) {
    match &whole.sections.bosh {
        Told::Right(bosh) => director::look(whole, bosh).await,
        Told::Nothing | Told::Wrong => {
            let mut charts = left_out(Subject::Director, FAULTY);
            charts.extend(left_out(Subject::DirectorUaa, FAULTY));
            (charts, Uaa::default())
        }
    }
}

async fn look_at_platform(whole: &Whole<'_>) -> (Vec<Chart>, Uaa) {
    let subject = Subject::CloudController;
    match &whole.sections.cloud_foundry {
        Told::Right(cf) => cloud_controller::look(whole, cf).await,
        Told::Nothing => (left_out(subject, "`cf` is not configured"), Uaa::default()),
        Told::Wrong => {
            let mut charts = left_out(subject, FAULTY);
            charts.extend(left_out(Subject::CloudControllerUaa, FAULTY));
            (charts, Uaa::default())
        }
    }
}

async fn look_at_directors_credhub(whole: &Whole<'_>) -> (Vec<Chart>, Uaa) {
    let subject = Subject::DirectorCredHub;
    let access = match &whole.sections.bosh_credhub {
        Told::Right(access) => access,
        Told::Nothing => {
            let why = "`broker.enable_secure_manifests` is off";
            return (left_out(subject, why), Uaa::default());
        }
        Told::Wrong => return (left_out(subject, FAULTY), Uaa::default()),
    };
    let (client, applicant) = client(
        &access.client_id,
        &access.client_secret,
        "bosh_credhub.authentication.uaa.client_credentials",
    );
    let particulars = Particulars {
        subject,
        of_uaa: Subject::DirectorCredHubUaa,
        client,
        applicant,
        grants: Grants {
            sections: whole.sections,
            side: Side::Director,
        },
        uaa_authority: "bosh_credhub.root_ca_cert",
        folders: folders("/odb", whole),
        needed: &WITH_SECRETS,
        feature: "secure manifests (`broker.enable_secure_manifests`)",
        of_director: Some(whole),
    };
    let mut chart = Chart::of(subject);
    let server = servers::server_of_directors_credhub(whole.sections, access, &mut chart);
    credhub::look(server, chart, particulars, whole.patience).await
}

async fn look_at_runtime_credhub(whole: &Whole<'_>) -> (Vec<Chart>, Uaa) {
    let subject = Subject::RuntimeCredHub;
    let section = match &whole.sections.runtime_credhub {
        Told::Right(section) => section,
        Told::Nothing => {
            let why = "`credhub` is not configured";
            return (left_out(subject, why), Uaa::default());
        }
        Told::Wrong => return (left_out(subject, FAULTY), Uaa::default()),
    };
    let (client, applicant) = client(
        &section.client_id,
        &section.client_secret,
        "credhub.client_secret",
    );
    let particulars = Particulars {
        subject,
        of_uaa: Subject::RuntimeCredHubUaa,
        client,
        applicant,
        grants: Grants {
            sections: whole.sections,
            side: Side::Platform,
        },
        uaa_authority: "credhub.internal_uaa_ca_cert",
        folders: folders("/c", whole),
        needed: &WITH_CREDENTIALS,
        feature: "secure bindings (`credhub`)",
        of_director: None,
    };
    let mut chart = Chart::of(subject);
    let server = servers::server_of_runtime_credhub(section, &mut chart);
    credhub::look(server, chart, particulars, whole.patience).await
}

/// The client that the broker is at a CredHub, as it proves it and as it is told; `key` configures it.
fn client<'a>(
    client_id: &'a str,
    client_secret: &SecretString,
    key: &'static str,
) -> (CredHubClient, Applicant<'a>) {
    let client = CredHubClient {
        client_id: client_id.to_owned(),
        client_secret: client_secret.clone(),
    };
    let kind = ApplicantKind::Client;
    let name = client_id;
    (client, Applicant { kind, name, key })
}

/// The folder of all brokers, and that of this one within it.
fn folders(root: &str, whole: &Whole<'_>) -> [Option<CredentialName>; 2] {
    let own = whole
        .offering()
        .map(|offering| format!("{root}/{}", offering.id));
    [
        root.parse().ok(),
        own.and_then(|own| CredentialName::try_from(own).ok()),
    ]
}

async fn look_at_instances_api(whole: &Whole<'_>) -> Vec<Chart> {
    let subject = Subject::InstancesApi;
    match &whole.sections.service_instances_api {
        Told::Right(api) => instances_api::look(whole, api).await,
        Told::Nothing | Told::Wrong => {
            left_out(subject, "`service_instances_api` is not configured")
        }
    }
}

async fn look_at_adapter(
    whole: &Whole<'_>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<Chart> {
    match &whole.sections.adapter {
        Told::Right(adapter) => adapter::executable::look(whole, adapter, environment).await,
        Told::Nothing | Told::Wrong => left_out(Subject::Adapter, FAULTY),
    }
}

/// A UAA that two neighbours have in common is told of once, under the first of them.
fn fold(charts: &mut Vec<Chart>, known: &Known) {
    for (first, uaa, second, same) in [
        (
            Subject::DirectorUaa,
            &known.director,
            Subject::DirectorCredHubUaa,
            &known.director_credhub,
        ),
        (
            Subject::CloudControllerUaa,
            &known.cloud_controller,
            Subject::RuntimeCredHubUaa,
            &known.runtime_credhub,
        ),
        (
            Subject::CloudControllerUaa,
            &known.cloud_controller,
            Subject::DirectorCredHubUaa,
            &known.director_credhub,
        ),
        (
            Subject::DirectorUaa,
            &known.director,
            Subject::RuntimeCredHubUaa,
            &known.runtime_credhub,
        ),
    ] {
        let is_shared = match (&uaa.url, &same.url) {
            (Some(one), Some(two)) => servers::are_the_same(one, two),
            _ => false,
        };
        let probes = |subject| {
            let chart = charts.iter().find(|chart| chart.subject == subject);
            chart.map(|chart| {
                let of_server = chart.rows.iter().filter(|row| is_of_server(row.probe));
                of_server
                    .map(|row| (row.probe, report::marks(row)))
                    .collect::<Vec<_>>()
            })
        };
        // Where one is believed by the one neighbour and not by the other, both are told.
        if is_shared && probes(first) == probes(second) {
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
