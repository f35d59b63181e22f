//! The Director: that it answers, knows us and is new enough.

use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind,
    director::{Credentials, Director, Info},
    http::{Call, Limits, Trust},
};
use odb_config::{Bosh, Config};
use odb_core::finding::Finding;

use crate::preflight::{
    certificates::trust::Authorities,
    director::version,
    start::Checked,
    uaa::{diagnosis::is_rejection, rights::DirectorRights},
};

/// Connects to the Director. If a Director is too old and also rejects the credentials, both are reported; a client
/// that may log in but not deploy gets a warning.
pub(crate) async fn check(config: &Config) -> Checked<(Director, Option<Finding>)> {
    let bosh = &config.bosh;
    let url = &bosh.url;
    let call = Call::within(config.broker.timings.start_up);
    let director = connect(bosh, &call).await?;
    let unauthenticated = |code, found| {
        Finding::error(
            code,
            "bosh.authentication",
            found,
            "check `bosh.authentication`",
        )
    };
    let (info, unauthenticated) = match director.authenticated_info(&call).await {
        Ok(info) if info.user.is_some() => (Some(info), None),
        Ok(info) => {
            let found = format!("the Director at `{url}` does not know us");
            (
                Some(info),
                Some(unauthenticated(Code::DirectorCredentials, found)),
            )
        }
        Err(source) => {
            let (info, code) = match &source.kind {
                // The version is public, so it can be reported without a token.
                FailureKind::NoToken { source } => {
                    let code = if is_rejection(source) {
                        Code::DirectorCredentials
                    } else {
                        Code::DirectorUnreachable
                    };
                    (director.info(&call).await.ok(), code)
                }
                FailureKind::Unauthenticated => (None, Code::DirectorCredentials),
                _ => (None, Code::DirectorUnreachable),
            };
            let found = format!("could not authenticate to the Director at `{url}`");
            (info, Some(unauthenticated(code, found).because(&source)))
        }
    };
    let too_old = info.as_ref().and_then(|info| {
        let cause = version::check(&info.version, &config.offering).err()?;
        let found = format!("the Director at `{url}` cannot do what is configured");
        let remedy = "upgrade it, or leave that out";
        Some(Finding {
            cause,
            ..Finding::error(Code::DirectorTooOld, "bosh.url", found, remedy)
        })
    });
    let errors: Vec<_> = unauthenticated.into_iter().chain(too_old).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut warning = None;
    if let Some(info) = info {
        warning = too_few_rights(bosh, &director, &info, &call).await;
        if !version::joins_tasks(&info.version) {
            tracing::warn!(
                code = %Code::DirectorTooOld,
                version = %info.version,
                "the Director is older than 261 and does not store context ids: the broker cannot resume operations whose answer is lost or that an earlier process began; upgrade the Director"
            );
        }
        let user = info.user.unwrap_or_default();
        tracing::info!(director = %info.name, version = %info.version, %user, "the Director knows us");
    }
    Ok((director, warning))
}

/// Warns of a client that may not deploy. The Director itself reports it only with an order.
async fn too_few_rights(
    bosh: &Bosh,
    director: &Director,
    info: &Info,
    call: &Call,
) -> Option<Finding> {
    let Credentials::Uaa { client_id, .. } = &bosh.credentials else {
        // A user of the Director's own may do everything.
        return None;
    };
    // This token has just been used.
    let token = director.tokens()?.token(call).await.ok()?;
    let reach = match DirectorRights::of(token.scopes(), &info.uuid) {
        DirectorRights::Everything(_) | DirectorRights::Teams(_) => return None,
        DirectorRights::Reading => "may only look",
        DirectorRights::Nothing => "may do nothing",
    };
    let found = format!(
        "client `{client_id}` {reach} at the Director at `{}`, so that every order will fail",
        bosh.url
    );
    let remedy = "give it the authority `bosh.teams.TEAM.admin`";
    Some(Finding::error(Code::DirectorRights, "bosh.authentication", found, remedy).warning())
}

async fn connect(bosh: &Bosh, call: &Call) -> Checked<Director> {
    let trust = Authorities::of_director(bosh).trust()?;
    let director = open(call, bosh, &trust, Limits::default()).await;
    let director = director.map_err(|error| {
        let code = match error {
            ConnectError::OtherAuthentication { .. }
            | ConnectError::UnsendableCredentials { .. } => Code::DirectorCredentials,
            _ => Code::DirectorUnreachable,
        };
        let found = format!("could not get to know the Director at `{}`", bosh.url);
        let remedy = "check `bosh.url`, `bosh.root_ca_cert` and that it can be reached from here";
        Finding::error(code, "bosh.url", found, remedy).because(&error)
    })?;
    Ok(director)
}

/// Connects to the Director of the configuration.
pub(crate) async fn open(
    call: &Call,
    bosh: &Bosh,
    trust: &Trust,
    limits: Limits,
) -> Result<Director, ConnectError> {
    let credentials = bosh.credentials.clone();
    Director::connect(call, bosh.url.as_written(), trust, credentials, limits).await
}
