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
use serde::Deserialize;

use crate::preflight::{
    chart::{Chart, Probe, Subject},
    context::{Context, timed},
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

/// Probes a UAA without credentials: whether it can issue tokens. A start only requests one.
pub(crate) async fn look(
    context: &Context<'_>,
    server: &Server<'_>,
    chart: &mut Chart,
) -> Option<()> {
    let Some(answered) = server.first_answer(context, &["info"], chart).await? else {
        return Some(());
    };
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
    let at = uaa.authority();
    let remedy = match &error.kind {
        FailureKind::Refused { name, .. } if name == "unauthorized_client" => match applicant {
            Applicant::Client(name, _) => {
                format!("allow the client `{name}` the grant `client_credentials` there")
            }
            Applicant::User(..) => "allow the client `cf` the grant `password` there".to_owned(),
        },
        FailureKind::Refused { .. } if is_rejection(error) => applicant.unauthenticated(uaa),
        FailureKind::UnsendableCredentials => format!(
            "correct `{}`: it has characters that no header can carry",
            applicant.key()
        ),
        FailureKind::NoResponse { source, .. } => uaa.remedy_of(source),
        FailureKind::OutOfTime { .. } => uaa.remedy_of(&TransportError::OutOfTime { sent: true }),
        _ => format!(
            "look at the log of the UAA at `{at}`, or {}: a healthy UAA must answer there",
            uaa.source.remedy()
        ),
    };
    let (code, key) = if is_rejection(error) {
        (subject.credentials_code(), applicant.key())
    } else {
        let key = uaa.source.key().unwrap_or(applicant.key());
        (subject.unreachable(), key)
    };
    let (tried, taker) = (
        format!("a token for {applicant} from the UAA at `{at}`"),
        subject.taker_of_tokens(),
    );
    let found = format!("could not get a token for the {taker} from the UAA at `{at}`");
    Finding::tried(code, Some(key), tried, found, remedy).because(error)
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

#[cfg(test)]
mod tests {
    use odb_clients::{
        Service,
        director::Credentials,
        http::{Method, Trust, address},
    };
    use odb_config::{Address, Bosh};

    use super::*;
    use crate::preflight::{certificates::trust::Authorities, server::AddressSource};

    #[test]
    fn a_server_that_is_no_uaa_is_not_a_uaa_that_rejects_the_broker() {
        let bosh = Bosh {
            url: Address::of("https://director.example").unwrap(),
            root_ca_cert: None,
            credentials: Credentials::Basic {
                username: "u".to_owned(),
                password: "p".into(),
            },
        };
        let server = Server {
            url: address::server("https://uaa.example").unwrap(),
            source: AddressSource::Key("cf.uaa.url"),
            authorities: Authorities::of_director(&bosh),
            trust: Trust::unverified().unwrap(),
        };
        let applicant = Applicant::Client("odb", "cf.uaa.authentication.client_credentials");
        let (rejected, unreachable) = (("ODB-1110", applicant.key()), ("ODB-1103", "cf.uaa.url"));
        for (status, name, (code, key)) in [
            (401, "invalid_client", rejected),
            (400, "unauthorized_client", rejected),
            (401, "", unreachable),
            (404, "", unreachable),
            (404, "not_found", unreachable),
            (503, "", unreachable),
        ] {
            let kind = FailureKind::Refused {
                status: StatusCode::from_u16(status).unwrap(),
                code: None,
                name: name.to_owned(),
                description: String::new(),
            };
            let error = ServiceError::new(Service::Uaa, Method::POST, "/oauth/token", kind);
            let finding = refused(&error, applicant, &server, Subject::CloudControllerUaa);
            assert_eq!(finding.code.to_string(), code, "{status} {name}");
            assert_eq!(finding.key.as_deref(), Some(key), "{status} {name}");
            let found =
                "could not get a token for the Cloud Controller from the UAA at `uaa.example:443`";
            assert_eq!(finding.found, found);
        }
    }
}
