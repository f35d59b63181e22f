//! The Cloud Controller and its UAA.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind,
    cloud_controller::{CloudController, SEES_ALL},
    http::StatusCode,
    uaa::{ClientRights, TokenSource},
};

use crate::{
    config::{CloudFoundry, CloudFoundryChecks, Offering, PlatformCredentials},
    finding::Finding,
    preflight::{
        cloud_controller::connection as start,
        doctor::{
            chart::Chart,
            subject::{Probe, Subject},
            whole::Whole,
        },
        server::{answer::ask, configured::servers_of_cloud_foundry, reach::Server},
        uaa::{
            diagnosis::{self as uaa, Applicant, ApplicantKind, Granted},
            foundation::Uaa,
            grants::{Grants, Side},
            rights::{CloudControllerRights, missing},
        },
    },
    telemetry::Chain,
};

const CLIENT_KEY: &str = "cf.uaa.authentication.client_credentials";
const PLANS_IN_USE: &str = "to find plans in use that are not offered";
const USER_KEY: &str = "cf.uaa.authentication.user_credentials";

/// Looks at the Cloud Controller and at its UAA, at both at once.
pub(crate) async fn look(whole: &Whole<'_>, cf: &CloudFoundry) -> (Vec<Chart>, Uaa) {
    let mut chart = Chart::of(Subject::CloudController);
    let mut of_uaa = Chart::of(Subject::CloudControllerUaa);
    let mut known = Uaa::default();
    if let Some((server, uaa)) = servers_of_cloud_foundry(cf, &mut chart, &mut of_uaa) {
        known.url = Some(uaa.url.clone());
        if let Ok((client, _, tokens)) =
            start::connect(cf, &server.belief.trust, &whole.patience.limits())
        {
            let applicant = applicant(cf);
            let (ready, granted) = tokio::join!(
                look_at_controller(whole, &server, &client, &mut chart),
                look_at_uaa(whole, &uaa, (&tokens, applicant), &mut of_uaa),
            );
            if let Some(granted) = &granted {
                known.issuer = granted.claims.as_ref().map(|claims| claims.issuer.clone());
                let may_look = rights(granted, whole, applicant, &mut chart);
                client_rights(granted, whole, cf, applicant, &mut of_uaa);
                match (ready, may_look) {
                    (Some(Ready), CloudControllerRights::Nothing) => {
                        chart.not_asked(Probe::Plans, "the token does not let us look");
                    }
                    (Some(Ready), _) => plans(whole, cf, &client, &mut chart).await,
                    (None, _) => {}
                }
            } else if ready.is_some() {
                chart.not_asked(Probe::Rights, "there is no token to ask with");
            }
        }
    }
    (vec![chart, of_uaa], known)
}

/// It can be asked more.
struct Ready;

fn applicant(cf: &CloudFoundry) -> Applicant<'_> {
    match &cf.credentials {
        PlatformCredentials::Client { client_id, .. } => Applicant {
            kind: ApplicantKind::Client,
            name: client_id,
            key: CLIENT_KEY,
        },
        PlatformCredentials::User { username, .. } => Applicant {
            kind: ApplicantKind::User,
            name: username,
            key: USER_KEY,
        },
    }
}

async fn look_at_uaa(
    whole: &Whole<'_>,
    server: &Server<'_>,
    (tokens, applicant): (&TokenSource, Applicant<'_>),
    chart: &mut Chart,
) -> Option<Granted> {
    uaa::look(server, chart, whole.patience).await?;
    uaa::token(tokens, applicant, server, chart, whole.patience).await
}

async fn look_at_controller(
    whole: &Whole<'_>,
    server: &Server<'_>,
    client: &CloudController,
    chart: &mut Chart,
) -> Option<Ready> {
    server.reach(chart, whole.patience).await?;
    let answered = ask(server, &[], chart, whole.patience).await?;
    let Ok(versions) = client.api_versions(&whole.patience.work()).await else {
        answered.refute("Cloud Controller", server, chart);
        return None;
    };
    let told = [("version 3", &versions.v3), ("version 2", &versions.v2)]
        .into_iter()
        .filter_map(|(api, version)| Some(format!("{api}: {}", version.as_deref()?)));
    let told: Vec<_> = told.collect();
    if told.is_empty() {
        answered.refute("Cloud Controller", server, chart);
        return None;
    }
    let text = format!("Cloud Controller, {}", told.join(", "));
    chart.fine(Probe::Answer, answered.took, text);
    match versions.spoken() {
        Ok(spoken) => {
            chart.fine(Probe::Version, None, format!("{spoken} is spoken"));
            Some(Ready)
        }
        Err(error) => {
            let trouble = Finding::tried(
                Code::CloudControllerTooOld,
                Some("cf.url"),
                "to find a version of its API that we speak",
                Chain(&error).to_string(),
                "upgrade the foundation: version 3.95 or 2.57 is the least",
            );
            chart.wrong(Probe::Version, None, trouble);
            None
        }
    }
}

fn grants_of<'a>(whole: &Whole<'a>) -> Grants<'a> {
    Grants {
        sections: whole.sections,
        side: Side::Platform,
    }
}

/// What we may look at, held against what looks.
fn rights(
    granted: &Granted,
    whole: &Whole<'_>,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> CloudControllerRights {
    let rights = CloudControllerRights::of(granted.token.scopes());
    let give = match applicant.kind {
        ApplicantKind::Client => format!(
            "give it the authority `cloud_controller.admin` (`{}`); `{}` is enough for the broker, not for the errands that \
             register or delete",
            grants_of(whole).update(applicant.name, &granted.token),
            SEES_ALL[1]
        ),
        ApplicantKind::User => format!(
            "put it into the group `cloud_controller.admin` (`uaac member add cloud_controller.admin {}`)",
            applicant.name
        ),
    };
    let trouble = |code, came| {
        Finding::tried(
            code,
            Some(applicant.key),
            format!("the scopes of the token of {}", applicant.told()),
            came,
            give,
        )
    };
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
            let (code, quotas) = if whole.offering().is_some_and(Offering::has_quotas) {
                let what = "quotas count too little, ";
                (Code::CountingRights, what)
            } else {
                (Code::InstancesUnknown, "")
            };
            let came = format!(
                "it sees only spaces in which it has a role, lacking `{}`: {quotas}plans in use may be missed, lists of instances \
                 for upgrades are too short, and nothing is told to be an orphan",
                SEES_ALL.join("`, `")
            );
            chart.odd(Probe::Rights, None, trouble(code, came));
        }
        CloudControllerRights::Nothing => {
            let came = format!(
                "it may not look at anything there, lacking `{}`, which the check of plans in use, quotas and lists of instances \
                 need",
                SEES_ALL.join("`, `")
            );
            chart.wrong(
                Probe::Rights,
                None,
                trouble(Code::CloudControllerCredentials, came),
            );
        }
    }
    rights
}

/// What we may do with clients, where instances have some.
fn client_rights(
    granted: &Granted,
    whole: &Whole<'_>,
    cf: &CloudFoundry,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) {
    let Some(definition) = &cf.client_definition else {
        return;
    };
    let scopes = granted.token.scopes();
    let trouble = |came| {
        Finding::tried(
            Code::ClientRights,
            Some(applicant.key),
            format!("the scopes of the token of {}", applicant.told()),
            came,
            format!(
                "give it the authority `clients.admin` (`{}`), or remove `cf.uaa.client_definition`",
                grants_of(whole).update(applicant.name, &granted.token)
            ),
        )
    };
    match ClientRights::of(&granted.token) {
        ClientRights::All => {
            chart.fine(Probe::Rights, None, "may administer clients");
        }
        ClientRights::Unknown => chart.not_asked(Probe::Rights, "UAA does not tell scopes"),
        ClientRights::Limited if definition.needs_an_administrator() => {
            let came = "it lacks `clients.admin`: with `clients.write` the UAA refuses authorities, the grant `password` and \
                        scopes that it has not itself in `cf.uaa.client_definition`";
            chart.odd(Probe::Rights, None, trouble(came.to_owned()));
        }
        ClientRights::Limited => {
            let text = "may write clients as far as `cf.uaa.client_definition` wants it";
            chart.fine(Probe::Rights, None, text);
        }
        ClientRights::Lacking => {
            let needed = ["clients.read", "clients.write"];
            let lacking = missing(&needed, scopes);
            let came = format!(
                "it lacks `{}` or `clients.admin`, which `cf.uaa.client_definition` needs",
                lacking.join("`, `")
            );
            chart.wrong(Probe::Rights, None, trouble(came));
        }
    }
}

async fn plans(whole: &Whole<'_>, cf: &CloudFoundry, client: &CloudController, chart: &mut Chart) {
    let Some(offering) = whole.offering() else {
        chart.not_asked(Probe::Plans, "because of the faults in the file");
        return;
    };
    if cf.checks == CloudFoundryChecks::Skipped {
        let text = "`broker.disable_cf_startup_checks` is set";
        chart.not_asked(Probe::Plans, text);
        return;
    }
    let began = tokio::time::Instant::now();
    let outcome = start::plans_in_use(client, &whole.patience.work(), offering).await;
    let took = began.elapsed();
    match outcome {
        Ok(gone) if gone.is_empty() => {
            let text = "every plan with service instances is offered";
            chart.fine(Probe::Plans, took, text);
        }
        Ok(gone) => {
            for fault in gone {
                let finding = Finding {
                    tried: PLANS_IN_USE.to_owned(),
                    ..fault
                };
                chart.wrong(Probe::Plans, took, finding);
            }
        }
        Err(source) => {
            let remedy = if matches!(
                source.kind,
                FailureKind::Refused {
                    status: StatusCode::UNAUTHORIZED,
                    ..
                }
            ) {
                "it does not take the tokens of `cf.uaa.url`: give the UAA of this foundation (`cf curl /` names it)"
            } else {
                "look at the log of the Cloud Controller"
            };
            let finding = Finding::tried(
                start::code_of_plans(&source),
                Some("cf.uaa.url"),
                PLANS_IN_USE,
                Chain(&source).to_string(),
                remedy,
            );
            chart.wrong(Probe::Plans, took, finding);
        }
    }
}
