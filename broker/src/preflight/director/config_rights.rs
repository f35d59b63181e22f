//! Whether BOSH configs may be read and written, which operation records need (`docs/contributing/architecture.md`,
//! "Operation records and tokens").

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    director::{Config, ConfigId, ConfigName, ConfigType, Director, Expected, PutConfigError},
    http::{Call, StatusCode},
};
use odb_config::{BoshConfigs, Broker};
use odb_redaction::Chain;

/// The name of the trial's config, which never exists.
const KIND: &str = "odb-rights";
const NAME: &str = "trial";
/// Ids of configs are positive numbers, so that no latest one is this.
const IMPOSSIBLE: &str = "-1";

/// The effect of missing rights on configs.
const WITHOUT: &str = "no operation is recorded: identical repeats are rejected, operations of an earlier process continue only when \
                       they are polled, and adapters cannot return BOSH configs";

/// Tests whether configs may be used, if they are enabled, and warns the operator of the effect if not. The start does
/// not depend on it.
pub(crate) async fn of(director: &Director, broker: &Broker) -> BoshConfigs {
    if broker.bosh_configs == BoshConfigs::Disabled {
        tracing::warn!("`broker.disable_bosh_configs` is set: {WITHOUT}");
        return BoshConfigs::Disabled;
    }
    let call = Call::within(broker.timings.start_up);
    let code = Code::ConfigRights;
    match trial(director, &call).await {
        Ok(()) => BoshConfigs::Enabled,
        Err(PutConfigError::Director { source }) if is_no_right(&source) => {
            tracing::warn!(
                %code,
                error = %Chain(&source),
                "the Director does not let us read and write BOSH configs, so that {WITHOUT}; give the client of \
                 `bosh.authentication` the right `bosh.teams.TEAM.admin`, which it needs for deployments too"
            );
            BoshConfigs::Disabled
        }
        Err(PutConfigError::Director { source }) if is_unknown(&source) => {
            tracing::warn!(
                %code,
                error = %Chain(&source),
                "the Director is too old for BOSH configs, so that {WITHOUT}"
            );
            BoshConfigs::Disabled
        }
        Err(error) => {
            tracing::warn!(
                %code,
                error = %Chain(&error),
                "it could not be learned whether we may read and write BOSH configs; without that right orders will fail"
            );
            BoshConfigs::Enabled
        }
    }
}

/// Writes a config under the condition of an impossible latest version, so that it leaves nothing behind: the Director
/// checks rights first (`spec/contracts/director-api.md`, "Configs"). A read then confirms that the condition failed.
async fn trial(director: &Director, call: &Call) -> Result<(), PutConfigError> {
    let kind = ConfigType::try_from(KIND.to_owned()).expect("it is plain text");
    let name = ConfigName::try_from(NAME.to_owned()).expect("it is plain text");
    let impossible = ConfigId::try_from(IMPOSSIBLE.to_owned()).expect("it is plain text");
    let expected = Expected::Latest(impossible);
    let written = director
        .put_config(call, &kind, &name, "{}", &expected)
        .await;
    match written {
        Err(PutConfigError::Stale { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(Config { .. }) => {
            tracing::warn!(
                code = %Code::ConfigRights,
                "the Director does not know conditions on BOSH configs: two brokers for one offering would overwrite each other's \
                 records"
            );
            let deleted = director.delete_config(call, &kind, &name).await;
            deleted
                .map(|_| ())
                .map_err(|source| PutConfigError::Director { source })
        }
    }
}

fn is_no_right(error: &ServiceError) -> bool {
    matches!(error.kind, FailureKind::NotAllowed { .. })
}

/// The path, not a config: that one is never missed.
fn is_unknown(error: &ServiceError) -> bool {
    matches!(
        error.kind,
        FailureKind::Refused {
            status: StatusCode::NOT_FOUND,
            ..
        }
    )
}
