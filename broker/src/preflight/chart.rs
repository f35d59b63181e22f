//! The subjects of an examination, and the results for each: a row for each probe.

use std::{fmt, time::Duration};

use odb_api_types::code::Code;
use odb_core::finding::{Finding, Severity};
use serde::Serialize;

use crate::{
    api::OwnCertificate,
    preflight::{context::Timeouts, doctor::foundation::Uaa},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Director,
    DirectorUaa,
    DirectorCredHub,
    DirectorCredHubUaa,
    CloudController,
    CloudControllerUaa,
    RuntimeCredHub,
    RuntimeCredHubUaa,
    InstancesApi,
    Adapter,
    OwnCertificate,
    Machine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Probe {
    /// Its name has an address.
    Name,
    Connection,
    Certificate,
    /// It answers as expected.
    Answer,
    /// It is new enough.
    Version,
    /// The clock agrees with this machine's.
    Clock,
    /// It takes our credentials.
    Credentials,
    /// The client has the rights that the enabled features need.
    Rights,
    /// It supports the enabled features.
    Features,
    /// We may use its BOSH configs.
    Configs,
    /// It is of the foundation that it should be of.
    Foundation,
    /// All plans in use are offered.
    Plans,
    /// It can be started.
    Executable,
    /// It describes the parameters of its plans.
    Schemas,
    /// It lists the service instances.
    List,
}

impl Subject {
    /// How people call it, and how programs do.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Director => ("Director", "director"),
            Self::DirectorUaa => ("Director's UAA", "director-uaa"),
            Self::DirectorCredHub => ("Director's CredHub", "director-credhub"),
            Self::DirectorCredHubUaa => ("UAA of the Director's CredHub", "director-credhub-uaa"),
            Self::CloudController => ("Cloud Controller", "cloud-controller"),
            Self::CloudControllerUaa => ("Cloud Controller's UAA", "cloud-controller-uaa"),
            Self::RuntimeCredHub => ("runtime CredHub", "runtime-credhub"),
            Self::RuntimeCredHubUaa => ("UAA of the runtime CredHub", "runtime-credhub-uaa"),
            Self::InstancesApi => ("service instances API", "service-instances-api"),
            Self::Adapter => ("service adapter", "service-adapter"),
            Self::OwnCertificate => ("own certificate", "own-certificate"),
            Self::Machine => ("this machine", "this-machine"),
        }
    }

    /// The upstream that takes the tokens of a UAA; itself, if it is none.
    pub(crate) fn taker_of_tokens(self) -> Self {
        match self {
            Self::DirectorUaa => Self::Director,
            Self::DirectorCredHubUaa => Self::DirectorCredHub,
            Self::CloudControllerUaa => Self::CloudController,
            Self::RuntimeCredHubUaa => Self::RuntimeCredHub,
            other => other,
        }
    }

    /// The log's codes when it does not answer, and when it rejects the credentials.
    fn codes(self) -> (Code, Code) {
        match self {
            Self::Director | Self::DirectorUaa => {
                (Code::DirectorUnreachable, Code::DirectorCredentials)
            }
            Self::DirectorCredHub | Self::DirectorCredHubUaa => {
                (Code::CredHubUnreachable, Code::CredHubCredentials)
            }
            Self::CloudController | Self::CloudControllerUaa => {
                let unreachable = Code::CloudControllerUnreachable;
                (unreachable, Code::CloudControllerCredentials)
            }
            Self::RuntimeCredHub | Self::RuntimeCredHubUaa => {
                let unreachable = Code::RuntimeCredHubUnreachable;
                (unreachable, Code::RuntimeCredHubCredentials)
            }
            Self::InstancesApi => (Code::ServiceInstancesApi, Code::ServiceInstancesApi),
            Self::Adapter => (Code::AdapterStart, Code::AdapterStart),
            Self::OwnCertificate => (Code::Certificate, Code::Certificate),
            Self::Machine => (Code::Internal, Code::Internal),
        }
    }

    pub(crate) fn unreachable(self) -> Code {
        self.codes().0
    }

    pub(crate) fn credentials_code(self) -> Code {
        self.codes().1
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().0)
    }
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Fine(String),
    NotAsked(String),
    Found(Finding),
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) probe: Probe,
    /// How long the call took, where there was one.
    pub(crate) took: Option<Duration>,
    pub(crate) outcome: Outcome,
}

impl Row {
    pub(crate) fn text(&self) -> &str {
        match &self.outcome {
            Outcome::Fine(text) | Outcome::NotAsked(text) => text,
            Outcome::Found(finding) => finding.came(),
        }
    }

    pub(crate) fn finding(&self) -> Option<&Finding> {
        match &self.outcome {
            Outcome::Fine(_) | Outcome::NotAsked(_) => None,
            Outcome::Found(finding) => Some(finding),
        }
    }

    /// The result as a sign for people and a word for programs.
    pub(crate) fn marks(&self) -> (&'static str, &'static str) {
        match &self.outcome {
            Outcome::Fine(_) => ("✓", "fine"),
            Outcome::NotAsked(_) => ("–", "not-asked"),
            Outcome::Found(finding) => match finding.severity {
                Severity::Warning => ("⚠", "warning"),
                Severity::Error => ("✗", "error"),
            },
        }
    }
}

/// The results for an upstream and its UAA.
#[derive(Debug)]
pub(crate) struct Examined<T> {
    /// The client of the upstream. Without one that is configured, a chart has an error.
    pub(crate) client: Option<T>,
    pub(crate) charts: Vec<Chart>,
}

impl<T> Examined<T> {
    pub(crate) fn left_out(charts: Vec<Chart>) -> Self {
        Self {
            client: None,
            charts,
        }
    }
}

/// All results for one subject, in the order of the probes.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) subject: Subject,
    pub(crate) timeouts: Timeouts,
    pub(crate) rows: Vec<Row>,
    /// The difference of its clock to this machine's, in seconds.
    pub(crate) ahead: Option<i64>,
    /// The UAA that has given a token for it.
    pub(crate) uaa: Uaa,
    /// The certificates that it shows, its own first.
    pub(crate) certificates: Vec<OwnCertificate>,
}

impl Chart {
    pub(crate) fn of(subject: Subject, timeouts: Timeouts) -> Self {
        Self {
            subject,
            timeouts,
            rows: Vec::new(),
            ahead: None,
            uaa: Uaa::default(),
            certificates: Vec::new(),
        }
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.rows.iter().filter_map(Row::finding)
    }

    pub(crate) fn into_findings(self) -> impl Iterator<Item = Finding> {
        self.rows.into_iter().filter_map(|row| match row.outcome {
            Outcome::Fine(_) | Outcome::NotAsked(_) => None,
            Outcome::Found(finding) => Some(finding),
        })
    }

    pub(crate) fn fine(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        text: impl Into<String>,
    ) {
        self.row(probe, took.into(), Outcome::Fine(text.into()));
    }

    pub(crate) fn not_asked(&mut self, probe: Probe, why: impl Into<String>) {
        self.row(probe, None, Outcome::NotAsked(why.into()));
    }

    pub(crate) fn found(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        finding: Finding,
    ) {
        self.row(probe, took.into(), Outcome::Found(finding));
    }

    /// A probe has failed, so the following ones are impossible. Returns `None`, with which a probe ends.
    pub(crate) fn failed<T>(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        finding: Finding,
    ) -> Option<T> {
        self.found(probe, took, finding);
        None
    }

    /// The result of a call, unless it has failed: then a probe ends with this finding.
    pub(crate) fn unless_failed<T, E>(
        &mut self,
        probe: Probe,
        took: impl Into<Option<Duration>>,
        result: Result<T, E>,
        finding: impl FnOnce(E) -> Finding,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => self.failed(probe, took, finding(error)),
        }
    }

    fn row(&mut self, probe: Probe, took: Option<Duration>, outcome: Outcome) {
        let row = Row {
            probe,
            took,
            outcome,
        };
        self.rows.push(row);
    }
}
