//! Upgrades: the same instance with the current offering.

use jiff::Timestamp;
use odb_api_types::{code::Code, kind::OperationKind};
use odb_core::engine::{Order, Started, Upgraded};
use odb_redaction::Chain;

use crate::{
    BoshEngine,
    error::Error,
    manifest::planned::{Assessment, Planned},
    orders::{
        current::{self, AtRest, Current},
        preparation::{self, Prepared},
        submission::Work,
        submit_order, update,
    },
    records::{
        operation_record::OperationRecord,
        operation_records::{StoredRecord, WriteRecordError},
    },
};

/// Deploys the instance again on its plan. Adapters get no secrets (`spec/contracts/adapter-protocol.md` §1.8). The
/// user's earlier choices are in the deployed manifest, from which the adapter takes them; an upgrade applies pending
/// changes (`spec/contracts/broker-behaviour.md` §3.6).
pub(crate) async fn upgrade(engine: &BoshEngine, order: &Order) -> Result<Upgraded, Error> {
    let current = match current::look_at_current(engine, order, OperationKind::Upgrade).await? {
        Current::AtRest(current) => current,
        Current::SameInProgress(started) => return Ok(Upgraded::Started(started)),
    };
    let previous = update::previous(
        engine,
        Some(preparation::plan(engine, &order.plan)?),
        &current,
    );
    let prepared =
        preparation::prepare(engine, order, OperationKind::Upgrade, Some(previous)).await?;
    if engine.skips_unchanged_upgrades
        && let Some(stored) = in_place(&current, &prepared)
    {
        note_unchanged(engine, order, stored, &prepared.record).await?;
        return Ok(Upgraded::NothingToDo);
    }
    let started = redeploy(engine, order, current, prepared).await?;
    Ok(Upgraded::Started(started))
}

/// Records that the deployed state equals the current target, in one write: the previous operation stays the last one.
/// A recorded target is not written again, although a continued run returns to such an instance.
async fn note_unchanged(
    engine: &BoshEngine,
    order: &Order,
    stored: &StoredRecord,
    prepared: &OperationRecord,
) -> Result<(), Error> {
    tracing::info!("the upgrade would change nothing: nothing is submitted");
    let Some(record) = stored.record.confirmed(prepared, Timestamp::now()) else {
        return Ok(());
    };
    let call = order.call();
    let records = &engine.upstreams.records;
    let written = records.write(&call, &order.instance, record, Some(&stored.id));
    match written.await {
        Ok(_) => Ok(()),
        Err(WriteRecordError::Overtaken) => Err(Error::Busy),
        Err(error @ WriteRecordError::Director(_)) => {
            tracing::warn!(code = %Code::Director, error = %Chain(&error), "could not record that the instance is up to date: the next upgrade checks it again");
            Ok(())
        }
    }
}

/// Submits the prepared work for an existing instance.
pub(crate) async fn redeploy(
    engine: &BoshEngine,
    order: &Order,
    current: AtRest,
    mut prepared: Prepared,
) -> Result<Started, Error> {
    let stored = current.stored.as_deref();
    let record = &mut prepared.record;
    record.carry_over(stored.map(|stored| &stored.record));
    if let Some(configs) = &current.configs {
        record.replaced_configs = configs.replaced_by(&prepared.configs);
        record.obsolete_configs = configs.versions_of(&prepared.obsolete_configs);
    }
    submit_order::submit_order(engine, order, prepared, stored).await
}

/// The operation record of an instance that is up to date. An unreadable manifest is to be replaced.
fn in_place<'a>(current: &'a AtRest, prepared: &Prepared) -> Option<&'a StoredRecord> {
    let Work::Deploy(manifest) = &prepared.work else {
        return None;
    };
    let planned = Planned {
        plan: &prepared.record.plan,
        manifest: manifest.as_str(),
        configs: &prepared.configs,
        obsolete_configs: &prepared.obsolete_configs,
        secrets: &prepared.secrets,
        client: prepared.client_change,
    };
    let foreseen = planned.compared_with(current).ok()?;
    let stored = current.stored.as_deref();
    stored.filter(|_| foreseen.assess == Assessment::UpToDate)
}
