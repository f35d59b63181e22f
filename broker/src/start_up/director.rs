//! The Director: that it answers, knows us and is new enough.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    director::{ConnectError, Credentials, Director, Info},
    http::{Call, Limits},
};

use super::{
    Checked, DirectorVersionFault, StartUpFault, StartUpWarning, director_version, trust,
    warning::Reach,
};
use crate::{
    config::{Bosh, Config, DirectorCredentials, Offering},
    doctor::rights::DirectorRights,
};

/// Connects to the Director. A Director that is too old and does not know us is told of both; one that lets us in and not
/// deploy is warned of.
pub(super) async fn check(config: &Config) -> Checked<(Director, Option<StartUpWarning>)> {
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
                ServiceError {
                    kind: FailureKind::NoToken { .. },
                    ..
                } => director.info(&call).await.ok(),
                _ => None,
            };
            let url = url.clone();
            (info, Some(StartUpFault::DirectorIdentity { url, source }))
        }
    };
    let too_old = info.as_ref().and_then(|info| {
        let fault = too_old(&info.version, &config.offering)?;
        Some(StartUpFault::DirectorVersion {
            url: url.clone(),
            source: fault,
        })
    });
    let faults: Vec<_> = stranger.into_iter().chain(too_old).collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut warning = None;
    if let Some(info) = info {
        warning = too_few_rights(bosh, &director, &info, &call).await;
        if !joins_tasks(&info.version) {
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
    Ok((director, warning))
}

/// Warns of a client that may not deploy. The Director itself tells of that only when there is an order.
async fn too_few_rights(
    bosh: &Bosh,
    director: &Director,
    info: &Info,
    call: &Call,
) -> Option<StartUpWarning> {
    let DirectorCredentials::Uaa { client_id, .. } = &bosh.credentials else {
        // A user of the Director's own may do everything.
        return None;
    };
    // This token has just been used.
    let token = director.tokens()?.token(call).await.ok()?;
    let reach = match DirectorRights::of(token.scopes(), &info.uuid) {
        DirectorRights::Everything(_) | DirectorRights::Teams(_) => return None,
        DirectorRights::Reading => Reach::Looking,
        DirectorRights::Nothing => Reach::Nothing,
    };
    Some(StartUpWarning::DirectorRights {
        url: bosh.url.clone(),
        client: client_id.clone(),
        reach,
    })
}

async fn connect(bosh: &Bosh, call: &Call) -> Checked<Director> {
    let trust = trust::of_the_director("bosh.root_ca_cert", bosh.root_ca_cert.as_deref())?;
    Director::connect(
        call,
        bosh.url.as_written(),
        &trust,
        credentials(bosh),
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

/// As whom we speak to the Director.
pub(crate) fn credentials(bosh: &Bosh) -> Credentials {
    match &bosh.credentials {
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
    }
}

/// Why a Director of this version cannot do what the offering needs, if it cannot.
pub(crate) fn too_old(version: &str, offering: &Offering) -> Option<DirectorVersionFault> {
    director_version::check(version, offering).err()
}

/// Whether a Director of this version joins tasks by a context id.
pub(crate) fn joins_tasks(version: &str) -> bool {
    director_version::joins_tasks(version)
}
