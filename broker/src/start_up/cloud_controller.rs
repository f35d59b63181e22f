//! The Cloud Controller: that it answers, knows us, is new enough and has no plan that we no longer offer.

use odb_api_types::code::Code;
use odb_clients::{
    ServiceError,
    cloud_controller::{CloudController, SEES_ALL, Sight},
    http::{Call, Limits, Trust},
    uaa::{ClientAdministration, Grant, Token, TokenSource},
};

use super::{Checked, StartUpFault, instance_clients, trust};
use crate::config::{CloudFoundry, CloudFoundryChecks, Config, Offering, PlatformCredentials};

/// The Cloud Controller, and who administers the clients of its UAA; a user does not.
pub(super) type Foundation = (CloudController, Option<ClientAdministration>);

/// Connects to the Cloud Controller, if there is one. Version and credentials are tried apart, so that both are told.
pub(super) async fn check(config: &Config) -> Checked<Option<Foundation>> {
    let Some(cf) = &config.cloud_foundry else {
        tracing::warn!(
            "`broker.disable_cf_startup_checks` is set and there is no `cf`: plans that are gone from the configuration are not \
             noticed"
        );
        return Ok(None);
    };
    let (client, clients, tokens) = connect(cf, &trust_of(cf)?, &Limits::default())?;
    if cf.checks == CloudFoundryChecks::Skipped {
        tracing::warn!(
            url = %cf.url,
            "`broker.disable_cf_startup_checks` is set: the Cloud Controller is used unseen, and plans that are gone from the \
             configuration are not noticed"
        );
        return Ok(Some((client, clients)));
    }
    let call = Call::within(config.broker.timings.start_up);
    let (versions, token) = tokio::join!(client.api_versions(&call), tokens.token(&call));
    let url = || cf.url.clone();
    let mut faults = Vec::new();
    match &versions {
        Ok(versions) => {
            let spoken = versions.spoken();
            faults.extend(
                spoken
                    .err()
                    .map(|source| StartUpFault::CloudControllerVersion { url: url(), source }),
            );
        }
        Err(source) => faults.push(StartUpFault::CloudController {
            url: url(),
            source: source.clone(),
        }),
    }
    match token {
        Ok(token) => {
            remark_blind_counting(&token, &config.offering);
            faults.extend(instance_clients::check_rights(cf, &token));
        }
        Err(source) => faults.push(StartUpFault::CloudControllerToken {
            url: cf.uaa_url.clone(),
            source,
        }),
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let orphaned = plans_in_use(&client, &call, &config.offering)
        .await
        .map_err(|source| vec![StartUpFault::CloudControllerPlans { url: url(), source }])?;
    if !orphaned.is_empty() {
        return Err(orphaned);
    }
    if let Ok(versions) = versions
        && let Ok(spoken) = versions.spoken()
    {
        tracing::info!(
            v3 = versions.v3,
            v2 = versions.v2,
            %spoken,
            "the Cloud Controller knows us"
        );
    }
    Ok(Some((client, clients)))
}

/// Whose certificates are believed at the Cloud Controller and its UAA.
pub(crate) fn trust_of(cf: &CloudFoundry) -> Checked<Trust> {
    trust::of_a_platform(
        "cf.root_ca_cert",
        cf.root_ca_cert.as_deref(),
        cf.verification,
        "`broker.disable_ssl_cert_verification` or `cf.disable_ssl_cert_verification`",
        "the Cloud Controller or its UAA",
    )
}

/// The clients of the Cloud Controller and its UAA. Nobody is asked yet.
pub(crate) fn connect(
    cf: &CloudFoundry,
    trust: &Trust,
    limits: &Limits,
) -> Checked<(CloudController, Option<ClientAdministration>, TokenSource)> {
    let grant = match &cf.credentials {
        PlatformCredentials::Client {
            client_id,
            client_secret,
        } => Grant::ClientCredentials {
            client_id: client_id.clone(),
            client_secret: client_secret.clone(),
        },
        PlatformCredentials::User { username, password } => Grant::Password {
            username: username.clone(),
            password: password.clone(),
        },
    };
    let unusable = |key| move |source| vec![StartUpFault::Address { key, source }];
    let tokens = TokenSource::connect(cf.uaa_url.as_written(), trust, grant, limits.clone())
        .map_err(unusable("cf.uaa.url"))?;
    let client =
        CloudController::connect(cf.url.as_written(), trust, tokens.clone(), limits.clone())
            .map_err(unusable("cf.url"))?;
    let clients = match &cf.credentials {
        PlatformCredentials::Client { .. } => {
            let (url, tokens) = (cf.uaa_url.as_written(), tokens.clone());
            let clients = ClientAdministration::connect(url, trust, tokens, limits.clone());
            Some(clients.map_err(unusable("cf.uaa.url"))?)
        }
        PlatformCredentials::User { .. } => None,
    };
    Ok((client, clients, tokens))
}

/// Whoever may not look into all spaces counts too little, and is not told so by the Cloud Controller.
fn remark_blind_counting(token: &Token, offering: &Offering) {
    if offering.has_quotas() && Sight::of(token.scopes()) == Sight::Parts {
        tracing::warn!(
            code = %Code::CountingRights,
            "whom `cf.uaa.authentication` names may not look into all spaces of the Cloud Controller, so that instances may \
             be missed and quotas be exceeded; give one of the rights `{}`",
            SEES_ALL.join("`, `")
        );
    }
}

/// Plans that somebody uses and the configuration does not know any more.
pub(crate) async fn plans_in_use(
    client: &CloudController,
    call: &Call,
    offering: &Offering,
) -> Result<Vec<StartUpFault>, ServiceError> {
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
        (instances > 0).then_some(StartUpFault::PlanInUse {
            name: plan.name,
            id: plan.unique_id,
            instances,
        })
    });
    Ok(in_use.collect())
}
