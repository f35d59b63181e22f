//! The Director and its UAA: that it answers, knows us, may be used by us, and is new enough.

pub(crate) mod configs;
mod features;
mod rights;
mod version;

use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind, Service, ServiceError,
    credhub::CredentialName,
    director::{Authentication, Credentials, Director, Info},
    http::StatusCode,
    uaa::Token,
};
use odb_config::Bosh;
use odb_core::finding::Finding;

use crate::preflight::{
    certificates::trust::Authorities,
    chart::{Chart, Examined, Probe, Subject},
    context::{Context, FILE_HAS_ERRORS, timed},
    server::{AddressSource, Server},
    uaa::{self, Applicant, is_rejection},
};

const CLIENT_KEY: &str = "bosh.authentication.uaa.client_credentials";
const USER_KEY: &str = "bosh.authentication.basic";

fn server_of<'a>(context: &Context<'_>, bosh: &'a Bosh, chart: &mut Chart) -> Option<Server<'a>> {
    let (url, authorities) = (
        Director::server_at(bosh.url.as_written()),
        Authorities::of_director(bosh),
    );
    Server::configured(context, url, "bosh.url", authorities, chart)
}

async fn open(
    context: &Context<'_>,
    bosh: &Bosh,
    server: &Server<'_>,
) -> Result<(Director, Info), ConnectError> {
    let (call, limits) = (context.timeouts.work(), context.timeouts.limits());
    let (url, credentials) = (bosh.url.as_written(), bosh.credentials.clone());
    let director = Director::connect(&call, url, &server.trust, credentials, limits).await?;
    let service = Service::Director;
    let info = director.info(&call).await;
    let info = info.map_err(|source| ConnectError::Info { service, source })?;
    Ok((director, info))
}

/// The folder of its CredHub in which the Director stores the variables of deployments, named like the Director. None
/// if the Director does not answer, which is reported elsewhere.
pub(crate) async fn folder_of_variables(context: &Context<'_>) -> Option<CredentialName> {
    let bosh = context.bosh.right()?;
    let server = server_of(context, bosh, &mut context.chart(Subject::Director))?;
    let (_, info) = open(context, bosh, &server).await.ok()?;
    format!("/{}", info.name).parse().ok()
}

pub(crate) async fn look(context: &Context<'_>) -> Examined<Director> {
    let subjects = [Subject::Director, Subject::DirectorUaa];
    let bosh = match context.section(&context.bosh, &subjects, FILE_HAS_ERRORS) {
        Ok(bosh) => bosh,
        Err(charts) => return Examined::left_out(charts),
    };
    let [mut chart, mut of_uaa] = subjects.map(|subject| context.chart(subject));
    let client = look_into(context, bosh, &mut chart, &mut of_uaa).await;
    if of_uaa.rows.is_empty() {
        of_uaa.not_asked(Probe::Answer, "only the Director knows where it is");
    }
    let mut charts = vec![chart, of_uaa];
    if context.is_start() {
        // Wrong credentials are the first thing to correct.
        charts.reverse();
    }
    Examined { client, charts }
}

/// Ends when no further probe is possible.
async fn look_into(
    context: &Context<'_>,
    bosh: &Bosh,
    chart: &mut Chart,
    of_uaa: &mut Chart,
) -> Option<Director> {
    let server = server_of(context, bosh, chart)?;
    let answered = server.first_answer(context, &["info"], chart).await?;
    let took = answered.as_ref().map(|answered| answered.took);
    let (director, info) = match (open(context, bosh, &server).await, answered) {
        (Ok(_), Some(answered)) if answered.answer.status() != StatusCode::OK => {
            return server.refute(answered, "Director", chart);
        }
        (Ok(opened), _) => opened,
        (Err(ConnectError::Info { source, .. }), Some(answered)) if is_of_another(&source) => {
            return server.refute(answered, "Director", chart);
        }
        (Err(error), _) => {
            return chart.failed(Probe::Answer, took, of_connection(&error, bosh, &server));
        }
    };
    let text = format!(
        "`{}`, {}, users of kind `{}`",
        info.name, info.version, info.authentication
    );
    chart.fine(Probe::Answer, took, text);
    // The version is public, so it is compared even if the credentials are rejected.
    features::compare_version(&info, context, bosh, chart);
    features::look(&info, context, chart);
    let may_deploy = match &bosh.credentials {
        Credentials::Basic { username, .. } => {
            of_uaa.not_asked(Probe::Answer, "the Director has its own users");
            let applicant = Applicant::User(username, USER_KEY);
            identity(&director, applicant, bosh, &server, chart).await?;
            let text = "a user of the Director may do everything";
            chart.fine(Probe::Rights, None, text);
            true
        }
        Credentials::Uaa { client_id, .. } => {
            debug_assert!(matches!(info.authentication, Authentication::Uaa { .. }));
            let applicant = Applicant::Client(client_id, CLIENT_KEY);
            let token = token(context, &director, &server, applicant, of_uaa).await?;
            identity(&director, applicant, bosh, &server, chart).await?;
            rights::look(&token, &info, context, bosh, applicant, chart)
        }
    };
    // A start tries to write instead.
    if may_deploy && !context.is_start() {
        configs::read(&director, context, chart).await;
    }
    Some(director)
}

/// The server has answered, and no Director gives this answer.
fn is_of_another(error: &ServiceError) -> bool {
    matches!(
        error.kind,
        FailureKind::NotUnderstood { .. } | FailureKind::Refused { .. }
    )
}

async fn token(
    context: &Context<'_>,
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
    uaa::look(context, &uaa, chart).await?;
    uaa::token(tokens, applicant, &uaa, chart).await
}

/// The Director never rejects `/info`, but shows the authenticated user in it.
async fn identity(
    director: &Director,
    applicant: Applicant<'_>,
    bosh: &Bosh,
    server: &Server<'_>,
    chart: &mut Chart,
) -> Option<()> {
    let (call, url) = (chart.timeouts.call(), &bosh.url);
    let tried = format!("`GET /info` of `{}` as {applicant}", server.authority());
    let finding = |code, found, remedy: &str| {
        let key = Some(applicant.key());
        Finding::tried(code, key, tried, found, remedy)
    };
    let (outcome, took) = timed(director.authenticated_info(&call)).await;
    let finding = match outcome {
        Ok(Info {
            user: Some(user),
            name,
            version,
            ..
        }) => {
            tracing::info!(director = %name, %version, %user, "the Director accepts the broker's credentials");
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
            let found = format!("the Director at `{url}` does not accept the broker's credentials");
            finding(Code::DirectorCredentials, found, &remedy)
        }
        Err(error) => {
            let code = match &error.kind {
                FailureKind::Unauthenticated => Code::DirectorCredentials,
                FailureKind::NoToken { source } if is_rejection(source) => {
                    Code::DirectorCredentials
                }
                _ => Code::DirectorUnreachable,
            };
            let found = format!("could not authenticate to the Director at `{url}`");
            finding(code, found, "look at the Director's log").because(&error)
        }
    };
    chart.failed(Probe::Credentials, took, finding)
}

fn of_connection(error: &ConnectError, bosh: &Bosh, server: &Server<'_>) -> Finding {
    let (code, key, remedy) = match error {
        ConnectError::OtherAuthentication { director, .. } => {
            let remedy = if director == "uaa" {
                "give `bosh.authentication.uaa.client_credentials` with a client of the Director's UAA"
            } else {
                "give `bosh.authentication.basic` with a user of the Director"
            };
            (Code::DirectorCredentials, "bosh.authentication", remedy)
        }
        ConnectError::UnsendableCredentials { .. } => (
            Code::DirectorCredentials,
            "bosh.authentication",
            "correct `bosh.authentication`: it has characters that no header can carry",
        ),
        ConnectError::UaaAddress { .. } => (
            Code::DirectorUnreachable,
            "bosh.url",
            "correct `director.user_management.uaa.url` in the Director's manifest",
        ),
        ConnectError::Client { .. } | ConnectError::Info { .. } => (
            Code::DirectorUnreachable,
            "bosh.url",
            "check `bosh.url`, `bosh.root_ca_cert` and that it can be reached from here",
        ),
    };
    let tried = format!("to query the Director at `{}`", server.authority());
    let found = format!("could not query the Director at `{}`", bosh.url);
    Finding::tried(code, Some(key), tried, found, remedy).because(error)
}
