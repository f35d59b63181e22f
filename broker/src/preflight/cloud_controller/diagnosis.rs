//! The Cloud Controller and its UAA.

use odb_api_types::code::Code;
use odb_clients::{
    cloud_controller::{CloudController, SEES_ALL},
    http::{StatusCode, address},
    uaa::{ClientRights, Grant, Token},
};
use odb_config::{CloudFoundry, Offering};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use super::{code_of_plans, connect, plans_in_use};
use crate::preflight::{
    certificates::trust::Authorities,
    doctor::{
        chart::{Chart, Probe, Subject},
        context::{BECAUSE_OF_ERRORS, Context, FILE_HAS_ERRORS, timed},
    },
    server::{AddressSource, Server},
    uaa::{
        self, Applicant,
        rights::{CloudControllerRights, Grants, Side, missing},
    },
};

const CLIENT_KEY: &str = "cf.uaa.authentication.client_credentials";
const PLANS_IN_USE: &str = "to find plans in use that are not offered";
const USER_KEY: &str = "cf.uaa.authentication.user_credentials";

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
    let uaa_server = Server {
        url: address::server(cf.uaa_url.as_written()).ok()?,
        source: AddressSource::Key("cf.uaa.url"),
        ..server.clone()
    };
    of_uaa.uaa.url = Some(uaa_server.url.clone());
    let limits = context.timeouts.limits();
    let (client, _, tokens) = connect(cf, &server.trust, &limits).ok()?;
    let applicant = applicant(cf);
    let (ready, token) = tokio::join!(look_at_controller(&server, &client, chart), async {
        uaa::look(&uaa_server, of_uaa).await?;
        uaa::token(&tokens, applicant, &uaa_server, of_uaa).await
    });
    let Some(token) = token else {
        ready?;
        chart.not_asked(Probe::Rights, "no token");
        return None;
    };
    let may_look = rights(&token, context, applicant, chart);
    client_rights(&token, context, cf, applicant, of_uaa);
    ready?;
    if may_look == CloudControllerRights::Nothing {
        chart.not_asked(Probe::Plans, "the token gives no right to read this");
    } else {
        plans(context, cf, &client, chart).await;
    }
    Some(())
}

fn applicant(cf: &CloudFoundry) -> Applicant<'_> {
    match &cf.credentials {
        Grant::ClientCredentials { client_id, .. } => Applicant::Client(client_id, CLIENT_KEY),
        Grant::Password { username, .. } => Applicant::User(username, USER_KEY),
    }
}

/// Whether further requests are possible.
async fn look_at_controller(
    server: &Server<'_>,
    client: &CloudController,
    chart: &mut Chart,
) -> Option<()> {
    server.reach(chart).await?;
    let answered = server.ask(&[], chart).await?;
    let versions = client.api_versions(&chart.timeouts.work()).await;
    let versions = versions
        .ok()
        .filter(|all| all.v3.is_some() || all.v2.is_some());
    let Some(versions) = versions else {
        return server.refute(answered, "Cloud Controller", chart);
    };
    let spelled = [("3", &versions.v3), ("2", &versions.v2)].into_iter();
    let spelled =
        spelled.filter_map(|(api, all)| Some(format!("version {api}: {}", all.as_ref()?)));
    let spelled: Vec<String> = spelled.collect();
    let text = format!("Cloud Controller, {}", spelled.join(", "));
    chart.fine(Probe::Answer, answered.took, text);
    match versions.supported() {
        Ok(used) => {
            chart.fine(Probe::Version, None, format!("{used} is used"));
            Some(())
        }
        Err(error) => {
            let (code, came) = (Code::CloudControllerTooOld, Chain(&error).to_string());
            let tried = "to find a supported version of its API";
            let remedy = "upgrade the foundation: version 3.95 or 2.57 is the least";
            let finding = Finding::tried(code, Some("cf.url"), tried, came, remedy);
            chart.failed(Probe::Version, None, finding)
        }
    }
}

fn of_scopes(code: Code, applicant: Applicant<'_>, came: String, remedy: String) -> Finding {
    let tried = format!("the scopes of the token of {applicant}");
    Finding::tried(code, Some(applicant.key()), tried, came, remedy)
}

fn update(context: &Context<'_>, applicant: Applicant<'_>, token: &Token) -> String {
    let grants = Grants {
        sections: context.sections,
        side: Side::Platform,
    };
    grants.update(applicant.name(), token)
}

fn rights(
    token: &Token,
    context: &Context<'_>,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> CloudControllerRights {
    let rights = CloudControllerRights::of(token.scopes());
    let give = match applicant {
        Applicant::Client(..) => format!(
            "give it the authority `cloud_controller.admin` (`{}`); `{}` is enough for the broker, not for the errands that \
             register or delete",
            update(context, applicant, token),
            SEES_ALL[1]
        ),
        Applicant::User(name, _) => format!(
            "put it into the group `cloud_controller.admin` (`uaac member add cloud_controller.admin {name}`)"
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
        return chart.not_asked(Probe::Plans, BECAUSE_OF_ERRORS);
    };
    if cf.skips_checks {
        let why = "`broker.disable_cf_startup_checks` is set";
        return chart.not_asked(Probe::Plans, why);
    }
    let call = context.timeouts.work();
    let (outcome, took) = timed(plans_in_use(client, &call, offering)).await;
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
            let remedy = if source.status() == Some(StatusCode::UNAUTHORIZED) {
                "it does not take the tokens of `cf.uaa.url`: give the UAA of this foundation (`cf curl /` names it)"
            } else {
                "look at the log of the Cloud Controller"
            };
            let (code, key) = (code_of_plans(&source), Some("cf.uaa.url"));
            let came = Chain(&source).to_string();
            let finding = Finding::tried(code, key, PLANS_IN_USE, came, remedy);
            chart.found(Probe::Plans, took, finding);
        }
    }
}
