//! A UAA: whether it answers, and issues a token for the credentials.

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
        chart::Chart,
        context::timed,
        subject::{Probe, Subject},
    },
    server::{
        answer::{ask, silence},
        reach::Server,
    },
};

#[derive(Deserialize)]
struct Information {
    app: App,
}

#[derive(Deserialize)]
struct App {
    version: String,
}

/// The identity for a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applicant<'a> {
    pub(crate) kind: ApplicantKind,
    /// The client's id, or the user's name.
    pub(crate) name: &'a str,
    /// The key of the credentials.
    pub(crate) key: &'static str,
}

/// The applicant for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApplicantKind {
    Client,
    User,
}

/// Probes a UAA without credentials: whether it can issue tokens.
pub(crate) async fn look(server: &Server<'_>, chart: &mut Chart) -> Option<()> {
    server.reach(chart).await?;
    let answered = ask(server, &["info"], chart).await?;
    match answered.answer.json::<Information>() {
        Ok(Information { app }) if answered.answer.status() == StatusCode::OK => {
            let text = format!("UAA {}", app.version);
            chart.fine(Probe::Answer, answered.took, text);
            Some(())
        }
        Ok(_) | Err(_) => answered.refute("UAA", server, chart),
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
    let token = match outcome {
        Ok(token) => token,
        Err(error) => {
            let finding = refused(&error, applicant, uaa, chart.subject);
            return chart.failed(Probe::Credentials, took, finding);
        }
    };
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
    let key = applicant.key;
    let (code, remedy) = match &error.kind {
        FailureKind::Refused { name, .. } if name == "unauthorized_client" => (
            subject.credentials_code(),
            match applicant.kind {
                ApplicantKind::Client => {
                    let name = applicant.name;
                    format!("allow the client `{name}` the grant `client_credentials` there")
                }
                ApplicantKind::User => {
                    "allow the client `cf` the grant `password` there".to_owned()
                }
            },
        ),
        FailureKind::Refused { status, .. } if !status.is_server_error() => {
            (subject.credentials_code(), applicant.unauthenticated(uaa))
        }
        FailureKind::UnsendableCredentials => (
            subject.credentials_code(),
            format!("correct `{key}`: it has characters that no header can carry"),
        ),
        FailureKind::NoAnswer { source, .. } => (subject.unreachable(), silence(source, uaa).1),
        FailureKind::OutOfTime { .. } => {
            let source = TransportError::OutOfTime { sent: true };
            (subject.unreachable(), silence(&source, uaa).1)
        }
        _ => (
            subject.unreachable(),
            format!("look at the log of the UAA at `{}`", uaa.authority()),
        ),
    };
    Finding::tried(
        code,
        Some(key),
        format!(
            "a token for {applicant} from the UAA at `{}`",
            uaa.authority()
        ),
        Chain(error).to_string(),
        remedy,
    )
}

/// As whom, for people.
impl fmt::Display for Applicant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ApplicantKind::Client => write!(f, "client `{}`", self.name),
            ApplicantKind::User => write!(f, "user `{}`", self.name),
        }
    }
}

impl Applicant<'_> {
    /// UAA does not reveal whether the name or the secret is wrong.
    fn unauthenticated(self, uaa: &Server<'_>) -> String {
        let (name, key, at) = (self.name, self.key, uaa.authority());
        match self.kind {
            ApplicantKind::Client => format!(
                "see whether the UAA at `{at}` has the client `{name}` (`uaac client get {name}`): make it, or \
                 correct `{key}`; UAA does not report which of the two is wrong"
            ),
            ApplicantKind::User => format!(
                "see whether the UAA at `{at}` has the user `{name}` (`uaac user get {name}`), and correct `{key}`; UAA does not \
                 report whether the name or the password is wrong, and locks users out who fail too often"
            ),
        }
    }
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
    let status = error.status();
    matches!(
        status,
        Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    )
}
