//! Injected faults.
//!
//! The requests that a fault matches.
//!
//! The certificate that a server presents.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use actix_web::dev::RequestHead;
use clap::ValueEnum;
use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use serde::{Deserialize, Serialize};

use super::{
    effect::{CertificateFlaw, Effect},
    table::Faults,
    words::{FieldName, FieldValue, PathPattern, RequestMethod},
};

/// The largest body of a fault's answer, in bytes.
const BODY_LIMIT: usize = 1024 * 1024;

/// A way in which a server fails, and whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The server that fails.
    pub server: ServerName,
    /// The requests that it strikes. Certificates are chosen before there is a request, so theirs strike connections.
    #[serde(default, skip_serializing_if = "Requests::are_all")]
    pub requests: Requests,
    /// How many of them it lets pass first.
    #[serde(default)]
    pub after: u64,
    /// How many of them it strikes. Without a number it strikes until it is cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The effect.
    pub effect: Effect,
}

/// A server of the foundation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum ServerName {
    /// The Director.
    Director,
    /// The Director's UAA.
    BoshUaa,
    /// The Director's CredHub.
    Credhub,
    /// The Cloud Controller.
    CloudController,
    /// The Cloud Controller's UAA.
    CfUaa,
    /// The CredHub of applications.
    RuntimeCredhub,
}

/// The id of a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultId(u64);

/// The fault could never take effect.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableError {
    /// A certificate belongs to a connection, not to requests.
    #[error("a certificate is chosen before there is a request: `requests` has no meaning here")]
    CertificateForRequests,
    /// It would affect no request.
    #[error("`times` must be at least 1")]
    Never,
    /// The body is longer than the limit.
    #[error("a body of {0} bytes is more than the {BODY_LIMIT} that a fault can answer with")]
    LongBody(usize),
}

impl Fault {
    /// A fault for every request to a server until it is cleared.
    pub fn new(server: ServerName, effect: Effect) -> Self {
        Self {
            server,
            requests: Requests::default(),
            after: 0,
            times: None,
            effect,
        }
    }

    /// The same for these requests only.
    #[must_use]
    pub fn on(mut self, requests: Requests) -> Self {
        self.requests = requests;
        self
    }

    /// The same, so many times.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// The same after so many requests have passed.
    #[must_use]
    pub fn after(mut self, after: u64) -> Self {
        self.after = after;
        self
    }

    pub(super) fn check(&self) -> Result<(), UnusableError> {
        if self.times == Some(0) {
            return Err(UnusableError::Never);
        }
        match &self.effect {
            Effect::Certificate { .. } if !self.requests.are_all() => {
                Err(UnusableError::CertificateForRequests)
            }
            Effect::Answer(answer) if answer.body.len() > BODY_LIMIT => {
                Err(UnusableError::LongBody(answer.body.len()))
            }
            _ => Ok(()),
        }
    }
}

impl ServerName {
    /// The server's title, also the common name of its certificate.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Director => "the Director",
            Self::BoshUaa => "the Director's UAA",
            Self::Credhub => "the Director's CredHub",
            Self::CloudController => "the Cloud Controller",
            Self::CfUaa => "the Cloud Controller's UAA",
            Self::RuntimeCredhub => "the CredHub of applications",
        }
    }
}

impl FaultId {
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for FaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for FaultId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Selects requests. Absent criteria match every request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<RequestMethod>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathPattern>,
    /// Parameters of their query, decoded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderMatch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderMatch {
    pub name: FieldName,
    /// Its value, if it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<FieldValue>,
}

impl Requests {
    pub fn to(method: RequestMethod, path: PathPattern) -> Self {
        Self {
            method: Some(method),
            path: Some(path),
            ..Self::default()
        }
    }

    pub(super) fn are_all(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn include(&self, request: &RequestHead) -> bool {
        let method = self.method.as_ref();
        let path = self.path.as_ref();
        method.is_none_or(|method| method.is(&request.method))
            && path.is_none_or(|path| path.matches(request.uri.path()))
            && self.asked_for(request.uri.query().unwrap_or_default())
            && self
                .header
                .as_ref()
                .is_none_or(|header| header.is_in(request))
    }

    fn asked_for(&self, query: &str) -> bool {
        self.query.iter().all(|(name, value)| {
            url::form_urlencoded::parse(query.as_bytes())
                .any(|(given, content)| given == *name && content == *value)
        })
    }
}

impl HeaderMatch {
    fn is_in(&self, request: &RequestHead) -> bool {
        let mut values = request.headers.get_all(self.name.as_str());
        match &self.value {
            None => values.next().is_some(),
            Some(wanted) => values.any(|value| value.as_bytes() == wanted.as_str().as_bytes()),
        }
    }
}

/// Chooses the certificate for each new connection: the valid one, or one that a fault requires.
pub(crate) struct Presented {
    pub(crate) server: ServerName,
    pub(crate) faults: Faults,
    pub(crate) right: Arc<CertifiedKey>,
    /// Those that they should not.
    pub(crate) flawed: BTreeMap<CertificateFlaw, Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Presented {
    fn resolve(&self, _client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let flaw = self.faults.certificate(self.server);
        let flawed = flaw.and_then(|flaw| self.flawed.get(&flaw));
        Some(Arc::clone(flawed.unwrap_or(&self.right)))
    }
}

impl fmt::Debug for Presented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presented")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
