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

use crate::{foundation::Foundation, records::operation_record::OperationRecord};

/// The type of all operation records. Start-up lists it once.
const CONFIG_TYPE: &str = "odb-operation";

/// Never the deployment's name: the Go broker reads configs by that name and hands them to adapters.
const NAME_PREFIX: &str = "odb-";

/// An operation record from the Director, with the version for a guarded write.
#[derive(Clone, Debug)]
pub(crate) struct StoredRecord {
    /// The version of the config.
    pub id: ConfigId,
    pub record: OperationRecord,
}

/// The config at the place of an operation record.
#[derive(Clone, Debug)]
pub(crate) enum FoundRecord {
    /// An operation record of this offering.
    Own(Box<StoredRecord>),
    /// An operation record of another offering, or something that cannot be read.
    Foreign(Owner),
}

/// Why an operation record is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ReadRecordError {
    /// The Director did not answer.
    #[error("could not read the operation record of the instance")]
    Director(#[source] ServiceError),
    /// It was written by a newer broker, or by hand.
    #[error(
        "the BOSH config `{name}` of type `{CONFIG_TYPE}` is none that this broker understands; see what it is, then delete it"
    )]
    NotUnderstood {
        /// The config's name.
        name: ConfigName,
    },
}

/// Why an operation record was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteRecordError {
    /// Another process wrote in between.
    #[error("another process changed the operation record")]
    Overtaken,
    /// The Director did not take it.
    #[error("could not write the operation record of the operation")]
    Director(#[source] ServiceError),
}

/// Reads and writes the operation records of one offering.
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

    /// The operation record of an instance, if there is one.
    pub(crate) async fn read(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<StoredRecord>, ReadRecordError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        let name = config_name(instance);
        let found = self
            .director
            .config_latest(call, &config_type(), &name)
            .await
            .map_err(ReadRecordError::Director)?;
        match found {
            None => Ok(None),
            Some(config) => match self.understand(config.id, &config.content) {
                Some(stored) => Ok(Some(stored)),
                None => Err(ReadRecordError::NotUnderstood { name }),
            },
        }
    }

    /// The config at the place of an instance's operation record, of any owner.
    pub(crate) async fn find(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<Option<FoundRecord>, ServiceError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        let name = config_name(instance);
        let found = self
            .director
            .config_latest(call, &config_type(), &name)
            .await?;
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
    ) -> Result<Option<StoredRecord>, WriteRecordError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(None);
        }
        record.foundation.clone_from(&self.foundation);
        let content = record.to_text();
        let expected = before.map_or(Expected::Nothing, |id| Expected::Latest(id.clone()));
        let written = self
            .director
            .put_config(
                call,
                &config_type(),
                &config_name(instance),
                &content,
                &expected,
            )
            .await;
        match written {
            Ok(config) => Ok(Some(StoredRecord {
                id: config.id,
                record,
            })),
            Err(PutConfigError::Stale { .. }) => Err(WriteRecordError::Overtaken),
            Err(PutConfigError::Director { source }) => Err(WriteRecordError::Director(source)),
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

    /// Rolls back one write: the previous record is written again.
    pub(crate) async fn roll_back(
        &self,
        call: &Call,
        written: &ConfigId,
    ) -> Result<(), ServiceError> {
        self.director.delete_config_version(call, written).await?;
        Ok(())
    }

    /// Forgets an instance. Without an operation record there is nothing to forget.
    pub(crate) async fn delete(
        &self,
        call: &Call,
        instance: &InstanceId,
    ) -> Result<(), ServiceError> {
        if self.configs == BoshConfigs::Disabled {
            return Ok(());
        }
        self.director
            .delete_config(call, &config_type(), &config_name(instance))
            .await?;
        Ok(())
    }

    fn found(&self, config: Config) -> FoundRecord {
        match self.understand(config.id, &config.content) {
            Some(stored) => FoundRecord::Own(Box::new(stored)),
            None => FoundRecord::Foreign(self.owner(&config.content)),
        }
    }

    /// The owner of a record, also of one in a newer form.
    fn owner(&self, content: &str) -> Owner {
        match serde_json::from_str::<Owned>(content) {
            Ok(owned) if owned.offering == self.offering => Owner::ThisBroker,
            Ok(_) => Owner::AnotherBroker,
            Err(_) => Owner::Unknown,
        }
    }

    /// A record of another offering, or in a newer form, must not be acted on.
    fn understand(&self, id: ConfigId, content: &str) -> Option<StoredRecord> {
        let record = OperationRecord::read(content)?;
        (record.offering == self.offering).then_some(StoredRecord { id, record })
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
