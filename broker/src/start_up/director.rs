//! The Director: that it answers, knows us and is new enough.

use odb_platform::{
    director::{ConnectError, Credentials, Director, DirectorError},
    http::{Call, Limits},
};

use super::{Checked, StartUpFault, director_version, trust};
use crate::{
    code::Code,
    config::{Bosh, Config, DirectorCredentials},
};

/// Connects to the Director. A Director that is too old and does not know us is told of both.
pub(super) async fn check(config: &Config) -> Checked<Director> {
    let bosh = &config.bosh;
    let url = &bosh.url;
    let call = Call::within(config.broker.timings.start_up);
    let director = connect(bosh, &call).await?;
    let (info, stranger) = match director.authenticated_info(&call).await {
        Ok(info) if info.user.is_some() => (Some(info), None),
        Ok(info) => (
            Some(info),
            Some(StartUpFault::DirectorCredentials { url: url.clone() }),
        ),
        Err(source) => {
            // Who has no token can still be told the version.
            let info = match source {
                DirectorError::NoToken { .. } => director.info(&call).await.ok(),
                _ => None,
            };
            let url = url.clone();
            (info, Some(StartUpFault::DirectorIdentity { url, source }))
        }
    };
    let too_old = info.as_ref().and_then(|info| {
        let fault = director_version::check(&info.version, &config.offering).err()?;
        Some(StartUpFault::DirectorVersion {
            url: url.clone(),
            source: fault,
        })
    });
    let faults: Vec<_> = stranger.into_iter().chain(too_old).collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    if let Some(info) = info {
        if !director_version::joins_tasks(&info.version) {
            tracing::warn!(
                code = %Code::DirectorTooOld,
                version = %info.version,
                "the Director is older than 261 and does not join the tasks of an operation: an operation whose answer is lost, or \
                 that an earlier process began, is not found again; upgrade it"
            );
        }
        let user = info.user.unwrap_or_default();
        tracing::info!(director = %info.name, version = %info.version, %user, "the Director knows us");
    }
    Ok(director)
}

async fn connect(bosh: &Bosh, call: &Call) -> Checked<Director> {
    let trust = trust::of_the_director("bosh.root_ca_cert", bosh.root_ca_cert.as_deref())?;
    let credentials = match &bosh.credentials {
        DirectorCredentials::Basic { username, password } => Credentials::Basic {
            username: username.clone(),
            password: password.clone(),
        },
        DirectorCredentials::Uaa {
            client_id,
            client_secret,
        } => Credentials::Uaa {
            client_id: client_id.clone(),
            client_secret: client_secret.clone(),
        },
    };
    Director::connect(
        call,
        bosh.url.as_written(),
        &trust,
        credentials,
        Limits::default(),
    )
    .await
    .map_err(|source: ConnectError| {
        vec![StartUpFault::Director {
            url: bosh.url.clone(),
            source,
        }]
    })
}
