//! Whether everybody is of the foundation that he should be of: whose tokens he takes tells.

use odb_api_types::code::Code;
use odb_clients::http::Url;

use crate::{
    finding::Finding,
    preflight::{
        doctor::{
            chart::Chart,
            subject::{Probe, Subject},
        },
        server::{configured::are_the_same, reach::authority},
    },
};

/// A UAA, by its address and by what its tokens say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uaa {
    pub(crate) url: Option<Url>,
    pub(crate) issuer: Option<String>,
}

/// Whose tokens everybody takes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) director: Uaa,
    pub(crate) director_credhub: Uaa,
    pub(crate) cloud_controller: Uaa,
    pub(crate) runtime_credhub: Uaa,
}

/// What is known of two UAAs.
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

    fn told(&self) -> String {
        self.url.as_ref().map_or_else(
            || "another UAA".to_owned(),
            |url| format!("`{}`", authority(url)),
        )
    }
}

/// Compares whose tokens everybody takes.
pub(crate) fn compare(known: &Known, charts: &mut [Chart]) {
    let Known {
        director,
        director_credhub,
        cloud_controller,
        runtime_credhub,
    } = known;
    if let Some(chart) = charted(charts, Subject::CloudControllerUaa)
        && cloud_controller.relation(director) == Relation::Same
    {
        let came = format!(
            "the UAA at {} is the Director's: the Cloud Controller does not take its tokens",
            cloud_controller.told()
        );
        let remedy = "give the UAA of the platform by `cf.uaa.url` (`cf curl /` names it), and a client of that one";
        chart.wrong(Probe::Foundation, None, trouble("cf.uaa.url", came, remedy));
    }
    if let Some(chart) = charted(charts, Subject::DirectorCredHub) {
        let key = "bosh_credhub.url";
        let remedy = "give the address of the Director's CredHub by `bosh_credhub.url`, which is often the Director's with port 8844";
        let of_the_platform = director_credhub.relation(cloud_controller) == Relation::Same;
        match director_credhub.relation(director) {
            Relation::Same => chart.fine(
                Probe::Foundation,
                None,
                "takes tokens of the Director's UAA",
            ),
            _ if of_the_platform => {
                let came = format!(
                    "it takes tokens of {}, the Cloud Controller's UAA: it is the CredHub of applications",
                    director_credhub.told()
                );
                chart.wrong(Probe::Foundation, None, trouble(key, came, remedy));
            }
            Relation::Different | Relation::OtherAddress => {
                let came = format!(
                    "it takes tokens of {}, and the Director of {}: they may not belong together",
                    director_credhub.told(),
                    director.told()
                );
                chart.odd(Probe::Foundation, None, trouble(key, came, remedy));
            }
            Relation::Unknown => {}
        }
    }
    if let Some(chart) = charted(charts, Subject::RuntimeCredHub) {
        let key = "credhub.api_url";
        let remedy = "give the address of the CredHub of applications by `credhub.api_url`, such as \
                      `https://credhub.service.cf.internal:8844`";
        let of_the_director = [director, director_credhub]
            .iter()
            .any(|uaa| runtime_credhub.relation(uaa) == Relation::Same)
            // One that is configured twice is of one foundation only.
            && director_credhub.relation(cloud_controller) != Relation::Same;
        match runtime_credhub.relation(cloud_controller) {
            Relation::Same => chart.fine(
                Probe::Foundation,
                None,
                "takes tokens of the Cloud Controller's UAA",
            ),
            _ if of_the_director => {
                let came = format!(
                    "it takes tokens of {}, the Director's UAA: applications do not read from it",
                    runtime_credhub.told()
                );
                chart.wrong(Probe::Foundation, None, trouble(key, came, remedy));
            }
            Relation::Different => {
                let came = format!(
                    "it takes tokens of {}, which is not the UAA of `cf.uaa.url`: they may not belong together",
                    runtime_credhub.told()
                );
                chart.odd(Probe::Foundation, None, trouble(key, came, remedy));
            }
            // Inside a platform its UAA often has another name than outside.
            Relation::OtherAddress | Relation::Unknown => {}
        }
    }
}

fn charted(charts: &mut [Chart], subject: Subject) -> Option<&mut Chart> {
    charts.iter_mut().find(|chart| chart.subject == subject)
}

fn trouble(key: &'static str, came: String, remedy: &str) -> Finding {
    Finding::tried(
        Code::OtherFoundation,
        Some(key),
        "to compare whose tokens it takes with whose others take",
        came,
        remedy,
    )
}
