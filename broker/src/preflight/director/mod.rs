//! The Director at a start: that it answers, knows us and is new enough, and whether BOSH configs may be used, which
//! operation records need (`docs/contributing/architecture.md`, "Operation records and tokens").

pub(crate) mod diagnosis;
mod version;

use odb_api_types::code::Code;
use odb_clients::{
    ConnectError, FailureKind,
    director::{
        Config as BoshConfig, ConfigId, ConfigName, ConfigType, Credentials, Director, Expected,
        Info, PutConfigError,
    },
    http::{Call, Limits, StatusCode, Trust},
};
use odb_config::{Bosh, BoshConfigs, Broker, Config};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::preflight::{
    certificates::trust::Authorities,
    start::Checked,
    uaa::{is_rejection, rights::DirectorRights},
};

/// Ids of configs are positive numbers, so that no latest one is this.
const IMPOSSIBLE: &str = "-1";

/// The effect of missing rights on configs.
const WITHOUT: &str = "no operation is recorded: identical repeats are rejected, operations of an earlier process continue only when \
                       they are polled, and adapters cannot return BOSH configs";

/// Connects to the Director. If a Director is too old and also rejects the credentials, both are reported; a client
/// that may log in but not deploy gets a warning.
pub(crate) async fn check(config: &Config) -> Checked<(Director, Option<Finding>)> {
    let bosh = &config.bosh;
    let url = &bosh.url;
    let call = Call::within(config.broker.timings.start_up);
    let director = connect(bosh, &call).await?;
    let unauthenticated = |code, found| {
        let (key, remedy) = ("bosh.authentication", "check `bosh.authentication`");
        Finding::error(code, key, found, remedy)
    };
    let (info, unauthenticated) = match director.authenticated_info(&call).await {
        Ok(info) if info.user.is_some() => (Some(info), None),
        Ok(info) => {
            let found = format!("the Director at `{url}` does not accept the broker's credentials");
            let finding = unauthenticated(Code::DirectorCredentials, found);
            (Some(info), Some(finding))
        }
        Err(source) => {
            let (info, code) = match &source.kind {
                // The version is public, so it can be reported without a token.
                FailureKind::NoToken { source } if is_rejection(source) => {
                    (director.info(&call).await.ok(), Code::DirectorCredentials)
                }
                FailureKind::NoToken { .. } => {
                    (director.info(&call).await.ok(), Code::DirectorUnreachable)
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
        tracing::info!(director = %info.name, version = %info.version, %user, "the Director accepts the broker's credentials");
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
        DirectorRights::Reading => "may only read",
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
    Ok(director.map_err(|error| {
        let code = match error {
            ConnectError::OtherAuthentication { .. }
            | ConnectError::UnsendableCredentials { .. } => Code::DirectorCredentials,
            _ => Code::DirectorUnreachable,
        };
        let found = format!("could not query the Director at `{}`", bosh.url);
        let remedy = "check `bosh.url`, `bosh.root_ca_cert` and that it can be reached from here";
        Finding::error(code, "bosh.url", found, remedy).because(&error)
    })?)
}

async fn open(
    call: &Call,
    bosh: &Bosh,
    trust: &Trust,
    limits: Limits,
) -> Result<Director, ConnectError> {
    let credentials = bosh.credentials.clone();
    Director::connect(call, bosh.url.as_written(), trust, credentials, limits).await
}

/// Tests whether configs may be used, if they are enabled, and warns the operator of the effect if not. The start does
/// not depend on it.
pub(crate) async fn configs(director: &Director, broker: &Broker) -> BoshConfigs {
    if broker.bosh_configs == BoshConfigs::Disabled {
        tracing::warn!("`broker.disable_bosh_configs` is set: {WITHOUT}");
        return BoshConfigs::Disabled;
    }
    let call = Call::within(broker.timings.start_up);
    let Err(error) = try_to_write(director, &call).await else {
        return BoshConfigs::Enabled;
    };
    let code = Code::ConfigRights;
    let source = match &error {
        PutConfigError::Director { source } => Some(source),
        PutConfigError::Stale { .. } => None,
    };
    match source.map(|source| (source, &source.kind)) {
        Some((source, FailureKind::NotAllowed { .. })) => {
            tracing::warn!(
                %code,
                error = %Chain(source),
                "the Director does not permit the broker to read and write BOSH configs, so that {WITHOUT}; give the client of \
                 `bosh.authentication` the right `bosh.teams.TEAM.admin`, which it needs for deployments too"
            );
            BoshConfigs::Disabled
        }
        // The path is unknown, not a config: that one is never missed.
        Some((source, FailureKind::Refused { status, .. })) if *status == StatusCode::NOT_FOUND => {
            tracing::warn!(
                %code,
                error = %Chain(source),
                "the Director is too old for BOSH configs, so that {WITHOUT}"
            );
            BoshConfigs::Disabled
        }
        _ => {
            tracing::warn!(
                %code,
                error = %Chain(&error),
                "could not determine whether the broker may read and write BOSH configs; without that right orders will fail"
            );
            BoshConfigs::Enabled
        }
    }
}

fn config_of_a_trial() -> (ConfigType, ConfigName) {
    let kind = ConfigType::try_from("odb-rights".to_owned()).expect("it is plain text");
    let name = ConfigName::try_from("trial".to_owned()).expect("it is plain text");
    (kind, name)
}

/// Writes a config under the condition of an impossible latest version, so that it leaves nothing behind: the Director
/// checks rights first (`spec/contracts/director-api.md`, "Configs"). A read then confirms that the condition failed.
async fn try_to_write(director: &Director, call: &Call) -> Result<(), PutConfigError> {
    let (kind, name) = config_of_a_trial();
    let impossible = ConfigId::try_from(IMPOSSIBLE.to_owned()).expect("it is plain text");
    let expected = Expected::Latest(impossible);
    let written = director
        .put_config(call, &kind, &name, "{}", &expected)
        .await;
    match written {
        Err(PutConfigError::Stale { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(BoshConfig { .. }) => {
            tracing::warn!(
                code = %Code::ConfigRights,
                "the Director does not know conditions on BOSH configs: two brokers for one offering would overwrite each other's \
                 records"
            );
            let deleted = director.delete_config(call, &kind, &name).await;
            deleted.map_err(|source| PutConfigError::Director { source })
        }
    }
}
