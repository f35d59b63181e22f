//! The Director's CredHub, where secure manifests are on: that it answers, knows us and lets us look.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    credhub::{CredHub, CredHubClient, CredentialName},
    director::Director,
    http::{Call, Limits, StatusCode},
};

use crate::{
    config::{Config, CredHubAccess},
    finding::Finding,
    preflight::{certificates::trust, start::Checked, uaa::diagnosis::is_refusal},
};

/// Connects to the Director's CredHub, if there are secrets to be kept. What we may do there can only be learned as far as
/// looking goes: CredHub shows nothing to who may not read, and writing would change something.
pub(crate) async fn check(config: &Config) -> Checked<Option<CredHub>> {
    let Some(access) = &config.bosh_credhub else {
        return Ok(None);
    };
    let call = Call::within(config.broker.timings.start_up);
    let credhub = connect(access, &call).await?;
    let stranger = |error| {
        let code = code_of(&error, Code::CredHubCredentials, Code::CredHubUnreachable);
        let finding = Finding::fault(
            code,
            "bosh_credhub.authentication",
            format!(
                "the Director's CredHub at `{}` does not let us in",
                access.url
            ),
            "check `bosh_credhub.authentication` and that its client has `credhub.read` and `credhub.write`",
        );
        vec![finding.because(&error)]
    };
    let version = credhub.version(&call).await.map_err(stranger)?;
    // The offering's own folder may hold more than can be listed in time; this one is empty.
    let folder = format!("/odb/{}/start-up", config.offering.id);
    match folder.parse::<CredentialName>() {
        Ok(folder) => {
            credhub
                .names_below(&call, &folder)
                .await
                .map_err(stranger)?;
        }
        Err(error) => tracing::warn!(
            code = %Code::Manifest,
            %error,
            "`service_catalog.id` has letters that CredHub does not take: orders whose adapter returns secrets will fail"
        ),
    }
    tracing::info!(url = %access.url, %version, "the Director's CredHub knows us");
    Ok(Some(credhub))
}

/// Remarks on a Director that resolves no references.
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

async fn connect(access: &CredHubAccess, call: &Call) -> Checked<CredHub> {
    let trust = trust::of_a_credhub("bosh_credhub.root_ca_cert", access.ca_certs.as_deref())?;
    let client = CredHubClient {
        client_id: access.client_id.clone(),
        client_secret: access.client_secret.clone(),
    };
    CredHub::connect(
        call,
        access.url.as_written(),
        &trust,
        client,
        Limits::default(),
    )
    .await
    .map_err(|error| {
        let finding = Finding::fault(
            Code::CredHubUnreachable,
            "bosh_credhub.url",
            format!(
                "could not get to know the Director's CredHub at `{}`",
                access.url
            ),
            "check `bosh_credhub.url`, `bosh_credhub.root_ca_cert` and that it can be reached from here, or unset \
             `broker.enable_secure_manifests`",
        );
        vec![finding.because(&error)]
    })
}

/// Under which code a refused request is reported: whether CredHub or its UAA does not accept the client, or does not work.
pub(crate) fn code_of(error: &ServiceError, refused: Code, unreachable: Code) -> Code {
    match &error.kind {
        FailureKind::NoToken { source, .. } if is_refusal(source) => refused,
        FailureKind::Refused {
            status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN,
            ..
        } => refused,
        _ => unreachable,
    }
}
