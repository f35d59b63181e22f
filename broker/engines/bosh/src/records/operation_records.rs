//! Where operation records are kept: configs of the Director, one for each instance.

use odb_api_types::{
    ids::{InstanceId, OfferingId},
    management::Owner,
};
use odb_clients::{
    ServiceError,
    director::{
        AuditFilter, AuditRecord, Config, ConfigId, ConfigName, ConfigType, Director, Expected,
        PutConfigError,
    },
    http::Call,
};
use odb_config::BoshConfigs;
use serde::Deserialize;

use crate::{digest::Foundation, records::operation_record::OperationRecord};

/// The type of all operation records. Start-up lists it once.
const CONFIG_TYPE: &str = "odb-operation";

/// Never the deployment's name: the Go broker reads configs by that name and hands them to adapters.
const NAME_PREFIX: &str = "odb-";

/// An operation record from the Director, with the version for a guarded write.
#[derive(Clone, Debug)]
pub(crate) struct StoredRecord {
    pub id: ConfigId,
    pub record: OperationRecord,
}

#[derive(Clone, Debug)]
pub(crate) enum FoundRecord {
    Own(Box<StoredRecord>),
    /// An operation record of another offering, or something that cannot be read.
    Foreign(Owner),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("could not read the operation record of the instance")]
    Read(#[source] ServiceError),
    /// It was written by a newer broker, or by hand.
    #[error(
        "the BOSH config `{name}` of type `{CONFIG_TYPE}` is not one that this broker understands; see what it is, then delete it"
    )]
    NotUnderstood { name: ConfigName },
    #[error("another process changed the operation record")]
    Overtaken,
    #[error("could not write the operation record of the operation")]
    Write(#[source] ServiceError),
}

#[derive(Clone, Debug)]
pub(crate) struct Records {
    director: Director,
    offering: OfferingId,
    configs: BoshConfigs,
    foundation: Option<Foundation>,
}

impl Records {
    /// The operation records of `offering`. With configs disabled there are none.
    pub(crate) fn new(
        director: Director,
        offering: OfferingId,
        configs: BoshConfigs,
        foundation: Option<Foundation>,
    ) -> Self {
        Self {
            director,
            offering,
            configs,
            foundation,
        }
    }

    /// Whether an operation record says that its instance is on another foundation than the one that we serve.
    pub(crate) fn is_of_another_foundation(&self, record: &OperationRecord) -> bool {
        match (&self.foundation, &record.foundation) {
            (Some(own), Some(theirs)) => own != theirs,
            (None, _) | (_, None) => false,
        }
    }

    pub(crate) async fn read(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<StoredRecord>, RecordError> {
        match self.find(call, instance).await.map_err(RecordError::Read)? {
            None => Ok(None),
            Some(FoundRecord::Own(stored)) => Ok(Some(*stored)),
            Some(FoundRecord::Foreign(_)) => Err(RecordError::NotUnderstood {
                name: config_name(instance),
            }),
        }
    }

    pub(crate) async fn find(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<FoundRecord>, ServiceError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        let (kind, name) = (config_type(), config_name(instance));
        let found = self.director.config_latest(call, &kind, &name).await?;
        Ok(found.map(|config| self.found(config)))
    }

    /// Applies `keep` to the operation records of this offering's instances, and collects the results.
    pub(crate) async fn own_with<T, C: Default + Extend<T>>(
        &self,
        call: &Call,
        mut keep: impl FnMut(InstanceId, StoredRecord) -> Option<T>,
    ) -> Result<C, ServiceError> {
        let own = |instance, found| match found {
            FoundRecord::Own(stored) => keep(instance, *stored),
            FoundRecord::Foreign(_) => None,
        };
        self.all_with(call, own).await
    }

    /// Applies `keep` to all operation records of any owner, and collects the results. Records are parsed one by one:
    /// only their texts and the results are in memory.
    pub(crate) async fn all_with<T, C: Default + Extend<T>>(
        &self,
        call: &Call,
        mut keep: impl FnMut(InstanceId, FoundRecord) -> Option<T>,
    ) -> Result<C, ServiceError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(C::default());
        }
        let keep_config = |config: Config| {
            let name = config.name.as_str().strip_prefix(NAME_PREFIX)?;
            let instance = InstanceId::try_from(name.to_owned()).ok()?;
            keep(instance, self.found(config))
        };
        self.director
            .configs_of_type(call, &config_type(), keep_config)
            .await
    }

    /// Writes an operation record. `before` is the version that was read, so that two brokers do not overwrite each
    /// other.
    ///
    /// `None` if operation records are turned off.
    pub(crate) async fn write(
        &self,
        call: &Call,
        instance: &InstanceId,
        mut record: OperationRecord,
        before: Option<&ConfigId>,
    ) -> Result<Option<StoredRecord>, RecordError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        record.foundation.clone_from(&self.foundation);
        let content = record.to_text();
        let expected = before.map_or(Expected::Nothing, |id| Expected::Latest(id.clone()));
        let (kind, name) = (config_type(), config_name(instance));
        let put = self
            .director
            .put_config(call, &kind, &name, &content, &expected);
        match put.await {
            Ok(config) => Ok(Some(StoredRecord {
                id: config.id,
                record,
            })),
            Err(PutConfigError::Stale { .. }) => Err(RecordError::Overtaken),
            Err(PutConfigError::Director { source }) => Err(RecordError::Write(source)),
        }
    }

    /// The latest writes of an instance's operation record in the Director's audit, the newest first.
    pub(crate) async fn writes(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Vec<AuditRecord>, ServiceError> {
        let (kind, name) = (config_type(), config_name(instance));
        let filter = AuditFilter::Config(&kind, &name);
        self.director.audit(call, filter).await
    }

    /// Rolls back one write: the previous record is the latest again.
    pub(crate) async fn roll_back(
        &self,
        call: &Call,
        written: &ConfigId,
    ) -> Result<(), ServiceError> {
        self.director.delete_config_version(call, written).await?;
        Ok(())
    }

    pub(crate) async fn delete(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(), ServiceError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(());
        }
        let (kind, name) = (config_type(), config_name(instance));
        self.director.delete_config(call, &kind, &name).await?;
        Ok(())
    }

    /// A record of another offering, or in a newer form, must not be acted on; its owner may be known.
    fn found(&self, config: Config) -> FoundRecord {
        match OperationRecord::read(&config.content) {
            Some(record) if record.offering == self.offering => {
                let id = config.id;
                FoundRecord::Own(Box::new(StoredRecord { id, record }))
            }
            _ => FoundRecord::Foreign(match serde_json::from_str::<Owned>(&config.content) {
                Ok(owned) if owned.offering == self.offering => Owner::ThisBroker,
                Ok(_) => Owner::AnotherBroker,
                Err(_) => Owner::Unknown,
            }),
        }
    }
}

#[derive(Deserialize)]
struct Owned {
    offering: OfferingId,
}

fn config_type() -> ConfigType {
    ConfigType::try_from(CONFIG_TYPE.to_owned()).expect("it is plain text")
}

fn config_name(instance: &InstanceId) -> ConfigName {
    ConfigName::try_from(format!("{NAME_PREFIX}{instance}"))
        .expect("an id that travels fits into an address")
}
