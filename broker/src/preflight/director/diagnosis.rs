//! The Director and its UAA.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    credhub::CredentialName,
    director::{Authentication, ConnectError, Director, Info},
    http::StatusCode,
};

use crate::{
    config::{Bosh, BoshConfigs, DirectorCredentials},
    finding::Finding,
    preflight::{
        director::{connection as start, features},
        doctor::{
            chart::Chart,
            patience::Patience,
            subject::{Probe, Subject},
            whole::Whole,
        },
        server::{
            answer::ask,
            configured::server_of_director,
            reach::{AddressSource, Server},
        },
        uaa::{
            diagnosis::{self as uaa, Applicant, ApplicantKind, Granted},
            foundation::Uaa,
            grants::{Grants, Side},
            rights::DirectorRights,
        },
    },
    telemetry::Chain,
};

const CLIENT_KEY: &str = "bosh.authentication.uaa.client_credentials";
const USER_KEY: &str = "bosh.authentication.basic";

/// The folder of its CredHub in which the Director keeps the variables of deployments: it is called like the Director. None where
/// the Director cannot be asked, which is noted elsewhere.
pub(crate) async fn folder_of_variables(whole: &Whole<'_>) -> Option<CredentialName> {
    let bosh = whole.sections.bosh.right()?;
    let server = server_of_director(bosh, &mut Chart::of(Subject::Director))?;
    let call = whole.patience.call();
    let director = Director::connect(
        &call,
        bosh.url.as_written(),
        &server.belief.trust,
        start::credentials(bosh),
        whole.patience.limits(),
    );
    let info = director.await.ok()?.info(&call).await.ok()?;
    format!("/{}", info.name).parse().ok()
}

/// Looks at the Director, and at its UAA where it has one.
pub(crate) async fn look(whole: &Whole<'_>, bosh: &Bosh) -> (Vec<Chart>, Uaa) {
    let mut chart = Chart::of(Subject::Director);
    let mut of_uaa = Chart::of(Subject::DirectorUaa);
    let mut known = Uaa::default();
    look_into(whole, bosh, &mut chart, &mut of_uaa, &mut known).await;
    if of_uaa.rows.is_empty() {
        of_uaa.not_asked(Probe::Answer, "where it is only the Director tells");
    }
    (vec![chart, of_uaa], known)
}

/// Ends as soon as there is nothing more to be learned.
async fn look_into(
    whole: &Whole<'_>,
    bosh: &Bosh,
    chart: &mut Chart,
    of_uaa: &mut Chart,
    known: &mut Uaa,
) -> Option<()> {
    let patience = whole.patience;
    let server = server_of_director(bosh, chart)?;
    server.reach(chart, patience).await?;
    let answered = ask(&server, &["info"], chart, patience).await?;
    let call = patience.work();
    let connected = Director::connect(
        &call,
        bosh.url.as_written(),
        &server.belief.trust,
        start::credentials(bosh),
        patience.limits(),
    );
    let director = match connected.await {
        Ok(director) => director,
        Err(ConnectError::Info {
            source:
                ServiceError {
                    kind: FailureKind::NotUnderstood { .. },
                    ..
                }
                | ServiceError {
                    kind: FailureKind::Refused { .. },
                    ..
                },
        }) => {
            answered.refute("Director", &server, chart);
            return None;
        }
        Err(error) => {
            let trouble = of_connection(&error, &server);
            chart.wrong(Probe::Answer, answered.took, trouble);
            return None;
        }
    };
    let info = match director.info(&patience.call()).await {
        Ok(info) if answered.answer.status() == StatusCode::OK => info,
        Ok(_) | Err(_) => {
            answered.refute("Director", &server, chart);
            return None;
        }
    };
    let text = format!(
        "`{}`, {}, users of kind `{}`",
        info.name, info.version, info.authentication
    );
    chart.fine(Probe::Answer, answered.took, text);
    features::version(&info, whole.offering(), chart);
    features::features(&info, whole, chart);
    match &bosh.credentials {
        DirectorCredentials::Basic { username, .. } => {
            of_uaa.not_asked(Probe::Answer, "the Director keeps its users itself");
            let key = USER_KEY;
            let applicant = Applicant {
                kind: ApplicantKind::User,
                name: username,
                key,
            };
            identity(&director, applicant, &server, chart, patience).await?;
            chart.fine(
                Probe::Rights,
                None,
                "a user of the Director may do everything",
            );
        }
        DirectorCredentials::Uaa { client_id, .. } => {
            let applicant = Applicant {
                kind: ApplicantKind::Client,
                name: client_id,
                key: CLIENT_KEY,
            };
            let granted = token(
                &director,
                &info,
                &server,
                applicant,
                (of_uaa, known),
                patience,
            )
            .await?;
            identity(&director, applicant, &server, chart, patience).await?;
            rights(&granted, &info, whole, applicant, chart)?;
        }
    }
    features::configs(&director, whole, chart).await
}

async fn token(
    director: &Director,
    info: &Info,
    of_director: &Server<'_>,
    applicant: Applicant<'_>,
    (chart, known): (&mut Chart, &mut Uaa),
    patience: Patience,
) -> Option<Granted> {
    let tokens = director.tokens()?;
    let mut belief = of_director.belief.clone();
    belief.key = "bosh.root_ca_cert";
    let uaa = Server {
        url: tokens.server(),
        source: AddressSource::Neighbour {
            who: "Director",
            setting: "`director.user_management.uaa.url` in its manifest",
        },
        belief,
    };
    debug_assert!(matches!(info.authentication, Authentication::Uaa { .. }));
    known.url = Some(tokens.server());
    uaa::look(&uaa, chart, patience).await?;
    let granted = uaa::token(tokens, applicant, &uaa, chart, patience).await?;
    known.issuer = granted.claims.as_ref().map(|claims| claims.issuer.clone());
    Some(granted)
}

/// The Director never refuses `/info`, but it says for whom it takes us.
async fn identity(
    director: &Director,
    applicant: Applicant<'_>,
    server: &Server<'_>,
    chart: &mut Chart,
    patience: Patience,
) -> Option<()> {
    let began = tokio::time::Instant::now();
    let outcome = director.authenticated_info(&patience.call()).await;
    let took = began.elapsed();
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
    let trouble = Finding::tried(
        code,
        Some(applicant.key),
        format!(
            "`GET /info` of `{}` as {}",
            server.authority(),
            applicant.told()
        ),
        came,
        remedy,
    );
    chart.wrong(Probe::Credentials, took, trouble);
    None
}

fn rights(
    granted: &Granted,
    info: &Info,
    whole: &Whole<'_>,
    applicant: Applicant<'_>,
    chart: &mut Chart,
) -> Option<()> {
    let scopes = granted.token.scopes();
    let has = match DirectorRights::of(scopes, &info.uuid) {
        DirectorRights::Everything(scope) => {
            let text = format!(
                "`{scope}` may do everything; `bosh.teams.TEAM.admin` is enough for all but cancelling tasks"
            );
            chart.fine(Probe::Rights, None, text);
            return Some(());
        }
        DirectorRights::Teams(teams) => {
            let trouble = Finding::tried(
                Code::DirectorRights,
                Some(CLIENT_KEY),
                format!("the scopes of the token of {}", applicant.told()),
                format!(
                    "admin of the teams `{}`: may deploy, change and delete service instances, run errands and keep configs, but \
                     not cancel tasks",
                    teams.join("`, `")
                ),
                "nothing, if that is enough: what is cancelled ends after the step at work, and a deletion waits for the \
                         creation that it cuts short. With `bosh.admin` tasks are cancelled at once, but it may do everything to \
                         every deployment",
            );
            chart.odd(Probe::Rights, None, trouble);
            return Some(());
        }
        DirectorRights::Reading => "may only look",
        DirectorRights::Nothing => "may do nothing",
    };
    let mut needed = vec!["to deploy and to delete service instances".to_owned()];
    if whole.bosh_configs() == BoshConfigs::Enabled {
        needed.push(
            "to keep BOSH configs (what operations remember, configs of adapters)".to_owned(),
        );
    }
    if whole.has_dns_bindings() {
        needed.push("to make links (`binding_with_dns`)".to_owned());
    }
    if has_lifecycle_errands(whole) {
        needed.push("to run errands (`lifecycle_errands`)".to_owned());
    }
    let grants = Grants {
        sections: whole.sections,
        side: Side::Director,
    };
    let trouble = Finding::tried(
        Code::DirectorRights,
        Some(CLIENT_KEY),
        format!("the scopes of the token of {}", applicant.told()),
        format!(
            "it {has} there, having `{}`; `bosh.teams.TEAM.admin` is needed {}",
            scopes.join("`, `"),
            needed.join(", ")
        ),
        format!(
            "give it the authority `bosh.teams.TEAM.admin` (`{}`)",
            grants.update(applicant.name, &granted.token)
        ),
    );
    chart.wrong(Probe::Rights, None, trouble);
    None
}

fn has_lifecycle_errands(whole: &Whole<'_>) -> bool {
    let mut plans = whole
        .offering()
        .into_iter()
        .flat_map(|offering| &offering.plans);
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
        ConnectError::Unusable => (
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
