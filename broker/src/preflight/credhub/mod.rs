//! CredHub, the Director's and that of applications, at a start: that it answers, knows us and lets us look.

pub(crate) mod diagnosis;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind, ServiceError,
    credhub::{CredHub, CredentialName},
    director::Director,
    http::{Call, Limits, TransportError},
};
use odb_config::Config;
use odb_core::{finding::Finding, operations::SecureBindings};

use crate::preflight::{
    certificates::trust::Authorities,
    start::Checked,
    uaa::{is_rejection, is_unauthorized},
};

/// A name that BOSH DNS is to give may come a little later than the broker, which the Go broker waits for as long.
const FIRST_PAUSE: Duration = Duration::from_millis(16);
const PAUSES: usize = 10;

/// Connects to the Director's CredHub, if secrets are stored there. Only read rights can be verified: CredHub hides
/// entries from clients without them, and a write would change something.
pub(crate) async fn of_the_director(config: &Config) -> Checked<Option<CredHub>> {
    let Some(access) = &config.bosh_credhub else {
        return Ok(None);
    };
    let url = &access.url;
    let call = Call::within(config.broker.timings.start_up);
    let trust = Authorities::of_directors_credhub(access).trust()?;
    let (client, limits) = (access.client.clone(), Limits::default());
    let connected = CredHub::connect(&call, url.as_written(), &trust, client, limits).await;
    let credhub = connected.map_err(|error| {
        let found = format!("could not query the Director's CredHub at `{url}`");
        let remedy = "check `bosh_credhub.url`, `bosh_credhub.root_ca_cert` and that it can be reached from here, or unset \
                      `broker.enable_secure_manifests`";
        Finding::error(Code::CredHubUnreachable, "bosh_credhub.url", found, remedy).because(&error)
    })?;
    let unauthenticated = |error| {
        let code = code_of(&error, Code::CredHubCredentials, Code::CredHubUnreachable);
        let found = format!("the Director's CredHub at `{url}` denies the broker access");
        let remedy = "check `bosh_credhub.authentication` and that its client has `credhub.read` and `credhub.write`";
        Finding::error(code, "bosh_credhub.authentication", found, remedy).because(&error)
    };
    let version = credhub.version(&call).await.map_err(unauthenticated)?;
    // The offering's own folder may have more entries than can be listed in time; this one is empty.
    let folder = format!("/odb/{}/start-up", config.offering.id);
    match folder.parse::<CredentialName>() {
        Ok(folder) => {
            let names = credhub.names_below(&call, &folder).await;
            names.map_err(unauthenticated)?;
        }
        Err(error) => tracing::warn!(
            code = %Code::Manifest,
            %error,
            "`service_catalog.id` has characters that CredHub does not accept: orders whose adapter returns secrets will fail"
        ),
    }
    tracing::info!(%url, %version, "the Director's CredHub accepts the broker's credentials");
    Ok(Some(credhub))
}

/// Warns of a Director that resolves no references.
pub(crate) async fn compare(config: &Config, director: &Director) {
    if config.bosh_credhub.is_none() {
        return;
    }
    let call = Call::within(config.broker.timings.start_up);
    if let Ok(info) = director.info(&call).await
        && !info.config_server
    {
        tracing::warn!(
            code = %Code::NoDirectorCredHub,
            "`broker.enable_secure_manifests` is set, but the Director has no CredHub of its own: deployments whose manifests refer \
             to secrets will fail"
        );
    }
}

/// Connects to the CredHub of applications, if there is one. One that is out of reach may listen soon.
pub(crate) async fn of_applications(config: &Config) -> Checked<Option<SecureBindings>> {
    let Some(section) = &config.runtime_credhub else {
        return Ok(None);
    };
    let url = &section.url;
    let call = Call::within(config.broker.timings.start_up);
    let trust = Authorities::of_runtime_credhub(section).trust()?;
    let attempt = || {
        let (client, limits) = (section.client.clone(), Limits::default());
        CredHub::connect(&call, url.as_written(), &trust, client, limits)
    };
    let pauses = ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE)
        .with_max_times(PAUSES);
    let connected = attempt
        .retry(pauses)
        .when(is_out_of_reach)
        .adjust(|_, pause| pause.filter(|pause| *pause < call.deadline.remaining()));
    let connected = connected.await;
    let credhub = connected.map_err(|error| {
        let found = format!("could not query the runtime CredHub at `{url}`");
        let remedy =
            "check `credhub.api_url`, `credhub.ca_cert` and that it can be reached from here";
        let code = Code::RuntimeCredHubUnreachable;
        Finding::error(code, "credhub.api_url", found, remedy).because(&error)
    })?;
    let version = credhub.version(&call).await.map_err(|error| {
        let unreachable = Code::RuntimeCredHubUnreachable;
        let code = code_of(&error, Code::RuntimeCredHubCredentials, unreachable);
        let found = format!("could not authenticate to the runtime CredHub at `{url}`");
        let remedy = "check `credhub.client_id`, `credhub.client_secret` and `credhub.internal_uaa_ca_cert`, and that the client has \
                      the authorities `credhub.read` and `credhub.write`";
        Finding::error(code, "credhub", found, remedy).because(&error)
    })?;
    tracing::info!(%version, "the runtime CredHub accepts the broker's credentials");
    let service = config.offering.id.clone();
    Ok(Some(SecureBindings::new(credhub, service)))
}

/// No connection came about: its name is not known yet, or it does not listen yet.
fn is_out_of_reach(error: &ConnectError) -> bool {
    let ConnectError::Info { source, .. } = error else {
        return false;
    };
    matches!(
        source.kind,
        FailureKind::NoResponse {
            source: TransportError::NotConnected { .. }
        }
    )
}

/// Under which code a refused request is reported: whether CredHub or its UAA does not accept the client, or does not
/// work.
fn code_of(error: &ServiceError, refused: Code, unreachable: Code) -> Code {
    match &error.kind {
        FailureKind::NoToken { source, .. } if is_rejection(source) => refused,
        _ if is_unauthorized(error) => refused,
        _ => unreachable,
    }
}
