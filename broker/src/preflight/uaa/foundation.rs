//! Whether all upstreams belong to the same foundation, by the UAA whose tokens they accept.

use std::fmt;

use odb_api_types::code::Code;
use odb_clients::http::Url;
use odb_core::finding::Finding;

use crate::preflight::{
    doctor::{
        chart::Chart,
        subject::{Probe, Subject},
    },
    server::reach::{are_the_same, authority},
};

/// A UAA, identified by its address and by its tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uaa {
    pub(crate) url: Option<Url>,
    pub(crate) issuer: Option<String>,
}

/// The comparison of two UAAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Same,
    /// Two addresses; there may be one UAA behind both.
    OtherAddress,
    Different,
    Unknown,
}

impl Uaa {
    fn relation(&self, other: &Self) -> Relation {
        match (&self.issuer, &other.issuer) {
            (Some(one), Some(two)) if one == two => return Relation::Same,
            (Some(_), Some(_)) => return Relation::Different,
            _ => {}
        }
        match (&self.url, &other.url) {
            (Some(one), Some(two)) if are_the_same(one, two) => Relation::Same,
            (Some(_), Some(_)) => Relation::OtherAddress,
            _ => Relation::Unknown,
        }
    }
}

impl fmt::Display for Uaa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.url {
            Some(url) => write!(f, "`{}`", authority(url)),
            None => f.write_str("another UAA"),
        }
    }
}

/// Compares the UAAs of all upstreams.
pub(crate) fn compare(charts: &mut [Chart]) {
    let taken_by = |subject| {
        let chart = charts.iter().find(|chart| chart.subject == subject);
        chart.map(|chart| chart.uaa.clone()).unwrap_or_default()
    };
    let director = taken_by(Subject::DirectorUaa);
    let directors_credhub = taken_by(Subject::DirectorCredHub);
    let platform = taken_by(Subject::CloudControllerUaa);
    let runtime_credhub = taken_by(Subject::RuntimeCredHub);
    if let Some(chart) = charted(charts, Subject::CloudControllerUaa)
        && platform.relation(&director) == Relation::Same
    {
        let came = format!(
            "the UAA at {platform} is the Director's: the Cloud Controller does not take its tokens"
        );
        let remedy = "give the UAA of the platform by `cf.uaa.url` (`cf curl /` names it), and a client of that one";
        let finding = finding("cf.uaa.url", came, remedy);
        chart.found(Probe::Foundation, None, finding);
    }
    if let Some(chart) = charted(charts, Subject::DirectorCredHub) {
        let remedy = "give the address of the Director's CredHub by `bosh_credhub.url`, which is often the Director's with port 8844";
        let finding = |came| finding("bosh_credhub.url", came, remedy);
        let of_the_platform = directors_credhub.relation(&platform) == Relation::Same;
        match directors_credhub.relation(&director) {
            Relation::Same => {
                let text = "takes tokens of the Director's UAA";
                chart.fine(Probe::Foundation, None, text);
            }
            _ if of_the_platform => {
                let came = format!(
                    "it takes tokens of {directors_credhub}, the Cloud Controller's UAA: it is the CredHub of applications"
                );
                chart.found(Probe::Foundation, None, finding(came));
            }
            Relation::Different | Relation::OtherAddress => {
                let came = format!(
                    "it takes tokens of {directors_credhub}, and the Director of {director}: they may not belong together"
                );
                chart.found(Probe::Foundation, None, finding(came).warning());
            }
            Relation::Unknown => {}
        }
    }
    if let Some(chart) = charted(charts, Subject::RuntimeCredHub) {
        let remedy = "give the address of the CredHub of applications by `credhub.api_url`, such as \
                      `https://credhub.service.cf.internal:8844`";
        let finding = |came| finding("credhub.api_url", came, remedy);
        let of_the_director = [&director, &directors_credhub]
            .iter()
            .any(|uaa| runtime_credhub.relation(uaa) == Relation::Same)
            // One that is configured twice is of one foundation only.
            && directors_credhub.relation(&platform) != Relation::Same;
        match runtime_credhub.relation(&platform) {
            Relation::Same => {
                let text = "takes tokens of the Cloud Controller's UAA";
                chart.fine(Probe::Foundation, None, text);
            }
            _ if of_the_director => {
                let came = format!(
                    "it takes tokens of {runtime_credhub}, the Director's UAA: applications do not read from it"
                );
                chart.found(Probe::Foundation, None, finding(came));
            }
            Relation::Different => {
                let came = format!(
                    "it takes tokens of {runtime_credhub}, which is not the UAA of `cf.uaa.url`: they may not belong together"
                );
                chart.found(Probe::Foundation, None, finding(came).warning());
            }
            // Inside a platform its UAA often has another name than outside.
            Relation::OtherAddress | Relation::Unknown => {}
        }
    }
}

fn charted(charts: &mut [Chart], subject: Subject) -> Option<&mut Chart> {
    charts.iter_mut().find(|chart| chart.subject == subject)
}

fn finding(key: &'static str, came: String, remedy: &str) -> Finding {
    Finding::tried(
        Code::OtherFoundation,
        Some(key),
        "to compare whose tokens it takes with whose others take",
        came,
        remedy,
    )
}
