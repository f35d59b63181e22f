//! Whether BOSH configs may be used, which operation records need (`docs/contributing/architecture.md`, "Operation
//! records and tokens"). A start writes in vain, `doctor` only reads.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind,
    director::{
        Config as BoshConfig, ConfigId, ConfigName, ConfigType, Director, Expected, PutConfigError,
    },
    http::{Call, StatusCode},
};
use odb_config::{BoshConfigs, Broker};
use odb_core::finding::Finding;
use odb_redaction::Chain;

use crate::preflight::{
    chart::{Chart, Probe},
    context::{Context, timed},
};

/// Ids of configs are positive numbers, so that no latest one is this.
const IMPOSSIBLE: &str = "-1";

/// The effect of missing rights on configs.
const WITHOUT: &str = "no operation is recorded: identical repeats are rejected, operations of an earlier process continue only when \
                       they are polled, and adapters cannot return BOSH configs";

/// Tests whether configs may be used, if they are enabled, and warns the operator of the effect if not. The start does
/// not depend on it.
pub(crate) async fn try_rights(director: &Director, broker: &Broker) -> BoshConfigs {
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

/// Configs are read with the same right with which they are written.
pub(crate) async fn read(
    director: &Director,
    context: &Context<'_>,
    chart: &mut Chart,
) -> Option<()> {
    if context.bosh_configs() == BoshConfigs::Disabled {
        chart.not_asked(Probe::Configs, "`broker.disable_bosh_configs` is set");
        return Some(());
    }
    let (kind, name) = config_of_a_trial();
    let call = chart.timeouts.call();
    let (read, took) = timed(director.config_latest(&call, &kind, &name)).await;
    chart.unless_failed(Probe::Configs, took, read, |error| {
        let remedy = match error.kind {
            FailureKind::NotAllowed { .. } => {
                "give the client `bosh.teams.TEAM.admin`, or set `broker.disable_bosh_configs` if this is intended"
            }
            FailureKind::Refused { .. } => {
                "upgrade the Director, or set `broker.disable_bosh_configs`"
            }
            _ => "look at the Director's log",
        };
        let (key, came) = (Some("bosh.authentication"), Chain(&error).to_string());
        Finding::tried(Code::ConfigRights, key, "`GET /configs`", came, remedy).warning()
    })?;
    chart.fine(Probe::Configs, took, "can be read");
    Some(())
}
