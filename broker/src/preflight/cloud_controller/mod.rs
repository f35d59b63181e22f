//! The Cloud Controller and its UAA at a start: that it answers, knows us, is new enough and has no plan that we no longer
//! offer, and that we may administer the UAA clients of service instances where they are defined.

pub(crate) mod diagnosis;

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{ApiVersions, CloudController, SEES_ALL, Visibility},
    http::{Call, ClientError, Limits, Trust},
    uaa::{ClientAdministration, ClientRights, Grant, Token, TokenSource},
};
use odb_config::{Address, CloudFoundry, Config, Offering};
use odb_core::finding::Finding;

use crate::preflight::{
    certificates::trust::Authorities,
    start::Checked,
    uaa::{is_rejection, is_unauthorized},
};

/// The Cloud Controller, and the administrator of UAA clients; absent for a user.
pub(crate) type Foundation = (CloudController, Option<ClientAdministration>);

/// Connects to the Cloud Controller, if there is one. Version and credentials are tried apart, so that both are
/// reported.
pub(crate) async fn check(config: &Config) -> Checked<Option<Foundation>> {
    let Some(cf) = &config.cloud_foundry else {
        tracing::warn!(
            "`broker.disable_cf_startup_checks` is set and `cf` is absent: the broker does not notice plans that are missing from the configuration"
        );
        return Ok(None);
    };
    let trust = Authorities::of_cloud_foundry(cf).trust()?;
    let (client, clients, tokens) = connect(cf, &trust, &Limits::default())?;
    if cf.skips_checks {
        tracing::warn!(
            url = %cf.url,
            "`broker.disable_cf_startup_checks` is set: the broker does not check the Cloud Controller at the start, nor notice plans that are missing from the configuration"
        );
        return Ok(Some((client, clients)));
    }
    let call = Call::within(config.broker.timings.start_up);
    let (versions, token) = tokio::join!(client.api_versions(&call), tokens.token(&call));
    let url = &cf.url;
    let mut errors = Vec::new();
    match versions.as_ref().map(ApiVersions::supported) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            let found = format!("the Cloud Controller at `{url}` cannot be used");
            let (code, remedy) = (Code::CloudControllerTooOld, "upgrade the foundation");
            errors.push(Finding::error(code, "cf.url", found, remedy).because(&error));
        }
        Err(error) => {
            let found = format!("could not ask the Cloud Controller at `{url}` for its version");
            let remedy = "check `cf.url`, `cf.root_ca_cert` and that it can be reached from here";
            let code = Code::CloudControllerUnreachable;
            errors.push(Finding::error(code, "cf.url", found, remedy).because(error));
        }
    }
    match token {
        Ok(token) => {
            warn_blind_counting(&token, &config.offering);
            errors.extend(too_few_client_rights(cf, &token));
        }
        Err(error) => errors.push(no_token(&cf.uaa_url, &error)),
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let orphaned = plans_in_use(&client, &call, &config.offering).await;
    let orphaned = orphaned.map_err(|error| {
        let found = format!(
            "could not ask the Cloud Controller at `{url}` which plans have service instances"
        );
        let remedy = "check that it works, and that the client of `cf.uaa.authentication` has the right `cloud_controller.admin` or \
                      `cloud_controller.admin_read_only`";
        let code = code_of_plans(&error);
        Finding::error(code, "cf.uaa.authentication", found, remedy).because(&error)
    })?;
    if !orphaned.is_empty() {
        return Err(orphaned);
    }
    if let Ok(versions) = versions
        && let Ok(used) = versions.supported()
    {
        tracing::info!(
            v3 = versions.v3,
            v2 = versions.v2,
            %used,
            "the Cloud Controller accepts the broker's credentials"
        );
    }
    Ok(Some((client, clients)))
}

pub(crate) fn connect(
    cf: &CloudFoundry,
    trust: &Trust,
    limits: &Limits,
) -> Checked<(CloudController, Option<ClientAdministration>, TokenSource)> {
    let grant = cf.credentials.clone();
    let unusable = |key: &'static str| {
        move |error: ClientError| {
            let found = format!("`{key}` is not a valid address");
            let remedy = "give one such as `https://host.example.com`";
            Finding::error(Code::ConfigurationInvalid, key, found, remedy).because(&error)
        }
    };
    let tokens = TokenSource::connect(cf.uaa_url.as_written(), trust, grant, limits.clone())
        .map_err(unusable("cf.uaa.url"))?;
    let client =
        CloudController::connect(cf.url.as_written(), trust, tokens.clone(), limits.clone())
            .map_err(unusable("cf.url"))?;
    let clients = match &cf.credentials {
        Grant::ClientCredentials { .. } => {
            let (url, tokens) = (cf.uaa_url.as_written(), tokens.clone());
            let clients = ClientAdministration::connect(url, trust, tokens, limits.clone());
            Some(clients.map_err(unusable("cf.uaa.url"))?)
        }
        Grant::Password { .. } => None,
    };
    Ok((client, clients, tokens))
}

/// A client that cannot see all spaces counts too few instances, and the Cloud Controller does not report that.
fn warn_blind_counting(token: &Token, offering: &Offering) {
    if offering.has_quotas() && Visibility::of(token.scopes()) == Visibility::Parts {
        tracing::warn!(
            code = %Code::CountingRights,
            "the client of `cf.uaa.authentication` may not read all spaces of the Cloud Controller, so that instances may be \
             missed and quotas be exceeded; give it one of the rights `{}`",
            SEES_ALL.join("`, `")
        );
    }
}

/// Whether the token allows what a definition of clients needs. A client that may write clients but not administer them
/// cannot grant what it does not have (`spec/contracts/platform-apis.md` §1.5).
fn too_few_client_rights(cf: &CloudFoundry, token: &Token) -> Option<Finding> {
    let definition = cf.client_definition.as_ref()?;
    match ClientRights::of(token) {
        ClientRights::Lacking => {
            let found = format!(
                "the UAA at `{}` does not permit the broker to administer clients, which `cf.uaa.client_definition` needs",
                cf.uaa_url
            );
            let remedy = "give the client of `cf.uaa.authentication.client_credentials` `clients.admin`, or `clients.read` and `clients.write`";
            let (code, key) = (Code::ClientRights, "cf.uaa.authentication");
            return Some(Finding::error(code, key, found, remedy));
        }
        ClientRights::Limited if definition.needs_an_administrator() => tracing::warn!(
            code = %Code::ClientRights,
            "the client of `cf.uaa.authentication` has `clients.write` and not `clients.admin`, so that the UAA rejects authorities, \
             the grant `password` and scopes that it has not itself in `cf.uaa.client_definition`; give it `clients.admin`"
        ),
        ClientRights::Limited | ClientRights::All | ClientRights::Unknown => {}
    }
    None
}

pub(crate) async fn plans_in_use(
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
        let key = "service_catalog.plans";
        (instances > 0).then(|| Finding::error(Code::PlanInUse, key, found, "put it back"))
    });
    Ok(in_use.collect())
}

/// Under which code it is reported that plans in use cannot be learned.
pub(crate) fn code_of_plans(error: &ServiceError) -> Code {
    if is_unauthorized(error) {
        Code::CloudControllerCredentials
    } else {
        Code::CloudControllerUnreachable
    }
}

fn no_token(uaa_url: &Address, error: &ServiceError) -> Finding {
    let (code, key, remedy) = if is_rejection(error) {
        let (key, remedy) = ("cf.uaa.authentication", "check `cf.uaa.authentication`");
        (Code::CloudControllerCredentials, key, remedy)
    } else {
        let remedy = match error.kind {
            FailureKind::NoResponse { .. } | FailureKind::OutOfTime { .. } => {
                "check `cf.uaa.url`, `cf.root_ca_cert` and that it can be reached from here"
            }
            _ => "check `cf.uaa.url`: a healthy UAA must answer there",
        };
        (Code::CloudControllerUnreachable, "cf.uaa.url", remedy)
    };
    let found =
        format!("could not get a token for the Cloud Controller from the UAA at `{uaa_url}`");
    Finding::error(code, key, found, remedy).because(error)
}

#[cfg(test)]
mod tests {
    use odb_clients::{
        Service,
        http::{Method, StatusCode},
    };

    use super::*;

    #[test]
    fn a_server_that_is_no_uaa_is_not_a_uaa_that_rejects_the_broker() {
        let (refused, unreachable) = (
            ("ODB-1110", "cf.uaa.authentication"),
            ("ODB-1103", "cf.uaa.url"),
        );
        for (status, error, (code, key)) in [
            (401, "invalid_client", refused),
            (400, "unauthorized_client", refused),
            (401, "", unreachable),
            (404, "", unreachable),
            (404, "not_found", unreachable),
            (503, "", unreachable),
        ] {
            let url = Address::of("https://uaa.example").unwrap();
            let kind = FailureKind::Refused {
                status: StatusCode::from_u16(status).unwrap(),
                code: None,
                name: error.to_owned(),
                description: String::new(),
            };
            let source = ServiceError::new(Service::Uaa, Method::POST, "/oauth/token", kind);
            let finding = no_token(&url, &source);
            assert_eq!(finding.code.to_string(), code, "{status} {error}");
            assert_eq!(finding.key.as_deref(), Some(key), "{status} {error}");
            assert!(finding.remedy.contains(key), "{finding}");
        }
    }
}
