//! The Cloud Controller and its UAA: that it answers, knows us, is new enough and has no plan that we no longer offer, and
//! that we may administer the UAA clients of service instances where they are defined.

mod rights;

use odb_api_types::code::Code;
use odb_clients::{
    ServiceError,
    cloud_controller::{ApiVersions, CloudController},
    http::{Call, ClientError, Limits, StatusCode, Trust, address},
    uaa::{ClientAdministration, Grant, TokenSource},
};
use odb_config::{CloudFoundry, Offering};
use odb_core::finding::Finding;

use crate::preflight::{
    certificates::trust::Authorities,
    chart::{Chart, Examined, Probe, Subject},
    context::{BECAUSE_OF_ERRORS, Context, FILE_HAS_ERRORS, timed},
    server::{AddressSource, Server, unusable_address},
    uaa::{self, Applicant, is_unauthorized, rights::CloudControllerRights},
};

const CLIENT_KEY: &str = "cf.uaa.authentication.client_credentials";
const USER_KEY: &str = "cf.uaa.authentication.user_credentials";
const PLANS_IN_USE: &str = "to find plans in use that are not offered";

/// The Cloud Controller, and the administrator of UAA clients; absent for a user.
pub(crate) type Foundation = (CloudController, Option<ClientAdministration>);

pub(crate) async fn look(context: &Context<'_>) -> Examined<Foundation> {
    let subjects = [Subject::CloudController, Subject::CloudControllerUaa];
    let section = &context.cloud_foundry;
    let cf = match context.section(section, &subjects, "`cf` is not configured") {
        Ok(cf) => cf,
        Err(charts) => return Examined::left_out(charts),
    };
    let [mut chart, mut of_uaa] = subjects.map(|subject| context.chart(subject));
    let client = look_into(context, cf, &mut chart, &mut of_uaa).await;
    let charts = vec![chart, of_uaa];
    Examined { client, charts }
}

/// Version and credentials are tried apart, so that both are reported.
async fn look_into(
    context: &Context<'_>,
    cf: &CloudFoundry,
    chart: &mut Chart,
    of_uaa: &mut Chart,
) -> Option<Foundation> {
    let url = address::server(cf.url.as_written());
    let authorities = Authorities::of_cloud_foundry(cf);
    let Some(server) = Server::configured(context, url, "cf.url", authorities, chart) else {
        // The same authorities count for both.
        let why = match chart.findings().next() {
            None => FILE_HAS_ERRORS,
            Some(_) => "not checked, because there are no trusted authorities",
        };
        of_uaa.not_asked(Probe::Answer, why);
        return None;
    };
    let connected = connect(cf, &server.trust, &context.timeouts.limits());
    let (client, clients, tokens) =
        chart.unless_failed(Probe::Answer, None, connected, |(key, error)| {
            unusable_address(key, &error)
        })?;
    if cf.skips_checks && context.is_start() {
        tracing::warn!(
            url = %cf.url,
            "`broker.disable_cf_startup_checks` is set: the broker does not check the Cloud Controller at the start, nor notice plans that are missing from the configuration"
        );
        return Some((client, clients));
    }
    let uaa_server = Server {
        url: tokens.server(),
        source: AddressSource::Key("cf.uaa.url"),
        ..server.clone()
    };
    of_uaa.uaa.url = Some(uaa_server.url.clone());
    let applicant = applicant(cf);
    let (ready, token) = tokio::join!(
        look_at_controller(context, cf, &server, &client, chart),
        async {
            uaa::look(context, &uaa_server, of_uaa).await?;
            uaa::token(&tokens, applicant, &uaa_server, of_uaa).await
        }
    );
    let Some(token) = token else {
        ready?;
        chart.not_asked(Probe::Rights, "no token");
        return None;
    };
    let may_look = rights::look(&token, context, applicant, chart);
    rights::look_at_clients(&token, context, cf, applicant, of_uaa);
    let versions = ready?;
    if may_look == CloudControllerRights::Nothing {
        chart.not_asked(Probe::Plans, "the token gives no right to read this");
    } else {
        plans(context, cf, &client, chart).await?;
    }
    if let Ok(used) = versions.supported() {
        tracing::info!(
            v3 = versions.v3,
            v2 = versions.v2,
            %used,
            "the Cloud Controller accepts the broker's credentials"
        );
    }
    Some((client, clients))
}

fn applicant(cf: &CloudFoundry) -> Applicant<'_> {
    match &cf.credentials {
        Grant::ClientCredentials { client_id, .. } => Applicant::Client(client_id, CLIENT_KEY),
        Grant::Password { username, .. } => Applicant::User(username, USER_KEY),
    }
}

/// The versions of its API, if it has one that the broker can use.
async fn look_at_controller(
    context: &Context<'_>,
    cf: &CloudFoundry,
    server: &Server<'_>,
    client: &CloudController,
    chart: &mut Chart,
) -> Option<ApiVersions> {
    let answered = server.first_answer(context, &[], chart).await?;
    let took = answered.as_ref().map(|answered| answered.took);
    let versions = client.api_versions(&context.timeouts.work()).await;
    let is_known = |all: &ApiVersions| all.v3.is_some() || all.v2.is_some();
    let versions = match (versions, answered) {
        (Ok(versions), Some(_)) if is_known(&versions) => versions,
        (_, Some(answered)) => return server.refute(answered, "Cloud Controller", chart),
        (Ok(versions), None) => versions,
        (Err(error), None) => {
            let tried = "to read the versions of its API";
            let found = format!(
                "could not ask the Cloud Controller at `{}` for its version",
                cf.url
            );
            let remedy = "check `cf.url`, `cf.root_ca_cert` and that it can be reached from here";
            let (code, key) = (Code::CloudControllerUnreachable, Some("cf.url"));
            let finding = Finding::tried(code, key, tried, found, remedy).because(&error);
            return chart.failed(Probe::Answer, None, finding);
        }
    };
    let spelled = [("3", &versions.v3), ("2", &versions.v2)].into_iter();
    let spelled =
        spelled.filter_map(|(api, all)| Some(format!("version {api}: {}", all.as_ref()?)));
    let spelled: Vec<String> = spelled.collect();
    let text = format!("Cloud Controller, {}", spelled.join(", "));
    chart.fine(Probe::Answer, took, text);
    match versions.supported() {
        Ok(used) => {
            chart.fine(Probe::Version, None, format!("{used} is used"));
            Some(versions)
        }
        Err(error) => {
            let tried = "to find a supported version of its API";
            let found = format!("the Cloud Controller at `{}` cannot be used", cf.url);
            let remedy = "upgrade the foundation: version 3.95 or 2.57 is the least";
            let (code, key) = (Code::CloudControllerTooOld, Some("cf.url"));
            let finding = Finding::tried(code, key, tried, found, remedy).because(&error);
            chart.failed(Probe::Version, None, finding)
        }
    }
}

fn connect(
    cf: &CloudFoundry,
    trust: &Trust,
    limits: &Limits,
) -> Result<(CloudController, Option<ClientAdministration>, TokenSource), (&'static str, ClientError)>
{
    let (url, uaa_url) = (cf.url.as_written(), cf.uaa_url.as_written());
    let unusable = |key| move |error| (key, error);
    let tokens = TokenSource::connect(uaa_url, trust, cf.credentials.clone(), limits.clone())
        .map_err(unusable("cf.uaa.url"))?;
    let client = CloudController::connect(url, trust, tokens.clone(), limits.clone())
        .map_err(unusable("cf.url"))?;
    let clients = match &cf.credentials {
        Grant::ClientCredentials { .. } => {
            let clients =
                ClientAdministration::connect(uaa_url, trust, tokens.clone(), limits.clone());
            Some(clients.map_err(unusable("cf.uaa.url"))?)
        }
        Grant::Password { .. } => None,
    };
    Ok((client, clients, tokens))
}

async fn plans(
    context: &Context<'_>,
    cf: &CloudFoundry,
    client: &CloudController,
    chart: &mut Chart,
) -> Option<()> {
    let Some(offering) = context.offering else {
        chart.not_asked(Probe::Plans, BECAUSE_OF_ERRORS);
        return Some(());
    };
    if cf.skips_checks {
        let why = "`broker.disable_cf_startup_checks` is set";
        chart.not_asked(Probe::Plans, why);
        return Some(());
    }
    let call = context.timeouts.work();
    let (outcome, took) = timed(plans_in_use(client, &call, offering)).await;
    let gone = chart.unless_failed(Probe::Plans, took, outcome, |error| {
        plans_unknown(cf, &error)
    })?;
    if gone.is_empty() {
        let text = "every plan with service instances is offered";
        chart.fine(Probe::Plans, took, text);
    }
    for finding in gone {
        chart.found(Probe::Plans, took, finding);
    }
    Some(())
}

fn plans_unknown(cf: &CloudFoundry, error: &ServiceError) -> Finding {
    let code = if is_unauthorized(error) {
        Code::CloudControllerCredentials
    } else {
        Code::CloudControllerUnreachable
    };
    let (key, remedy) = match error.status() {
        Some(StatusCode::UNAUTHORIZED) => (
            "cf.uaa.url",
            "it does not take the tokens of `cf.uaa.url`: give the UAA of this foundation (`cf curl /` names it)",
        ),
        Some(StatusCode::FORBIDDEN) => (
            "cf.uaa.authentication",
            "give the client of `cf.uaa.authentication` the right `cloud_controller.admin` or `cloud_controller.admin_read_only`",
        ),
        _ => ("cf.url", "look at the log of the Cloud Controller"),
    };
    let found = format!(
        "could not ask the Cloud Controller at `{}` which plans have service instances",
        cf.url
    );
    Finding::tried(code, Some(key), PLANS_IN_USE, found, remedy).because(error)
}

async fn plans_in_use(
    client: &CloudController,
    call: &Call,
    offering: &Offering,
) -> Result<Vec<Finding>, ServiceError> {
    let unknown: Vec<_> = client
        .plans_of_offering(call, offering.id.as_str())
        .await?
        .into_iter()
        .filter(|plan| offering.plan(&plan.unique_id.clone().into()).is_none())
        .collect();
    let guids: Vec<_> = unknown.iter().map(|plan| plan.guid.clone()).collect();
    let counts = client.count_instances(call, &guids).await?;
    let in_use = unknown.into_iter().filter_map(|plan| {
        let instances = counts.get(&plan.guid).copied().unwrap_or(0);
        let found = format!(
            "plan `{}` (`{}`) is not in `service_catalog.plans`, but has {instances} service instances",
            plan.name, plan.unique_id
        );
        let (code, key) = (Code::PlanInUse, Some("service_catalog.plans"));
        (instances > 0).then(|| Finding::tried(code, key, PLANS_IN_USE, found, "put it back"))
    });
    Ok(in_use.collect())
}
