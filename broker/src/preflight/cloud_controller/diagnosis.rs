//! The Cloud Controller and its UAA.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind,
    cloud_controller::{CloudController, SEES_ALL},
    http::{StatusCode, address},
    uaa::{ClientRights, Grant, Token, TokenSource},
};
use odb_config::{CloudFoundry, CloudFoundryChecks, Offering};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::preflight::{
    certificates::trust::Authorities,
    cloud_controller::connection as start,
    doctor::{
        chart::Chart,
        context::{Context, FILE_HAS_ERRORS, timed},
        subject::{Probe, Subject},
    },
    server::{
        answer::ask,
        reach::{AddressSource, Server},
    },
    uaa::{
        diagnosis::{self as uaa, Applicant, ApplicantKind},
        grants::{Grants, Side},
        rights::{CloudControllerRights, missing},
    },
};

const CLIENT_KEY: &str = "cf.uaa.authentication.client_credentials";
const PLANS_IN_USE: &str = "to find plans in use that are not offered";
const USER_KEY: &str = "cf.uaa.authentication.user_credentials";

/// Probes the Cloud Controller and its UAA, at the same time.
pub(crate) async fn look(context: &Context<'_>) -> Vec<Chart> {
    let subjects = [Subject::CloudController, Subject::CloudControllerUaa];
    let section = &context.sections.cloud_foundry;
    let cf = match context.section(section, &subjects, "`cf` is not configured") {
        Ok(cf) => cf,
        Err(charts) => return charts,
    };
    let [mut chart, mut of_uaa] = subjects.map(|subject| context.chart(subject));
    look_into(context, cf, &mut chart, &mut of_uaa).await;
    vec![chart, of_uaa]
}

async fn look_into(
    context: &Context<'_>,
    cf: &CloudFoundry,
    chart: &mut Chart,
    of_uaa: &mut Chart,
) -> Option<()> {
    let url = address::server(cf.url.as_written());
    let authorities = Authorities::of_cloud_foundry(cf);
    let Some(server) = Server::configured(url, "cf.url", authorities, chart) else {
        // The same authorities count for both.
        let why = match chart.findings().next() {
            None => FILE_HAS_ERRORS,
            Some(_) => "not checked, because there are no trusted authorities",
        };
        of_uaa.not_asked(Probe::Answer, why);
        return None;
    };
    let uaa = Server {
        url: address::server(cf.uaa_url.as_written()).ok()?,
        source: AddressSource::Key("cf.uaa.url"),
        ..server.clone()
    };
    of_uaa.uaa.url = Some(uaa.url.clone());
    let limits = context.timeouts.limits();
    let (client, _, tokens) = start::connect(cf, &server.trust, &limits).ok()?;
    let applicant = applicant(cf);
    let (ready, token) = tokio::join!(
        look_at_controller(&server, &client, chart),
        look_at_uaa(&uaa, (&tokens, applicant), of_uaa),
    );
    let Some(token) = token else {
        ready?;
        chart.not_asked(Probe::Rights, "no token");
        return None;
    };
    let may_look = rights(&token, context, applicant, chart);
    client_rights(&token, context, cf, applicant, of_uaa);
    ready?;
    if may_look == CloudControllerRights::Nothing {
        chart.not_asked(Probe::Plans, "the token does not let us look");
    } else {
        plans(context, cf, &client, chart).await;
    }
    Some(())
}

fn applicant(cf: &CloudFoundry) -> Applicant<'_> {
    match &cf.credentials {
        Grant::ClientCredentials { client_id, .. } => Applicant {
            kind: ApplicantKind::Client,
            name: client_id,
            key: CLIENT_KEY,
        },
        Grant::Password { username, .. } => Applicant {
            kind: ApplicantKind::User,
            name: username,
            key: USER_KEY,
        },
    }
}

async fn look_at_uaa(
    server: &Server<'_>,
    (tokens, applicant): (&TokenSource, Applicant<'_>),
    chart: &mut Chart,
) -> Option<Token> {
    uaa::look(server, chart).await?;
    uaa::token(tokens, applicant, server, chart).await
}

/// Whether further requests are possible.
async fn look_at_controller(
    server: &Server<'_>,
    client: &CloudController,
    chart: &mut Chart,
) -> Option<()> {
    server.reach(chart).await?;
    let answered = ask(server, &[], chart).await?;
    let versions = client.api_versions(&chart.timeouts.work()).await.ok();
    let spelled: Vec<String> = [
        (
            "version 3",
            versions.as_ref().and_then(|all| all.v3.as_deref()),
        ),
        (
            "version 2",
            versions.as_ref().and_then(|all| all.v2.as_deref()),
        ),
    ]
    .into_iter()
    .filter_map(|(api, version)| Some(format!("{api}: {}", version?)))
    .collect();
    let Some(versions) = versions.filter(|_| !spelled.is_empty()) else {
        return answered.refute("Cloud Controller", server, chart);
    };
    let text = format!("Cloud Controller, {}", spelled.join(", "));
    chart.fine(Probe::Answer, answered.took, text);
    match versions.supported() {
        Ok(used) => {
            chart.fine(Probe::Version, None, format!("{used} is used"));
            Some(())
        }
        Err(error) => {
            let finding = Finding::tried(
                Code::CloudControllerTooOld,
                Some("cf.url"),
                "to find a supported version of its API",
                Chain(&error).to_string(),
                "upgrade the foundation: version 3.95 or 2.57 is the least",
            );
            chart.failed(Probe::Version, None, finding)
        }
    }
}

/// The finding for missing scopes of a token.
fn of_scopes(code: Code, applicant: Applicant<'_>, came: String, remedy: String) -> Finding {
    let tried = format!("the scopes of the token of {applicant}");
    Finding::tried(code, Some(applicant.key), tried, came, remedy)
}

fn update(context: &Context<'_>, applicant: Applicant<'_>, token: &Token) -> String {
    let grants = Grants {
        sections: context.sections,
        side: Side::Platform,
    };
    grants.update(applicant.name, token)
}

/// Compares the broker's read rights with its features.
fn rights(
    token: &Token,
    context: &Context<'_>,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> CloudControllerRights {
    let rights = CloudControllerRights::of(token.scopes());
    let give = match applicant.kind {
        ApplicantKind::Client => format!(
            "give it the authority `cloud_controller.admin` (`{}`); `{}` is enough for the broker, not for the errands that \
             register or delete",
            update(context, applicant, token),
            SEES_ALL[1]
        ),
        ApplicantKind::User => format!(
            "put it into the group `cloud_controller.admin` (`uaac member add cloud_controller.admin {}`)",
            applicant.name
        ),
    };
    let lacking = SEES_ALL.join("`, `");
    match rights {
        CloudControllerRights::Everything => {
            let text = "`cloud_controller.admin`: may do what the broker and all errands do";
            chart.fine(Probe::Rights, None, text);
        }
        CloudControllerRights::LooksAtAll => {
            let text = "sees all spaces, which is enough for the broker; errands that register, upgrade or delete through the \
                        platform need `cloud_controller.admin`";
            chart.fine(Probe::Rights, None, text);
        }
        CloudControllerRights::LooksAtParts => {
            let (code, quotas) = if context.offering().is_some_and(Offering::has_quotas) {
                (Code::CountingRights, "quotas count too little, ")
            } else {
                (Code::InstancesUnknown, "")
            };
            let came = format!(
                "it sees only spaces in which it has a role, lacking `{lacking}`: {quotas}plans in use may be missed, lists of \
                 instances for upgrades are too short, and no deployment is reported as an orphan"
            );
            let finding = of_scopes(code, applicant, came, give).warning();
            chart.found(Probe::Rights, None, finding);
        }
        CloudControllerRights::Nothing => {
            let came = format!(
                "it may not look at anything there, lacking `{lacking}`, which the check of plans in use, quotas and lists of \
                 instances need"
            );
            let finding = of_scopes(Code::CloudControllerCredentials, applicant, came, give);
            chart.found(Probe::Rights, None, finding);
        }
    }
    rights
}

/// The broker's rights on clients, if instances have clients.
fn client_rights(
    token: &Token,
    context: &Context<'_>,
    cf: &CloudFoundry,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) {
    let Some(definition) = &cf.client_definition else {
        return;
    };
    let finding = |came| {
        let remedy = format!(
            "give it the authority `clients.admin` (`{}`), or remove `cf.uaa.client_definition`",
            update(context, applicant, token)
        );
        of_scopes(Code::ClientRights, applicant, came, remedy)
    };
    match ClientRights::of(token) {
        ClientRights::All => chart.fine(Probe::Rights, None, "may administer clients"),
        ClientRights::Unknown => chart.not_asked(Probe::Rights, "UAA does not list scopes"),
        ClientRights::Limited if definition.needs_an_administrator() => {
            let came = "it lacks `clients.admin`: with `clients.write` the UAA refuses authorities, the grant `password` and \
                        scopes that it has not itself in `cf.uaa.client_definition`";
            let finding = finding(came.to_owned()).warning();
            chart.found(Probe::Rights, None, finding);
        }
        ClientRights::Limited => {
            let text = "may write clients as far as `cf.uaa.client_definition` wants it";
            chart.fine(Probe::Rights, None, text);
        }
        ClientRights::Lacking => {
            let lacking = missing(&["clients.read", "clients.write"], token.scopes());
            let came = format!(
                "it lacks `{}` or `clients.admin`, which `cf.uaa.client_definition` needs",
                lacking.join("`, `")
            );
            chart.found(Probe::Rights, None, finding(came));
        }
    }
}

async fn plans(
    context: &Context<'_>,
    cf: &CloudFoundry,
    client: &CloudController,
    chart: &mut Chart,
) {
    let Some(offering) = context.offering() else {
        return chart.not_asked(Probe::Plans, "because of the errors in the file");
    };
    if cf.checks == CloudFoundryChecks::Skipped {
        let why = "`broker.disable_cf_startup_checks` is set";
        return chart.not_asked(Probe::Plans, why);
    }
    let call = context.timeouts.work();
    let (outcome, took) = timed(start::plans_in_use(client, &call, offering)).await;
    match outcome {
        Ok(gone) if gone.is_empty() => {
            let text = "every plan with service instances is offered";
            chart.fine(Probe::Plans, took, text);
        }
        Ok(gone) => {
            for error in gone {
                let tried = PLANS_IN_USE.to_owned();
                chart.found(Probe::Plans, took, Finding { tried, ..error });
            }
        }
        Err(source) => {
            let remedy = match source.kind {
                FailureKind::Refused {
                    status: StatusCode::UNAUTHORIZED,
                    ..
                } => {
                    "it does not take the tokens of `cf.uaa.url`: give the UAA of this foundation (`cf curl /` names it)"
                }
                _ => "look at the log of the Cloud Controller",
            };
            let (code, key) = (start::code_of_plans(&source), Some("cf.uaa.url"));
            let came = Chain(&source).to_string();
            let finding = Finding::tried(code, key, PLANS_IN_USE, came, remedy);
            chart.found(Probe::Plans, took, finding);
        }
    }
}
