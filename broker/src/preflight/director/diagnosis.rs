//! The Director and its UAA.

use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind,
    credhub::CredentialName,
    director::{Authentication, Credentials, Director, Info},
    http::StatusCode,
    uaa::Token,
};
use odb_config::{Bosh, BoshConfigs};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::preflight::{
    certificates::trust::Authorities,
    director::{connection as start, features},
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
        rights::DirectorRights,
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
    let director = start::open(&call, bosh, &server.trust, limits).await.ok()?;
    let info = director.info(&call).await.ok()?;
    format!("/{}", info.name).parse().ok()
}

/// Probes the Director, and its UAA if it has one.
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
    let answered = ask(&server, &["info"], chart).await?;
    let (call, limits) = (context.timeouts.work(), context.timeouts.limits());
    let director = match start::open(&call, bosh, &server.trust, limits).await {
        Ok(director) => director,
        Err(ConnectError::Info { source, .. })
            if matches!(
                source.kind,
                FailureKind::NotUnderstood { .. } | FailureKind::Refused { .. }
            ) =>
        {
            return answered.refute("Director", &server, chart);
        }
        Err(error) => {
            let finding = of_connection(&error, &server);
            return chart.failed(Probe::Answer, answered.took, finding);
        }
    };
    let info = match director.info(&context.timeouts.call()).await {
        Ok(info) if answered.answer.status() == StatusCode::OK => info,
        Ok(_) | Err(_) => return answered.refute("Director", &server, chart),
    };
    let text = format!(
        "`{}`, {}, users of kind `{}`",
        info.name, info.version, info.authentication
    );
    chart.fine(Probe::Answer, answered.took, text);
    features::version(&info, context.offering(), chart);
    features::features(&info, context, chart);
    match &bosh.credentials {
        Credentials::Basic { username, .. } => {
            of_uaa.not_asked(Probe::Answer, "the Director has its own users");
            let applicant = Applicant {
                kind: ApplicantKind::User,
                name: username,
                key: USER_KEY,
            };
            identity(&director, applicant, &server, chart).await?;
            let text = "a user of the Director may do everything";
            chart.fine(Probe::Rights, None, text);
        }
        Credentials::Uaa { client_id, .. } => {
            debug_assert!(matches!(info.authentication, Authentication::Uaa { .. }));
            let applicant = Applicant {
                kind: ApplicantKind::Client,
                name: client_id,
                key: CLIENT_KEY,
            };
            let token = token(&director, &server, applicant, of_uaa).await?;
            identity(&director, applicant, &server, chart).await?;
            rights(&token, &info, context, applicant, chart)?;
        }
    }
    features::configs(&director, context, chart).await
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
        Ok(_) => (
            "the Director does not know us".to_owned(),
            Code::DirectorCredentials,
            match applicant.kind {
                ApplicantKind::User => format!(
                    "correct `{}`: the Director's manifest has its users at `director.user_management.local.users`",
                    applicant.key
                ),
                ApplicantKind::Client => {
                    "see that the Director takes tokens of the UAA that it names: \
                     `director.user_management.uaa.public_key` in its manifest, and its clock"
                        .to_owned()
                }
            },
        ),
        Err(error) => (
            Chain(&error).to_string(),
            Code::DirectorUnreachable,
            "look at the Director's log".to_owned(),
        ),
    };
    let tried = format!("`GET /info` of `{}` as {applicant}", server.authority());
    let finding = Finding::tried(code, Some(applicant.key), tried, came, remedy);
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
        DirectorRights::Reading => "may only look",
        DirectorRights::Nothing => "may do nothing",
    };
    let keeps_configs = context.bosh_configs() == BoshConfigs::Enabled;
    let needed: Vec<&str> = [
        (true, "to deploy and to delete service instances"),
        (
            keeps_configs,
            "to keep BOSH configs (operation records, configs of adapters)",
        ),
        (
            context.has_dns_bindings(),
            "to make links (`binding_with_dns`)",
        ),
        (
            has_lifecycle_errands(context),
            "to run errands (`lifecycle_errands`)",
        ),
    ]
    .into_iter()
    .filter_map(|(is_needed, what)| is_needed.then_some(what))
    .collect();
    let came = format!(
        "it {has} there, having `{}`; `bosh.teams.TEAM.admin` is needed {}",
        scopes.join("`, `"),
        needed.join(", ")
    );
    let grants = Grants {
        sections: context.sections,
        side: Side::Director,
    };
    let update = grants.update(applicant.name, token);
    let remedy = format!("give it the authority `bosh.teams.TEAM.admin` (`{update}`)");
    chart.failed(Probe::Rights, None, finding(came, remedy))
}

fn has_lifecycle_errands(context: &Context<'_>) -> bool {
    let offering = context.offering().into_iter();
    let mut plans = offering.flat_map(|offering| &offering.plans);
    plans.any(|plan| {
        let errands = &plan.lifecycle_errands;
        !errands.post_deploy.is_empty() || !errands.pre_delete.is_empty()
    })
}

fn of_connection(error: &ConnectError, server: &Server<'_>) -> Finding {
    let (code, key, remedy) = match error {
        ConnectError::OtherAuthentication { director, .. } => (
            Code::DirectorCredentials,
            "bosh.authentication",
            if director == "uaa" {
                "give `bosh.authentication.uaa.client_credentials` with a client of the Director's UAA".to_owned()
            } else {
                "give `bosh.authentication.basic` with a user of the Director".to_owned()
            },
        ),
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
        ConnectError::Client { .. } | ConnectError::Info { .. } => (
            Code::DirectorUnreachable,
            "bosh.url",
            server.source.remedy(),
        ),
    };
    Finding::tried(
        code,
        Some(key),
        format!("to get to know the Director at `{}`", server.authority()),
        Chain(error).to_string(),
        remedy,
    )
}
