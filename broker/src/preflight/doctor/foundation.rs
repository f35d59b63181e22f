//! Whether all upstreams belong to the same foundation, by the UAA whose tokens they accept.

use std::fmt;

use odb_api_types::code::Code;
use odb_clients::http::Url;
use odb_core::finding::Finding;

use crate::preflight::{
    chart::{Chart, Probe, Subject},
    server::{are_the_same, authority},
};

#[derive(Clone, Debug, Default)]
pub(crate) struct Uaa {
    pub(crate) url: Option<Url>,
    pub(crate) issuer: Option<String>,
}

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

pub(crate) fn compare(charts: &mut [Chart]) {
    let taken_by = |subject| {
        let chart = charts.iter().find(|chart| chart.subject == subject);
        chart.map(|chart| chart.uaa.clone()).unwrap_or_default()
    };
    let director = taken_by(Subject::DirectorUaa);
    let directors_credhub = taken_by(Subject::DirectorCredHub);
    let platform = taken_by(Subject::CloudControllerUaa);
    let runtime_credhub = taken_by(Subject::RuntimeCredHub);
    for chart in charts {
        match chart.subject {
            Subject::CloudControllerUaa if platform.relation(&director) == Relation::Same => {
                let came = format!(
                    "the UAA at {platform} is the Director's: the Cloud Controller does not take its tokens"
                );
                let remedy = "give the UAA of the platform by `cf.uaa.url` (`cf curl /` names it), and a client of that one";
                let finding = finding("cf.uaa.url", came, remedy);
                chart.found(Probe::Foundation, None, finding);
            }
            Subject::DirectorCredHub => {
                of_directors_credhub(chart, &directors_credhub, &director, &platform);
            }
            Subject::RuntimeCredHub => {
                let of_the_director = [&director, &directors_credhub]
                    .iter()
                    .any(|uaa| runtime_credhub.relation(uaa) == Relation::Same)
                    // One that is configured twice is of one foundation only.
                    && directors_credhub.relation(&platform) != Relation::Same;
                of_runtime_credhub(chart, &runtime_credhub, &platform, of_the_director);
            }
            _ => {}
        }
    }
}

fn of_directors_credhub(chart: &mut Chart, own: &Uaa, director: &Uaa, platform: &Uaa) {
    let remedy = "give the address of the Director's CredHub by `bosh_credhub.url`, which is often the Director's with port 8844";
    let finding = |came| finding("bosh_credhub.url", came, remedy);
    let finding = match own.relation(director) {
        Relation::Same => {
            let text = "takes tokens of the Director's UAA";
            return chart.fine(Probe::Foundation, None, text);
        }
        _ if own.relation(platform) == Relation::Same => finding(format!(
            "it takes tokens of {own}, the Cloud Controller's UAA: it is the CredHub of applications"
        )),
        Relation::Different | Relation::OtherAddress => finding(format!(
            "it takes tokens of {own}, and the Director of {director}: they may not belong together"
        ))
        .warning(),
        Relation::Unknown => return,
    };
    chart.found(Probe::Foundation, None, finding);
}

fn of_runtime_credhub(chart: &mut Chart, own: &Uaa, platform: &Uaa, of_the_director: bool) {
    let remedy = "give the address of the CredHub of applications by `credhub.api_url`, such as \
                  `https://credhub.service.cf.internal:8844`";
    let finding = |came| finding("credhub.api_url", came, remedy);
    let finding = match own.relation(platform) {
        Relation::Same => {
            let text = "takes tokens of the Cloud Controller's UAA";
            return chart.fine(Probe::Foundation, None, text);
        }
        _ if of_the_director => finding(format!(
            "it takes tokens of {own}, the Director's UAA: applications do not read from it"
        )),
        Relation::Different => finding(format!(
            "it takes tokens of {own}, which is not the UAA of `cf.uaa.url`: they may not belong together"
        ))
        .warning(),
        // Inside a platform its UAA often has another name than outside.
        Relation::OtherAddress | Relation::Unknown => return,
    };
    chart.found(Probe::Foundation, None, finding);
}

fn finding(key: &'static str, came: String, remedy: &str) -> Finding {
    let tried = "to compare whose tokens it takes with whose others take";
    Finding::tried(Code::OtherFoundation, Some(key), tried, came, remedy)
}
