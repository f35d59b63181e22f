//! `GET /ui/health`: what `doctor` reports, and the certificates by expiry.

use actix_web::{HttpResponse, http::header};
use jiff::{SignedDuration, Timestamp};
use odb_core::finding::Severity;
use serde::Serialize;

use super::{
    answer::{ErrorView, PageError, page},
    latest::Dated,
    words::{Moment, Piece, Tone, Toned, pieces},
};
use crate::{
    api::{ApiError, Run, examined},
    preflight::{
        Outcome,
        certificates::{day, days_left},
        doctor::Diagnosis,
    },
};

#[derive(Serialize)]
struct Content<'a> {
    error: Option<ErrorView>,
    examined: Option<Moment>,
    report: Option<&'a Report>,
}

/// How long a report is shown.
const KEPT: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Serialize)]
pub(super) struct Report {
    is_well: bool,
    subjects: Vec<Subject>,
    findings: Vec<FindingView>,
    certificates: Vec<Certificate>,
}

#[derive(Debug, Serialize)]
struct Subject {
    name: String,
    probes: Vec<Probe>,
}

#[derive(Debug, Serialize)]
struct Probe {
    name: String,
    result: Toned,
    text: Vec<Piece>,
    took: Option<String>,
}

#[derive(Debug, Serialize)]
struct FindingView {
    tone: Tone,
    code: String,
    what: String,
    tried: Vec<Piece>,
    came: Vec<Piece>,
    remedy: Vec<Piece>,
}

#[derive(Debug, Serialize)]
struct Certificate {
    of: String,
    subject: String,
    expiry: String,
    days: i64,
    tone: Tone,
}

/// `GET /ui/health`: the latest report, or a new one.
pub(super) async fn show(run: Run) -> Result<HttpResponse, PageError> {
    let (report, error) = match report(&run, KEPT).await {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(ErrorView::of(&error))),
    };
    let content = Content {
        error,
        examined: report
            .as_ref()
            .map(|report| Moment::of(report.at, Timestamp::now())),
        report: report.as_ref().map(|report| &*report.value),
    };
    page(&run, "health", "health.html", &content)
}

/// `POST /ui/health`: examines the upstreams now.
pub(super) async fn examine(run: Run) -> Result<HttpResponse, PageError> {
    report(&run, SignedDuration::ZERO).await?;
    Ok(HttpResponse::SeeOther()
        .insert_header((header::LOCATION, "/ui/health"))
        .finish())
}

async fn report(run: &Run, longest: SignedDuration) -> Result<Dated<Report>, ApiError> {
    let Some(page) = &run.app.page else {
        return Err(ApiError::unattended());
    };
    let examination = async {
        let diagnosis = examined(run).await?;
        Ok(Report::of(&diagnosis, Timestamp::now()))
    };
    page.report().get(longest, examination).await
}

impl Report {
    fn of(diagnosis: &Diagnosis, now: Timestamp) -> Self {
        let mut subjects: Vec<Subject> = Vec::new();
        for (subject, row) in diagnosis.rows() {
            let name = subject.to_string();
            let probe = Probe {
                name: row.probe.to_string(),
                result: result(&row.outcome),
                text: pieces(row.text()),
                took: row.took.map(|took| format!("{} ms", took.as_millis())),
            };
            match subjects.last_mut() {
                Some(last) if last.name == name => last.probes.push(probe),
                _ => subjects.push(Subject {
                    name,
                    probes: vec![probe],
                }),
            }
        }
        let findings = diagnosis
            .findings()
            .map(|(subject, row, finding)| FindingView {
                tone: result(&row.outcome).tone,
                code: finding.code.to_string(),
                what: format!("{subject}, {}", row.probe),
                tried: pieces(&finding.tried),
                came: pieces(finding.came()),
                remedy: pieces(&finding.remedy),
            });
        let inspection = diagnosis.configuration();
        let of_file = [
            (Tone::Bad, &inspection.errors),
            (Tone::Busy, &inspection.warnings),
        ];
        let of_file = of_file.into_iter().flat_map(|(tone, findings)| {
            findings.iter().map(move |finding| FindingView {
                tone,
                code: odb_api_types::code::Code::ConfigurationInvalid.to_string(),
                what: "configuration".to_owned(),
                tried: Vec::new(),
                came: pieces(&finding.to_string()),
                remedy: pieces("Correct the file and deploy the broker again."),
            })
        });
        Self {
            is_well: diagnosis.is_well(),
            findings: findings.chain(of_file).collect(),
            certificates: certificates(diagnosis, now),
            subjects,
        }
    }
}

fn result(outcome: &Outcome) -> Toned {
    match outcome {
        Outcome::Fine(_) => Toned::new("fine", Tone::Good),
        Outcome::NotAsked(_) => Toned::new("not checked", Tone::Plain),
        Outcome::Found(finding) => match finding.severity {
            Severity::Warning => Toned::new("warning", Tone::Busy),
            Severity::Error => Toned::new("error", Tone::Bad),
        },
    }
}

/// The first to expire comes first. One that several subjects show is listed once for each.
fn certificates(diagnosis: &Diagnosis, now: Timestamp) -> Vec<Certificate> {
    let mut certificates = diagnosis.certificates();
    certificates.sort_by(|(of, one), (also, other)| {
        (one.not_after, of, &one.subject).cmp(&(other.not_after, also, &other.subject))
    });
    certificates.dedup();
    let views = certificates.into_iter().map(|(of, certificate)| {
        let end = certificate.not_after;
        let days = (end.as_second() - now.as_second()).div_euclid(24 * 60 * 60);
        Certificate {
            of,
            subject: certificate.subject,
            expiry: day(end).to_string(),
            days,
            tone: match days_left(end, now) {
                None => Tone::Good,
                Some(days) if days >= 0 => Tone::Busy,
                Some(_) => Tone::Bad,
            },
        }
    });
    views.collect()
}
