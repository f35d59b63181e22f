//! UAAs: whether one answers, and issues a token for the credentials.

pub(crate) mod rights;

use std::fmt;

use jiff::Timestamp;
use odb_clients::{
    FailureKind, ServiceError,
    http::{StatusCode, TransportError},
    uaa::{Token, TokenSource},
};
use odb_core::finding::Finding;
use odb_redaction::Chain;
use serde::Deserialize;

use crate::preflight::{
    doctor::{
        chart::{Chart, Probe, Subject},
        context::timed,
    },
    server::Server,
};

#[derive(Deserialize)]
struct Information {
    app: App,
}

#[derive(Deserialize)]
struct App {
    version: String,
}

/// The identity for a token: the client's id or the user's name, and the key of the credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Applicant<'a> {
    Client(&'a str, &'static str),
    User(&'a str, &'static str),
}

impl fmt::Display for Applicant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(name, _) => write!(f, "client `{name}`"),
            Self::User(name, _) => write!(f, "user `{name}`"),
        }
    }
}

impl<'a> Applicant<'a> {
    pub(crate) fn name(self) -> &'a str {
        let (Self::Client(name, _) | Self::User(name, _)) = self;
        name
    }

    pub(crate) fn key(self) -> &'static str {
        let (Self::Client(_, key) | Self::User(_, key)) = self;
        key
    }

    /// UAA does not reveal whether the name or the secret is wrong.
    fn unauthenticated(self, uaa: &Server<'_>) -> String {
        let at = uaa.authority();
        match self {
            Self::Client(name, key) => format!(
                "see whether the UAA at `{at}` has the client `{name}` (`uaac client get {name}`): make it, or \
                 correct `{key}`; UAA does not report which of the two is wrong"
            ),
            Self::User(name, key) => format!(
                "see whether the UAA at `{at}` has the user `{name}` (`uaac user get {name}`), and correct `{key}`; UAA does not \
                 report whether the name or the password is wrong, and locks users out who fail too often"
            ),
        }
    }
}

/// Probes a UAA without credentials: whether it can issue tokens.
pub(crate) async fn look(server: &Server<'_>, chart: &mut Chart) -> Option<()> {
    server.reach(chart).await?;
    let answered = server.ask(&["info"], chart).await?;
    match answered.answer.json::<Information>() {
        Ok(Information { app }) if answered.answer.status() == StatusCode::OK => {
            let text = format!("UAA {}", app.version);
            chart.fine(Probe::Answer, answered.took, text);
            Some(())
        }
        Ok(_) | Err(_) => server.refute(answered, "UAA", chart),
    }
}

/// Requests a token. `chart` is the client's subject.
pub(crate) async fn token(
    tokens: &TokenSource,
    applicant: Applicant<'_>,
    uaa: &Server<'_>,
    chart: &mut Chart,
) -> Option<Token> {
    let (clock, call) = (Timestamp::now(), chart.timeouts.call());
    let (outcome, took) = timed(tokens.token(&call)).await;
    let subject = chart.subject;
    let token = chart.unless_failed(Probe::Credentials, took, outcome, |error| {
        refused(&error, applicant, uaa, subject)
    })?;
    let mut life = String::new();
    if let Some(claims) = token.claims() {
        let seconds = claims.expires_at.saturating_sub(claims.issued_at);
        life = format!(" for {} min", seconds / 60);
        let ahead = claims.issued_at - clock.as_second();
        chart.ahead.get_or_insert(ahead);
        chart.uaa.issuer = Some(claims.issuer);
    }
    let text = format!("{applicant} has a token{life}");
    chart.fine(Probe::Credentials, took, text);
    Some(token)
}

fn refused(
    error: &ServiceError,
    applicant: Applicant<'_>,
    uaa: &Server<'_>,
    subject: Subject,
) -> Finding {
    let (key, at) = (applicant.key(), uaa.authority());
    let (rejected, unreachable) = (subject.credentials_code(), subject.unreachable());
    let (code, remedy) = match &error.kind {
        FailureKind::Refused { name, .. } if name == "unauthorized_client" => {
            let remedy = match applicant {
                Applicant::Client(name, _) => {
                    format!("allow the client `{name}` the grant `client_credentials` there")
                }
                Applicant::User(..) => {
                    "allow the client `cf` the grant `password` there".to_owned()
                }
            };
            (rejected, remedy)
        }
        FailureKind::Refused { status, .. } if !status.is_server_error() => {
            (rejected, applicant.unauthenticated(uaa))
        }
        FailureKind::UnsendableCredentials => {
            let remedy = format!("correct `{key}`: it has characters that no header can carry");
            (rejected, remedy)
        }
        FailureKind::NoResponse { source, .. } => (unreachable, uaa.remedy_of(source)),
        FailureKind::OutOfTime { .. } => {
            let source = TransportError::OutOfTime { sent: true };
            (unreachable, uaa.remedy_of(&source))
        }
        _ => (unreachable, format!("look at the log of the UAA at `{at}`")),
    };
    let tried = format!("a token for {applicant} from the UAA at `{at}`");
    Finding::tried(code, Some(key), tried, Chain(error).to_string(), remedy)
}

/// Whether UAA has rejected the token request. An error in another form than that of OAuth (RFC 6749, section 5.2) is
/// not from a working UAA.
pub(crate) fn is_rejection(error: &ServiceError) -> bool {
    match &error.kind {
        FailureKind::Refused { status, name, .. } => {
            let says_no = matches!(
                *status,
                StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
            );
            says_no && !name.is_empty()
        }
        FailureKind::UnsendableCredentials => true,
        _ => false,
    }
}

/// A service has answered, and rejects the token or password.
pub(crate) fn is_unauthorized(error: &ServiceError) -> bool {
    matches!(
        error.status(),
        Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    )
}
