//! CredHub, the Director's and that of applications, with its UAA: that it answers, knows us and lets us look.

mod permissions;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind, ServiceError,
    credhub::{CredHub, CredHubClient, CredHubVersion, CredentialName, PermittedOperation},
    http::{TransportError, address},
};
use odb_config::Address;
use odb_core::finding::Finding;

use crate::preflight::{
    certificates::trust::Authorities,
    chart::{Chart, Examined, Probe, Subject},
    context::{Context, timed},
    server::{AddressSource, Server},
    uaa::{
        self, Applicant, is_rejection, is_unauthorized,
        rights::{Side, WITH_CREDENTIALS, WITH_SECRETS},
    },
};

/// A name that BOSH DNS is to give may come a little later than the broker, which the Go broker waits for as long.
const FIRST_PAUSE: Duration = Duration::from_millis(16);
const PAUSES: usize = 10;

struct Endpoint<'a> {
    context: &'a Context<'a>,
    side: Side,
    /// Where it is, and by which key.
    address: (&'a Address, &'static str),
    authorities: Authorities<'a>,
    client: &'a CredHubClient,
    key: &'static str,
    /// The key by which the authority of its UAA is given.
    uaa_authority: &'static str,
    /// The folder in which all brokers work.
    root: &'static str,
    needed: &'static [PermittedOperation],
    feature: &'static str,
    /// The remedy if it does not answer.
    unreachable: &'static str,
}

pub(crate) async fn look_at_the_directors(context: &Context<'_>) -> Examined<CredHub> {
    let (section, subject) = (&context.bosh_credhub, Subject::DirectorCredHub);
    let switched_off = "`broker.enable_secure_manifests` is off";
    let access = match context.section(section, &[subject], switched_off) {
        Ok(access) => access,
        Err(charts) => return Examined::left_out(charts),
    };
    let mut authorities = Authorities::of_directors_credhub(access);
    let bosh = context.bosh.right();
    if bosh.and_then(|bosh| bosh.root_ca_cert.as_ref()) == access.ca_certs.as_ref() {
        for (given_by, _) in &mut authorities.configured {
            *given_by = "bosh.root_ca_cert";
        }
    }
    let endpoint = Endpoint {
        context,
        side: Side::Director,
        address: (&access.url, "bosh_credhub.url"),
        authorities,
        client: &access.client,
        key: "bosh_credhub.authentication.uaa.client_credentials",
        uaa_authority: "bosh_credhub.root_ca_cert",
        root: "/odb",
        needed: &WITH_SECRETS,
        feature: "secure manifests (`broker.enable_secure_manifests`)",
        unreachable: "check `bosh_credhub.url`, `bosh_credhub.root_ca_cert` and that it can be reached from here, or unset \
                      `broker.enable_secure_manifests`",
    };
    endpoint.look([subject, Subject::DirectorCredHubUaa]).await
}

pub(crate) async fn look_at_that_of_applications(context: &Context<'_>) -> Examined<CredHub> {
    let (section, subject) = (&context.runtime_credhub, Subject::RuntimeCredHub);
    let section = match context.section(section, &[subject], "`credhub` is not configured") {
        Ok(section) => section,
        Err(charts) => return Examined::left_out(charts),
    };
    let endpoint = Endpoint {
        context,
        side: Side::Platform,
        address: (&section.url, "credhub.api_url"),
        authorities: Authorities::of_runtime_credhub(section),
        client: &section.client,
        key: "credhub.client_secret",
        uaa_authority: "credhub.internal_uaa_ca_cert",
        root: "/c",
        needed: &WITH_CREDENTIALS,
        feature: "secure bindings (`credhub`)",
        unreachable: "check `credhub.api_url`, `credhub.ca_cert` and that it can be reached from here",
    };
    endpoint.look([subject, Subject::RuntimeCredHubUaa]).await
}

impl Endpoint<'_> {
    async fn look(self, subjects: [Subject; 2]) -> Examined<CredHub> {
        let [mut chart, mut of_uaa] = subjects.map(|subject| self.context.chart(subject));
        let client = self.look_into(&mut chart, &mut of_uaa).await;
        let charts = vec![chart, of_uaa];
        Examined { client, charts }
    }

    async fn look_into(&self, chart: &mut Chart, of_uaa: &mut Chart) -> Option<CredHub> {
        let (url, key) = (address::server(self.address.0.as_written()), self.address.1);
        let authorities = self.authorities.clone();
        let server = Server::configured(self.context, url, key, authorities, chart)?;
        let answered = server.first_answer(self.context, &["info"], chart).await?;
        let took = answered.as_ref().map(|answered| answered.took);
        let credhub = match (self.connect(&server).await, answered) {
            (Ok(credhub), _) => credhub,
            (Err(error @ ConnectError::UaaAddress { .. }), _) | (Err(error), None) => {
                let finding = self.of_connection(&error, &server, chart.subject);
                return chart.failed(Probe::Answer, took, finding);
            }
            (Err(_), Some(answered)) => return server.refute(answered, "CredHub", chart),
        };
        let tokens = credhub.tokens();
        let mut uaa_server = Server {
            url: tokens.server(),
            source: AddressSource::Upstream {
                who: chart.subject.names().0,
                setting: "`credhub.authentication.uaa.url` in its manifest",
            },
            ..server
        };
        uaa_server.authorities.key = self.uaa_authority;
        let text = format!(
            "CredHub, whose tokens come from `{}`",
            uaa_server.authority()
        );
        chart.fine(Probe::Answer, took, text);
        chart.uaa.url = Some(tokens.server());
        let found = uaa::look(self.context, &uaa_server, of_uaa).await;
        if found.is_none() {
            chart.not_asked(Probe::Credentials, "its UAA cannot be reached");
            return None;
        }
        let token = uaa::token(tokens, self.applicant(), &uaa_server, chart).await?;
        if self.context.is_start() {
            self.read(&credhub, chart).await?;
            return Some(credhub);
        }
        if !self.may_enter(&token, chart) {
            chart.not_asked(Probe::Version, "the token gives no access");
            return None;
        }
        if self.version(&credhub, chart).await?.is_before_2() {
            let text = "CredHub before 2.0 knows no permissions for folders";
            chart.not_asked(Probe::Rights, text);
        } else {
            self.permissions(&credhub, chart).await;
        }
        Some(credhub)
    }

    /// At a start the CredHub of applications, if it is out of reach, may listen soon.
    async fn connect(&self, server: &Server<'_>) -> Result<CredHub, ConnectError> {
        let (call, limits) = (self.context.timeouts.call(), self.context.timeouts.limits());
        let attempt = || {
            let (url, client) = (server.url.as_str(), self.client.clone());
            CredHub::connect(&call, url, &server.trust, client, limits.clone())
        };
        let is_awaited = self.context.is_start() && self.side == Side::Platform;
        let pauses = ExponentialBuilder::new()
            .with_min_delay(FIRST_PAUSE)
            .with_max_times(if is_awaited { PAUSES } else { 0 });
        attempt
            .retry(pauses)
            .when(is_out_of_reach)
            .adjust(|_, pause| pause.filter(|pause| *pause < call.deadline.remaining()))
            .await
    }

    fn of_connection(
        &self,
        error: &ConnectError,
        server: &Server<'_>,
        subject: Subject,
    ) -> Finding {
        let remedy = match error {
            ConnectError::UaaAddress { .. } => {
                "correct `credhub.authentication.uaa.url` in CredHub's own manifest"
            }
            _ => self.unreachable,
        };
        let (url, key) = self.address;
        let tried = format!("to query the {subject} at `{}`", server.authority());
        let found = format!("could not query the {subject} at `{url}`");
        Finding::tried(subject.unreachable(), Some(key), tried, found, remedy).because(error)
    }

    fn applicant(&self) -> Applicant<'_> {
        Applicant::Client(&self.client.client_id, self.key)
    }

    fn finding(&self, code: Code, tried: String, found: String, remedy: String) -> Finding {
        Finding::tried(code, Some(self.key), tried, found, remedy)
    }

    /// Reads as at a start. Of the Director's CredHub only read rights can be verified: it hides entries from clients
    /// without them, and a write would change something.
    async fn read(&self, credhub: &CredHub, chart: &mut Chart) -> Option<()> {
        let (url, subject) = (self.address.0, chart.subject);
        let version = self.version(credhub, chart).await?;
        if self.side == Side::Director
            && let Some(offering) = self.context.offering
        {
            // The offering's own folder may have more entries than can be listed in time; this one is empty.
            let folder = format!("{}/{}/start-up", self.root, offering.id);
            match folder.parse::<CredentialName>() {
                Ok(folder) => {
                    let names = credhub.names_below(&chart.timeouts.call(), &folder).await;
                    chart.unless_failed(Probe::Rights, None, names, |error| {
                        self.refused(&error, subject)
                    })?;
                }
                Err(error) => tracing::warn!(
                    code = %Code::Manifest,
                    %error,
                    "`service_catalog.id` has characters that CredHub does not accept: orders whose adapter returns secrets will fail"
                ),
            }
        }
        tracing::info!(%url, %version, "the {subject} accepts the broker's credentials");
        Some(())
    }

    async fn version(&self, credhub: &CredHub, chart: &mut Chart) -> Option<CredHubVersion> {
        let call = chart.timeouts.call();
        let (version, took) = timed(credhub.version(&call)).await;
        let subject = chart.subject;
        let version = chart.unless_failed(Probe::Version, took, version, |error| {
            self.refused(&error, subject)
        })?;
        chart.fine(Probe::Version, took, format!("CredHub {version}"));
        Some(version)
    }

    fn refused(&self, error: &ServiceError, subject: Subject) -> Finding {
        let applicant = self.applicant();
        let is_refused = match &error.kind {
            FailureKind::NoToken { source } => is_rejection(source),
            _ => is_unauthorized(error),
        };
        let (code, remedy) = if is_refused {
            let remedy = format!(
                "see that {applicant} has `credhub.read` and `credhub.write`, and that CredHub takes the tokens of the UAA that it \
                 names: compare `credhub.authentication.uaa` in its manifest with that UAA, and the clocks of both"
            );
            (subject.credentials_code(), remedy)
        } else {
            let remedy = format!("look at the log of the {subject}");
            (subject.unreachable(), remedy)
        };
        let tried = format!("to read from it as {applicant}");
        let found = format!(
            "the {subject} at `{}` denies the broker access",
            self.address.0
        );
        self.finding(code, tried, found, remedy).because(error)
    }
}

/// No connection came about: its name is not known yet, or it does not listen yet.
fn is_out_of_reach(error: &ConnectError) -> bool {
    let ConnectError::Info { source, .. } = error else {
        return false;
    };
    matches!(
        source.kind,
        FailureKind::NoResponse {
            source: TransportError::NotConnected { .. }
        }
    )
}
