//! The Director and its UAA, and the features of the Director that the enabled options need.

use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind,
    credhub::CredentialName,
    director::{Authentication, Credentials, Director, Info},
    http::StatusCode,
    uaa::Token,
};
use odb_config::{Bosh, BoshConfigs, Offering};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use super::{config_of_a_trial, open, version};
use crate::preflight::{
    certificates::trust::Authorities,
    doctor::{
        chart::{Chart, Probe, Subject},
        context::{BECAUSE_OF_ERRORS, Context, FILE_HAS_ERRORS, timed},
    },
    server::{AddressSource, Server},
    uaa::{
        self, Applicant,
        rights::{DirectorRights, Grants, Side},
    },
};

const CLIENT_KEY: &str = "bosh.authentication.uaa.client_credentials";
const USER_KEY: &str = "bosh.authentication.basic";

fn server_of<'a>(bosh: &'a Bosh, chart: &mut Chart) -> Option<Server<'a>> {
    let url = Director::server_at(bosh.url.as_written());
    Server::configured(url, "bosh.url", Authorities::of_director(bosh), chart)
}

/// The folder of its CredHub in which the Director stores the variables of deployments, named like the Director. None
/// if the Director does not answer, which is reported elsewhere.
pub(crate) async fn folder_of_variables(context: &Context<'_>) -> Option<CredentialName> {
    let bosh = context.sections.bosh.right()?;
    let server = server_of(bosh, &mut context.chart(Subject::Director))?;
    let (call, limits) = (context.timeouts.call(), context.timeouts.limits());
    let director = open(&call, bosh, &server.trust, limits).await.ok()?;
    let info = director.info(&call).await.ok()?;
    format!("/{}", info.name).parse().ok()
}

pub(crate) async fn look(context: &Context<'_>) -> Vec<Chart> {
    let subjects = [Subject::Director, Subject::DirectorUaa];
    let bosh = match context.section(&context.sections.bosh, &subjects, FILE_HAS_ERRORS) {
        Ok(bosh) => bosh,
        Err(charts) => return charts,
    };
    let [mut chart, mut of_uaa] = subjects.map(|subject| context.chart(subject));
    look_into(context, bosh, &mut chart, &mut of_uaa).await;
    if of_uaa.rows.is_empty() {
        of_uaa.not_asked(Probe::Answer, "only the Director knows where it is");
    }
    vec![chart, of_uaa]
}

/// Ends when no further probe is possible.
async fn look_into(
    context: &Context<'_>,
    bosh: &Bosh,
    chart: &mut Chart,
    of_uaa: &mut Chart,
) -> Option<()> {
    let server = server_of(bosh, chart)?;
    server.reach(chart).await?;
    let answered = server.ask(&["info"], chart).await?;
    let (call, limits) = (context.timeouts.work(), context.timeouts.limits());
    let director = match open(&call, bosh, &server.trust, limits).await {
        Ok(director) => director,
        Err(ConnectError::Info { source, .. })
            if matches!(
                source.kind,
                FailureKind::NotUnderstood { .. } | FailureKind::Refused { .. }
            ) =>
        {
            return server.refute(answered, "Director", chart);
        }
        Err(error) => {
            let finding = of_connection(&error, &server);
            return chart.failed(Probe::Answer, answered.took, finding);
        }
    };
    let info = match director.info(&context.timeouts.call()).await {
        Ok(info) if answered.answer.status() == StatusCode::OK => info,
        Ok(_) | Err(_) => return server.refute(answered, "Director", chart),
    };
    let text = format!(
        "`{}`, {}, users of kind `{}`",
        info.name, info.version, info.authentication
    );
    chart.fine(Probe::Answer, answered.took, text);
    compare_version(&info, context.offering(), chart);
    features(&info, context, chart);
    match &bosh.credentials {
        Credentials::Basic { username, .. } => {
            of_uaa.not_asked(Probe::Answer, "the Director has its own users");
            let applicant = Applicant::User(username, USER_KEY);
            identity(&director, applicant, &server, chart).await?;
            let text = "a user of the Director may do everything";
            chart.fine(Probe::Rights, None, text);
        }
        Credentials::Uaa { client_id, .. } => {
            debug_assert!(matches!(info.authentication, Authentication::Uaa { .. }));
            let applicant = Applicant::Client(client_id, CLIENT_KEY);
            let token = token(&director, &server, applicant, of_uaa).await?;
            identity(&director, applicant, &server, chart).await?;
            rights(&token, &info, context, applicant, chart)?;
        }
    }
    configs(&director, context, chart).await
}

async fn token(
    director: &Director,
    of_director: &Server<'_>,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> Option<Token> {
    let tokens = director.tokens()?;
    let uaa = Server {
        url: tokens.server(),
        source: AddressSource::Upstream {
            who: "Director",
            setting: "`director.user_management.uaa.url` in its manifest",
        },
        ..of_director.clone()
    };
    chart.uaa.url = Some(tokens.server());
    uaa::look(&uaa, chart).await?;
    uaa::token(tokens, applicant, &uaa, chart).await
}

/// The Director never rejects `/info`, but shows the authenticated user in it.
async fn identity(
    director: &Director,
    applicant: Applicant<'_>,
    server: &Server<'_>,
    chart: &mut Chart,
) -> Option<()> {
    let call = chart.timeouts.call();
    let (outcome, took) = timed(director.authenticated_info(&call)).await;
    let (came, code, remedy) = match outcome {
        Ok(Info {
            user: Some(user), ..
        }) => {
            chart.fine(Probe::Credentials, took, format!("we are `{user}`"));
            return Some(());
        }
        Ok(_) => {
            let remedy = match applicant {
                Applicant::User(_, key) => format!(
                    "correct `{key}`: the Director's manifest has its users at `director.user_management.local.users`"
                ),
                Applicant::Client(..) => {
                    "see that the Director takes tokens of the UAA that it names: \
                     `director.user_management.uaa.public_key` in its manifest, and its clock"
                        .to_owned()
                }
            };
            let came = "the Director does not accept the broker's credentials".to_owned();
            (came, Code::DirectorCredentials, remedy)
        }
        Err(error) => {
            let remedy = "look at the Director's log".to_owned();
            (Chain(&error).to_string(), Code::DirectorUnreachable, remedy)
        }
    };
    let tried = format!("`GET /info` of `{}` as {applicant}", server.authority());
    let finding = Finding::tried(code, Some(applicant.key()), tried, came, remedy);
    chart.failed(Probe::Credentials, took, finding)
}

fn rights(
    token: &Token,
    info: &Info,
    context: &Context<'_>,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> Option<()> {
    let scopes = token.scopes();
    let finding = |came, remedy| {
        let tried = format!("the scopes of the token of {applicant}");
        Finding::tried(Code::DirectorRights, Some(CLIENT_KEY), tried, came, remedy)
    };
    let has = match DirectorRights::of(scopes, &info.uuid) {
        DirectorRights::Everything(scope) => {
            let text = format!(
                "`{scope}` may do everything; `bosh.teams.TEAM.admin` is enough for all but cancelling tasks"
            );
            chart.fine(Probe::Rights, None, text);
            return Some(());
        }
        DirectorRights::Teams(teams) => {
            let came = format!(
                "admin of the teams `{}`: may deploy, change and delete service instances, run errands and keep configs, but \
                 not cancel tasks",
                teams.join("`, `")
            );
            let remedy = "nothing, if that is enough: what is cancelled ends after the step at work, and a deletion waits for the \
                          creation that it cuts short. With `bosh.admin` tasks are cancelled at once, but it may do everything to \
                          every deployment";
            let finding = finding(came, remedy.to_owned()).warning();
            chart.found(Probe::Rights, None, finding);
            return Some(());
        }
        DirectorRights::Reading => "may only read",
        DirectorRights::Nothing => "may do nothing",
    };
    let keeps_configs = context.bosh_configs() == BoshConfigs::Enabled;
    let has_errands = context.has_plan(|plan| {
        let errands = &plan.lifecycle_errands;
        !errands.post_deploy.is_empty() || !errands.pre_delete.is_empty()
    });
    let uses = [
        (true, "to deploy and to delete service instances"),
        (
            keeps_configs,
            "to keep BOSH configs (operation records, configs of adapters)",
        ),
        (
            context.has_dns_bindings(),
            "to make links (`binding_with_dns`)",
        ),
        (has_errands, "to run errands (`lifecycle_errands`)"),
    ];
    let needed = uses.into_iter().filter(|(is_needed, _)| *is_needed);
    let needed: Vec<&str> = needed.map(|(_, what)| what).collect();
    let came = format!(
        "it {has} there, having `{}`; `bosh.teams.TEAM.admin` is needed {}",
        scopes.join("`, `"),
        needed.join(", ")
    );
    let grants = Grants {
        sections: context.sections,
        side: Side::Director,
    };
    let update = grants.update(applicant.name(), token);
    let remedy = format!("give it the authority `bosh.teams.TEAM.admin` (`{update}`)");
    chart.failed(Probe::Rights, None, finding(came, remedy))
}

fn of_connection(error: &ConnectError, server: &Server<'_>) -> Finding {
    let (code, key, remedy) = match error {
        ConnectError::OtherAuthentication { director, .. } => {
            let remedy = if director == "uaa" {
                "give `bosh.authentication.uaa.client_credentials` with a client of the Director's UAA"
            } else {
                "give `bosh.authentication.basic` with a user of the Director"
            };
            let key = "bosh.authentication";
            (Code::DirectorCredentials, key, remedy.to_owned())
        }
        ConnectError::UnsendableCredentials { .. } => (
            Code::DirectorCredentials,
            "bosh.authentication",
            "correct it: it has characters that no header can carry".to_owned(),
        ),
        ConnectError::UaaAddress { .. } => (
            Code::DirectorUnreachable,
            "bosh.url",
            "correct `director.user_management.uaa.url` in the Director's manifest".to_owned(),
        ),
        ConnectError::Client { .. } | ConnectError::Info { .. } => {
            let remedy = server.source.remedy();
            (Code::DirectorUnreachable, "bosh.url", remedy)
        }
    };
    let tried = format!("to query the Director at `{}`", server.authority());
    Finding::tried(code, Some(key), tried, Chain(error).to_string(), remedy)
}

fn compare_version(info: &Info, offering: Option<&Offering>, chart: &mut Chart) {
    let finding = |came, remedy: &str| {
        let tried = "to compare its version with what is configured";
        Finding::tried(Code::DirectorTooOld, Some("bosh.url"), tried, came, remedy)
    };
    let Some(offering) = offering else {
        return chart.not_asked(Probe::Version, BECAUSE_OF_ERRORS);
    };
    let version = info.version.split_whitespace().next();
    let version = version.unwrap_or(&info.version);
    if let Err(came) = version::check(&info.version, offering) {
        let remedy = "upgrade the Director, or leave out what needs more";
        chart.found(Probe::Version, None, finding(came, remedy));
    } else if version::joins_tasks(&info.version) {
        let text = format!("{version} is enough for what is configured");
        chart.fine(Probe::Version, None, text);
    } else {
        let came = format!(
            "{version} is older than 261: the broker cannot resume operations whose answer is lost"
        );
        let finding = finding(came, "upgrade the Director").warning();
        chart.found(Probe::Version, None, finding);
    }
}

/// Checks the Director's own features for the enabled options.
fn features(info: &Info, context: &Context<'_>, chart: &mut Chart) {
    let mut fine = Vec::new();
    if context.keeps_secrets() {
        if info.config_server {
            fine.push("it resolves references to its CredHub");
        } else {
            let finding = Finding::tried(
                Code::NoDirectorCredHub,
                Some("broker.enable_secure_manifests"),
                "to see whether it has a CredHub (`features.config_server` of `GET /info`)",
                "not configured: deployments whose manifests refer to secrets will fail",
                "give the Director a CredHub (`director.config_server`), or unset `broker.enable_secure_manifests`",
            );
            chart.found(Probe::Features, None, finding);
        }
    }
    if context.has_dns_bindings() {
        if info.local_dns {
            fine.push("BOSH DNS is on");
        } else {
            let finding = Finding::tried(
                Code::DirectorTooOld,
                Some("service_catalog.plans"),
                "to see whether BOSH DNS is on (`features.local_dns` of `GET /info`)",
                "it is off: plans with `binding_with_dns` cannot be bound",
                "switch `director.local_dns.enabled` on, or leave `binding_with_dns` out",
            );
            chart.found(Probe::Features, None, finding.warning());
        }
    }
    if !fine.is_empty() {
        chart.fine(Probe::Features, None, fine.join("; "));
    }
}

/// Configs are read with the same right with which they are written.
async fn configs(director: &Director, context: &Context<'_>, chart: &mut Chart) -> Option<()> {
    if context.bosh_configs() == BoshConfigs::Disabled {
        chart.not_asked(Probe::Configs, "`broker.disable_bosh_configs` is set");
        return Some(());
    }
    let (kind, name) = config_of_a_trial();
    let call = chart.timeouts.call();
    let (read, took) = timed(director.config_latest(&call, &kind, &name)).await;
    chart.unless_failed(Probe::Configs, took, read, |error| {
        let remedy = match error.kind {
            FailureKind::NotAllowed { .. } => {
                "give the client `bosh.teams.TEAM.admin`, or set `broker.disable_bosh_configs` if this is intended"
            }
            FailureKind::Refused { .. } => {
                "upgrade the Director, or set `broker.disable_bosh_configs`"
            }
            _ => "look at the Director's log",
        };
        let (key, came) = (Some("bosh.authentication"), Chain(&error).to_string());
        Finding::tried(Code::ConfigRights, key, "`GET /configs`", came, remedy).warning()
    })?;
    chart.fine(Probe::Configs, took, "can be read");
    Some(())
}
