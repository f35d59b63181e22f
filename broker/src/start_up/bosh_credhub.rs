//! The Director's CredHub, where secure manifests are on: that it answers, knows us and lets us look.

use odb_api_types::code::Code;
use odb_clients::{
    credhub::{CredHub, CredHubClient, CredentialName},
    director::Director,
    http::{Call, Limits},
};

use super::{Checked, StartUpFault, trust};
use crate::config::{Config, CredHubAccess};

/// Connects to the Director's CredHub, if there are secrets to be kept. What we may do there can only be learned as far as
/// looking goes: CredHub shows nothing to who may not read, and writing would change something.
pub(super) async fn check(config: &Config) -> Checked<Option<CredHub>> {
    let Some(access) = &config.bosh_credhub else {
        return Ok(None);
    };
    let call = Call::within(config.broker.timings.start_up);
    let url = || access.url.clone();
    let credhub = connect(access, &call).await?;
    let stranger = |source| vec![StartUpFault::CredHubIdentity { url: url(), source }];
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
pub(super) async fn compare(config: &Config, director: &Director) {
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
    .map_err(|source| {
        vec![StartUpFault::CredHub {
            url: access.url.clone(),
            source,
        }]
    })
}
