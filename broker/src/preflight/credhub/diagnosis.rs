//! A CredHub, of either foundation, and its UAA.

use std::{collections::BTreeSet, time::Duration};

use futures_util::future::join_all;
use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, ServiceError,
    credhub::{Actor, CredHub, CredHubClient, CredHubVersion, CredentialName, PermittedOperation},
    http::address,
    uaa::Token,
};
use odb_config::Address;
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::preflight::{
    certificates::trust::Authorities,
    director,
    doctor::{
        chart::{Chart, Probe, Subject},
        context::{Context, timed},
    },
    server::{AddressSource, Server},
    uaa::{
        self, Applicant, is_unauthorized,
        rights::{
            CREDHUB_SCOPES, Grants, Side, WITH_CREDENTIALS, WITH_SECRETS, missing, not_permitted,
            to_permit,
        },
    },
};

const UNSEEN: &str = "no permission can be seen: there is none, or it lacks `read_acl`";

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
}

pub(crate) async fn look_at_the_directors(context: &Context<'_>) -> Vec<Chart> {
    let (section, subject) = (&context.sections.bosh_credhub, Subject::DirectorCredHub);
    let switched_off = "`broker.enable_secure_manifests` is off";
    let access = match context.section(section, &[subject], switched_off) {
        Ok(access) => access,
        Err(charts) => return charts,
    };
    let mut authorities = Authorities::of_directors_credhub(access);
    let bosh = context.sections.bosh.right();
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
    };
    endpoint.look([subject, Subject::DirectorCredHubUaa]).await
}

pub(crate) async fn look_at_that_of_applications(context: &Context<'_>) -> Vec<Chart> {
    let (section, subject) = (&context.sections.runtime_credhub, Subject::RuntimeCredHub);
    let section = match context.section(section, &[subject], "`credhub` is not configured") {
        Ok(section) => section,
        Err(charts) => return charts,
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
    };
    endpoint.look([subject, Subject::RuntimeCredHubUaa]).await
}

impl Endpoint<'_> {
    async fn look(self, subjects: [Subject; 2]) -> Vec<Chart> {
        let [mut chart, mut of_uaa] = subjects.map(|subject| self.context.chart(subject));
        self.look_into(&mut chart, &mut of_uaa).await;
        vec![chart, of_uaa]
    }

    async fn look_into(&self, chart: &mut Chart, of_uaa: &mut Chart) -> Option<()> {
        let (url, key) = (address::server(self.address.0.as_written()), self.address.1);
        let server = Server::configured(url, key, self.authorities.clone(), chart)?;
        server.reach(chart).await?;
        let answered = server.ask(&["info"], chart).await?;
        let (call, limits) = (chart.timeouts.call(), chart.timeouts.limits());
        let (url, client) = (server.url.as_str(), self.client.clone());
        let credhub = match CredHub::connect(&call, url, &server.trust, client, limits).await {
            Ok(credhub) => credhub,
            Err(ConnectError::UaaAddress { source: error, .. }) => {
                let (code, came) = (chart.subject.unreachable(), Chain(&error).to_string());
                let remedy = "correct `credhub.authentication.uaa.url` in CredHub's own manifest";
                let finding = Finding::tried(code, None, "to read where its UAA is", came, remedy);
                return chart.failed(Probe::Answer, answered.took, finding);
            }
            Err(_) => return server.refute(answered, "CredHub", chart),
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
        chart.fine(Probe::Answer, answered.took, text);
        chart.uaa.url = Some(tokens.server());
        if uaa::look(&uaa_server, of_uaa).await.is_none() {
            chart.not_asked(Probe::Credentials, "its UAA cannot be reached");
            return None;
        }
        let token = uaa::token(tokens, self.applicant(), &uaa_server, chart).await?;
        if !self.may_enter(&token, chart) {
            chart.not_asked(Probe::Version, "the token gives no access");
            return None;
        }
        if self.version(&credhub, chart).await?.is_before_2() {
            let text = "CredHub before 2.0 knows no permissions for folders";
            chart.not_asked(Probe::Rights, text);
            return Some(());
        }
        self.permissions(&credhub, chart).await
    }

    fn applicant(&self) -> Applicant<'_> {
        Applicant::Client(&self.client.client_id, self.key)
    }

    fn actor(&self) -> Actor {
        Actor::UaaClient(self.client.client_id.clone())
    }

    fn finding(&self, code: Code, tried: String, came: String, remedy: String) -> Finding {
        Finding::tried(code, Some(self.key), tried, came, remedy)
    }

    fn may_enter(&self, token: &Token, chart: &mut Chart) -> bool {
        let missing = missing(&CREDHUB_SCOPES, token.scopes());
        if missing.is_empty() {
            return true;
        }
        let grants = Grants {
            sections: self.context.sections,
            side: self.side,
        };
        let (feature, update) = (self.feature, grants.update(&self.client.client_id, token));
        let tried = format!("the scopes of the token of {}", self.applicant());
        let came = format!("it lacks `{}`, which {feature} need", missing.join("`, `"));
        let remedy = format!("give it what it lacks (`{update}`)");
        let finding = self.finding(chart.subject.credentials_code(), tried, came, remedy);
        chart.found(Probe::Rights, None, finding);
        false
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
        let (code, remedy) = if is_unauthorized(error) {
            let remedy = "it does not take the tokens of the UAA that it names: compare `credhub.authentication.uaa` in its \
                          manifest with that UAA, and the clocks of both";
            (subject.credentials_code(), remedy.to_owned())
        } else {
            let remedy = format!("look at the log of the {subject}");
            (subject.unreachable(), remedy)
        };
        let tried = format!("to read from it as {}", self.applicant());
        self.finding(code, tried, Chain(error).to_string(), remedy)
    }

    /// CredHub shows permissions to clients that may read them; to others it shows none.
    async fn permissions(&self, credhub: &CredHub, chart: &mut Chart) -> Option<()> {
        let offering = self.context.offering();
        let own = offering.map(|offering| format!("{}/{}", self.root, offering.id));
        let folders: Vec<CredentialName> = [Some(self.root.to_owned()), own]
            .into_iter()
            .filter_map(|folder| CredentialName::try_from(folder?).ok())
            .collect();
        let asked = self.permitted_below(credhub, &folders, chart).await;
        let (permitted, took) = asked?;
        let path = format!("{}/*", folders.last().map_or("", CredentialName::as_str));
        let lacking = not_permitted(self.needed, &permitted);
        if lacking.is_empty() {
            let operations: Vec<_> = permitted.iter().map(ToString::to_string).collect();
            let text = format!("`{}` below `{path}`", operations.join("`, `"));
            chart.fine(Probe::Rights, took, text);
            if self.side == Side::Director
                && let Some(folder) = director::diagnosis::folder_of_variables(self.context).await
            {
                self.variables(credhub, folder, chart).await;
            }
            return Some(());
        }
        if permitted.is_empty() && keeps_no_permissions(credhub, chart).await {
            let why = "no permission can be seen, and names can: CredHub seems to keep none (`authorization.acls.enabled: false`)";
            chart.not_asked(Probe::Rights, why);
            return Some(());
        }
        let feature = self.feature;
        let wanted = to_permit(self.needed, &permitted);
        let finding = if permitted.is_empty() {
            let came = format!("{UNSEEN}; {feature} need `{}`", lacking.join("`, `"));
            self.of_permissions(&path, came, &wanted, chart).warning()
        } else {
            let came = format!("it lacks `{}`, which {feature} need", lacking.join("`, `"));
            self.of_permissions(&path, came, &wanted, chart)
        };
        chart.failed(Probe::Rights, took, finding)
    }

    /// Without `read` there, an adapter gets no variable that a manifest declares, which only adapters that need one
    /// notice.
    async fn variables(
        &self,
        credhub: &CredHub,
        folder: CredentialName,
        chart: &mut Chart,
    ) -> Option<()> {
        let path = format!("{folder}/*");
        let asked = self.permitted_below(credhub, &[folder], chart).await;
        let (permitted, took) = asked?;
        if permitted.contains(&PermittedOperation::Read) {
            let text = format!("`read` below `{path}`, where the variables of deployments are");
            chart.fine(Probe::Rights, took, text);
            return Some(());
        }
        let seen = if permitted.is_empty() {
            UNSEEN
        } else {
            "it lacks `read`"
        };
        let came = format!(
            "{seen}; bindings and updates fail where the adapter needs the value of a variable that the manifest declares"
        );
        let wanted = to_permit(&[PermittedOperation::Read], &permitted);
        let finding = self.of_permissions(&path, came, &wanted, chart);
        chart.failed(Probe::Rights, took, finding.warning())
    }

    /// The permissions below some folders or below all, and how long the request took.
    async fn permitted_below(
        &self,
        credhub: &CredHub,
        folders: &[CredentialName],
        chart: &mut Chart,
    ) -> Option<(BTreeSet<PermittedOperation>, Duration)> {
        let (actor, call) = (self.actor(), chart.timeouts.work());
        let folders = folders.iter().map(Some).chain([None]);
        let asked = folders.map(|folder| credhub.permitted_below(&call, folder, &actor));
        let (answers, took) = timed(join_all(asked)).await;
        let answers: Result<Vec<_>, _> = answers.into_iter().collect();
        let subject = chart.subject;
        let permitted = chart.unless_failed(Probe::Rights, took, answers, |error| {
            self.refused(&error, subject)
        })?;
        Some((permitted.into_iter().flatten().collect(), took))
    }

    fn of_permissions(
        &self,
        path: &str,
        came: String,
        wanted: &[String],
        chart: &Chart,
    ) -> Finding {
        let (actor, wanted) = (self.actor(), wanted.join(","));
        let tried = format!("to see what `{actor}` may do below `{path}`");
        let remedy = format!(
            "let an administrator of CredHub permit it: `credhub set-permission -p '{path}' -a {actor} -o {wanted}`"
        );
        self.finding(chart.subject.credentials_code(), tried, came, remedy)
    }
}

/// A client that sees names without a permission uses a CredHub without permissions, as the Director's often is.
async fn keeps_no_permissions(credhub: &CredHub, chart: &Chart) -> bool {
    let names = credhub.names_like(&chart.timeouts.call(), "/").await;
    names.is_ok_and(|names| !names.is_empty())
}
