//! The state that an update or an upgrade finds.

use odb_adapter_sdk::protocol::ManifestText;
use odb_api_types::{ids::InstanceId, kind::OperationKind};
use odb_clients::{director::Deployment, http::Call};
use odb_core::engine::{Order, Started};
use secrecy::ExposeSecret;

use crate::{
    BoshEngine,
    configs::CurrentConfigs,
    deployment::deployment,
    error::Error,
    reconciler::operation::SnapshotState,
    records::{
        in_flight::{self, InFlight},
        last_operation::{self, has_succeeded},
        operation_record::Outcome,
        operation_records::StoredRecord,
        unfinished,
    },
};

/// The state that an operation on an existing instance finds.
pub(crate) enum Current {
    /// An instance at rest.
    AtRest(AtRest),
    /// This very request, in progress.
    SameInProgress(Started),
}

/// An instance on which nothing is in progress.
pub(crate) struct AtRest {
    pub(crate) manifest: ManifestText,
    pub(crate) stored: Option<Box<StoredRecord>>,
    pub(crate) configs: Option<CurrentConfigs>,
}

/// Verifies that the instance exists.
pub(crate) async fn require(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<(), Error> {
    let director = &engine.upstreams.director;
    let deployed = director.deployment(call, &deployment(instance)).await;
    match deployed.map_err(Error::director("look the deployment up"))? {
        Deployment::Deployed(_) => Ok(()),
        Deployment::ForeignTeam => Err(Error::Foreign),
        Deployment::Absent | Deployment::NeverDeployed => Err(Error::NotFound),
    }
}

/// Verifies that the instance exists and has no operation in progress.
pub(crate) async fn require_at_rest(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<(), Error> {
    if in_flight::operation_in_progress(engine, call, instance)
        .await?
        .is_some()
    {
        return Err(Error::Busy);
    }
    let name = deployment(instance);
    let (there, unfinished) = tokio::join!(
        require(engine, call, instance),
        unfinished::of(&engine.upstreams.director, call, &name)
    );
    let unfinished = unfinished.map_err(Error::director("look for tasks in progress"))?;
    if unfinished.is_empty() {
        there
    } else {
        Err(Error::Busy)
    }
}

/// Whether the latest operation on the instance has succeeded, as far as is known.
pub(crate) async fn is_as_ordered(
    engine: &BoshEngine,
    call: &Call,
    instance: &InstanceId,
) -> Result<bool, Error> {
    match engine
        .reconcilers
        .known(instance)
        .map(|known| known.snapshot.state)
    {
        Some(SnapshotState::Ended { outcome, .. }) => return Ok(outcome.is_success()),
        Some(SnapshotState::InProgress(_)) => return Ok(false),
        Some(SnapshotState::NeverSubmitted) | None => {}
    }
    let stored = engine.upstreams.records.read(call, instance).await?;
    if let Some(stored) = stored
        && !in_flight::never_began(engine, instance, &stored.record)
    {
        let outcome = stored.record.outcome.as_ref();
        return Ok(outcome.is_some_and(Outcome::is_success));
    }
    let latest = last_operation::guess(engine, call, instance).await?;
    Ok(has_succeeded(&latest))
}

/// Reads the instance before an operation of this kind.
pub(crate) async fn look_at_current(
    engine: &BoshEngine,
    order: &Order,
    kind: OperationKind,
) -> Result<Current, Error> {
    let call = &order.call();
    let director = &engine.upstreams.director;
    let name = deployment(&order.instance);
    let (deployed, stored, unfinished, configs) = tokio::join!(
        director.deployment(call, &name),
        engine.upstreams.records.read(call, &order.instance),
        unfinished::of(director, call, &name),
        CurrentConfigs::read(director, call, &name, engine.upstreams.configs)
    );
    let deployed = deployed.map_err(Error::director("look the deployment up"))?;
    let stored = stored?;
    let unfinished = unfinished.map_err(Error::director("look for tasks in progress"))?;
    let configs = configs.map_err(Error::director("read the instance's configs"))?;
    let manifest = match deployed {
        Deployment::Deployed(manifest) => ManifestText::from(manifest.expose_secret()),
        Deployment::ForeignTeam => return Err(Error::Foreign),
        Deployment::Absent => return Err(Error::NotFound),
        Deployment::NeverDeployed if unfinished.is_empty() => return Err(Error::NotFound),
        Deployment::NeverDeployed => return Err(Error::Busy),
    };
    let stored = match in_flight::in_flight(engine, call, &order.instance, stored).await? {
        InFlight::OnItsWay { stored, started } => {
            let record = &stored.record;
            let same = record.operation == kind && record.digest.matches(order.identity());
            return if same {
                Ok(Current::SameInProgress(started))
            } else {
                Err(Error::Busy)
            };
        }
        InFlight::AtRest(stored) => stored,
    };
    if !unfinished.is_empty() || engine.reconcilers.in_progress(&order.instance).is_some() {
        return Err(Error::Busy);
    }
    Ok(Current::AtRest(AtRest {
        manifest,
        stored: stored.map(Box::new),
        configs,
    }))
}
