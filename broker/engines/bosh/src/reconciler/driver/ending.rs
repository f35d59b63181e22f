//! What is left to do when all tasks have ended, or none has ever begun.

use jiff::Timestamp;
use odb_api_types::{code::Code, kind::OperationKind};
use odb_clients::{
    ServiceError,
    director::{ConfigType, Deployment},
    http::Call,
};
use odb_config::BoshConfigs;
use odb_core::metrics::{FollowedOperation, OperationOutcome};
use odb_redaction::Chain;
use secrecy::ExposeSecret;

use super::{Driver, obstacle::Obstacle};
use crate::{
    Neighbours, configs,
    deployment::config_name,
    instance_clients::{ClientFault, Making},
    reconciler::{
        insistence::{self, Inquirer, Transient},
        leftovers::{self, LeftoversFault},
        operation::{Operation, SnapshotState},
    },
    records::{
        marker::{ClientRole, Outcome},
        markers::{ReadMarkerError, StoredMarker, WriteMarkerError},
    },
    secrets::FormerSecret,
    wait::Backoff,
};

/// How often it is tried to clean up what nothing hangs on.
const CLEAN_UP_ATTEMPTS: u32 = 4;

/// Whether the outcome is still to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    /// It is.
    NotYet,
    /// It has been, or there is nothing to write it into.
    Closed,
    /// Whoever wrote in between goes on with the operation, or knows what came of it.
    Overtaken,
}

impl Driver {
    /// Removes what an instance leaves behind; the marker goes last. A server that fails for long ends the operation: its
    /// deployment is deleted, and a repeat of the deletion removes the rest.
    pub(super) async fn clean_up(&self) -> Result<(), Obstacle> {
        self.tell(self.stages.len());
        let inquirer = self.inquirer.within(self.neighbours.timings.clean_up);
        let found = self.look_up(&inquirer).await;
        if !is_absent(&found.map_err(Obstacle::unclean)?) {
            return Err(Obstacle::new("the deployment is still there".to_owned()));
        }
        let (neighbours, instance) = (&self.neighbours, &self.operation.instance);
        let client = self.operation.record.client;
        let remove =
            |call| async move { leftovers::remove(neighbours, &call, instance, client).await };
        let what = "remove what the instance leaves behind";
        let removed = inquirer.insist(what, remove).await;
        removed.map_err(Obstacle::unclean)
    }

    pub(super) async fn is_absent(&self) -> Result<bool, ServiceError> {
        Ok(is_absent(&self.deployment().await?))
    }

    pub(super) async fn deployment(&self) -> Result<Deployment, ServiceError> {
        self.look_up(&self.inquirer).await
    }

    async fn look_up(&self, inquirer: &Inquirer) -> Result<Deployment, ServiceError> {
        let (director, name) = (&self.neighbours.director, &self.operation.deployment());
        let look = |call| async move { director.deployment(&call, name).await };
        inquirer.insist("look the deployment up", look).await
    }

    /// Nothing was handed over: what was written for it goes, and what was remembered before is remembered again.
    pub(super) async fn undo(&self) {
        if let Err(error) = self.try_to_undo().await {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&error), "what was written for the operation could not be taken back");
        }
    }

    async fn try_to_undo(&self) -> Result<(), LeftoversFault> {
        let (neighbours, operation) = (&self.neighbours, &self.operation);
        if !self.is_latest().await? {
            return Ok(());
        }
        if operation.kind() != OperationKind::Create {
            let restore = |call| async move {
                let (director, name) = (&neighbours.director, &operation.deployment());
                configs::restore(director, &call, name, &operation.record.replaced_configs).await
            };
            self.inquirer.insist("take configs back", restore).await?;
            self.put_secrets_back().await?;
            self.undo_client().await;
        } else if self.is_absent().await? {
            let remove = |call| async move {
                let (instance, client) = (&operation.instance, operation.record.client);
                leftovers::remove_without_marker(neighbours, &call, instance, client).await
            };
            let what = "take configs and secrets back";
            self.inquirer.insist(what, remove).await?;
        }
        Ok(self.take_markers_back().await?)
    }

    /// What was remembered before the operation is remembered again. One that was cancelled was written down twice.
    async fn take_markers_back(&self) -> Result<(), ServiceError> {
        let (markers, operation) = (&self.neighbours.markers, &self.operation);
        let mut latest = operation.stored.clone();
        while let Some(written) = latest {
            let written = &written;
            let take_back = |call| async move { markers.take_back(&call, written).await };
            self.inquirer
                .insist("take the marker back", take_back)
                .await?;
            let before = self.latest_marker().await?.filter(|before| {
                operation.record.context == before.marker.context && before.id != *written
            });
            latest = before.map(|before| before.id);
        }
        Ok(())
    }

    /// Makes secrets again what they were, but for what is in use: should the Director have dropped the tasks of what was
    /// handed over after all, its secrets stay.
    async fn put_secrets_back(&self) -> Result<(), LeftoversFault> {
        let (secrets, operation) = (&self.neighbours.secrets, &self.operation);
        let mut former = operation.record.former_secrets.clone();
        if former.is_empty() {
            return Ok(());
        }
        if let Deployment::Deployed(manifest) = self.deployment().await? {
            former = FormerSecret::not_in_use(&former, manifest.expose_secret());
        }
        let former = &former;
        let put_back =
            |call| async move { secrets.put_back(&call, &operation.instance, former).await };
        Ok(self.inquirer.insist("put secrets back", put_back).await?)
    }

    /// What the operation did to the instance's UAA client is undone. A process that was not there when it was done knows
    /// only whether the client was made: what was changed stays, and the next operation brings it to what is defined.
    async fn undo_client(&self) {
        let (clients, operation) = (&self.neighbours.clients, &self.operation);
        let Operation {
            instance, record, ..
        } = operation;
        let undo = async |call: Call| match &operation.client {
            Some(client) => clients.undo(&call, client).await,
            None if record.client == ClientRole::Made => {
                let unmade = clients.unmake(&call, instance, &record.context).await;
                unmade.map(|_| ())
            }
            None => Ok(()),
        };
        if let Err(fault) = undo(self.call()).await {
            tracing::warn!(code = %Code::CleanUp, error = %Chain(&fault), "what was done to the UAA client of the instance could not be undone");
        }
    }

    /// What was ordered is deployed: the secret that the operation gave to a client is where it belongs, and a client that is
    /// not defined any more goes. Like configs, and tried as often.
    pub(super) async fn see_to_client(&self) {
        // The next operation gives a client another secret whose making is not known to have succeeded.
        let warn = |fault: &ClientFault| tracing::warn!(code = %Code::CleanUp, error = %Chain(fault), "the UAA client of the instance could not be seen to");
        self.try_often(|| self.try_to_see_to_client(), warn).await;
    }

    /// Tries to clean something up. It is not waited for without end: the next operation, or the deletion of the instance,
    /// cleans it up, too.
    async fn try_often<E: Transient, Trying>(
        &self,
        clean_up: impl Fn() -> Trying,
        warn: impl Fn(&E),
    ) where
        Trying: Future<Output = Result<(), E>>,
    {
        let mut backoff = Backoff::between_attempts(&self.neighbours.timings);
        for attempt in 1..=CLEAN_UP_ATTEMPTS {
            let Err(error) = clean_up().await else {
                return;
            };
            warn(&error);
            if attempt == CLEAN_UP_ATTEMPTS || !error.is_transient() {
                return;
            }
            backoff.pause().await;
        }
    }

    async fn try_to_see_to_client(&self) -> Result<(), ClientFault> {
        let (clients, operation) = (&self.neighbours.clients, &self.operation);
        let (call, instance) = (self.call(), &operation.instance);
        let redeployed = matches!(
            operation.kind(),
            OperationKind::Update | OperationKind::Upgrade
        );
        let record = &operation.record;
        match record.client {
            ClientRole::Made => {
                let making = Making::New;
                clients
                    .settle(&call, instance, &record.context, making)
                    .await
            }
            ClientRole::Renewed => {
                let making = Making::Renewed;
                clients
                    .settle(&call, instance, &record.context, making)
                    .await
            }
            ClientRole::Kept if redeployed && !clients.are_defined() => {
                let call = leftovers::call_about_client(&self.neighbours, &call);
                clients.delete(&call, instance).await
            }
            ClientRole::None | ClientRole::Kept => Ok(()),
        }
    }

    /// Nobody has written down anything newer.
    async fn is_latest(&self) -> Result<bool, ServiceError> {
        let Some(stored) = &self.operation.stored else {
            return Ok(true);
        };
        let latest = self.latest_marker().await?;
        Ok(latest.is_some_and(|latest| latest.id == *stored))
    }

    /// The marker of the instance, if it is one that this broker understands.
    async fn latest_marker(&self) -> Result<Option<StoredMarker>, ServiceError> {
        let (markers, instance) = (&self.neighbours.markers, &self.operation.instance);
        let read = |call| async move {
            match markers.read(&call, instance).await {
                Ok(latest) => Ok(latest),
                Err(ReadMarkerError::NotUnderstood { .. }) => Ok(None),
                Err(ReadMarkerError::Director(error)) => Err(error),
            }
        };
        self.inquirer.insist("read the marker", read).await
    }

    /// Deletes the configs that the adapter has given up: what is deployed now does without them.
    ///
    /// The end is told afterwards, for whoever hears of it may order the next operation at once, and with it a config of the
    /// same name. Nobody waits for it without end: what is left after a few attempts is found obsolete again next time.
    pub(super) async fn delete_obsolete_configs(&self) {
        let (director, name) = (&self.neighbours.director, &self.operation.deployment());
        for (kind, version) in &self.operation.record.obsolete_configs {
            let Ok(kind) = ConfigType::try_from(kind.clone()) else {
                continue;
            };
            let warn = |error: &ServiceError| tracing::warn!(code = %Code::CleanUp, config.r#type = %kind, error = %Chain(error), "could not delete an obsolete config");
            let kind = &kind;
            let delete = || async move {
                configs::delete_obsolete(director, &self.call(), name, kind, version).await
            };
            self.try_often(delete, warn).await;
        }
    }

    /// Deletes the secrets to which what is deployed now does not refer. Like configs, and as long: those that cannot be
    /// deleted now go with the next update, or with the instance.
    pub(super) async fn prune_secrets(&self) {
        let deploys = matches!(
            self.operation.kind(),
            OperationKind::Update | OperationKind::Upgrade
        );
        if !deploys || !self.neighbours.secrets.are_kept() {
            return;
        }
        let warn = |fault: &LeftoversFault| tracing::warn!(code = %Code::CleanUp, error = %Chain(fault), "could not delete secrets that are not used any more");
        self.try_often(|| self.try_to_prune_secrets(), warn).await;
    }

    async fn try_to_prune_secrets(&self) -> Result<(), LeftoversFault> {
        let Neighbours {
            director,
            secrets,
            configs,
            ..
        } = &*self.neighbours;
        let (call, operation) = (self.call(), &self.operation);
        let name = operation.deployment();
        let deployed = director.deployment(&call, &name).await?;
        let Deployment::Deployed(manifest) = deployed else {
            return Ok(());
        };
        let manifest = manifest.expose_secret();
        let unused = secrets.unused(&call, &operation.instance, manifest).await?;
        if unused.is_empty() {
            return Ok(());
        }
        let configs = match configs {
            BoshConfigs::Enabled => director.configs_named(&call, &config_name(&name)).await?,
            BoshConfigs::Disabled => Vec::new(),
        };
        Ok(secrets.prune(&call, &unused, &configs).await?)
    }

    /// Tells polls how the operation has ended, and writes it down for later ones.
    ///
    /// One attempt at writing comes first: whoever reads of the end may order the next operation at once, which looks at the
    /// marker. When it fails polls are told all the same.
    /// It is counted once it is known that nobody has taken the operation over.
    pub(super) async fn end(
        &self,
        recorded: &Outcome,
        told: Outcome,
        counted: &FollowedOperation<'_>,
        outcome: OperationOutcome,
    ) {
        let mut backoff = Backoff::between_attempts(&self.neighbours.timings);
        let mut attempt = 1;
        // The same text at each attempt: one whose answer was lost is then found again.
        let now = Timestamp::now();
        let mut record = self.record(recorded, now, attempt).await;
        if record != Record::Overtaken {
            counted.ended(outcome);
        }
        let ended = SnapshotState::Ended {
            outcome: told,
            at: now,
        };
        self.publish(ended);
        while record == Record::NotYet {
            backoff.pause().await;
            attempt += 1;
            record = self.record(recorded, now, attempt).await;
        }
    }

    /// The second write of the marker. Whoever wrote in between knows something newer.
    async fn record(&self, outcome: &Outcome, now: Timestamp, attempt: u32) -> Record {
        let Some(stored) = &self.operation.stored else {
            return Record::Closed;
        };
        let record = self.operation.record.clone().ended(outcome.clone(), now);
        let written = self
            .neighbours
            .markers
            .write(&self.call(), &self.operation.instance, record, Some(stored))
            .await;
        match written {
            Ok(_) => Record::Closed,
            Err(WriteMarkerError::Director(error)) if error.is_transient() => {
                insistence::tell(attempt, &error, "write the outcome down");
                Record::NotYet
            }
            Err(error) => {
                tracing::warn!(code = %Code::Follow, error = %Chain(&error), "the outcome is known, its marker was not written");
                match error {
                    WriteMarkerError::Overtaken => Record::Overtaken,
                    WriteMarkerError::Director(_) => Record::Closed,
                }
            }
        }
    }
}

/// A name that another team has by now is not the instance's any more.
fn is_absent(found: &Deployment) -> bool {
    matches!(found, Deployment::Absent | Deployment::ForeignTeam)
}
