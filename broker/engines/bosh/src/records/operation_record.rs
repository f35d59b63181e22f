//! Operation records and their storage: configs of the Director (`docs/contributing/architecture.md`, "Operation records
//! and tokens").
//!
//! With its operation record, an identical request can be answered, an operation resumed after the broker was killed,
//! and the owner of an orphan identified. The record holds no secrets. It is written rarely, because the Director keeps
//! every version: once before the deployment is submitted, once with the outcome, and once in between if the operation
//! is cancelled. An upgrade without changes writes it once, unless it has all of that already.

use std::collections::BTreeMap;

use jiff::Timestamp;
use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::{
    ids::{InstanceId, OfferingId, PlanId, RequestId},
    kind::OperationKind,
    management::{Deployed, Owner, Target},
};
use odb_clients::{
    ServiceError,
    director::{
        AuditFilter, AuditRecord, Config, ConfigId, ConfigName, ConfigType, ContextId, Director,
        Expected, PutConfigError, TaskId,
    },
    http::Call,
};
use odb_config::BoshConfigs;
use odb_core::engine::{Condition, Order, Origin, RequestDigest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{digest::Foundation, secrets::PreviousSecret};

#[cfg(test)]
use odb_core::engine::RequestIdentity;

const FORMAT: u32 = 1;

/// The record of the latest operation on a service instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OperationRecord {
    format: u32,
    pub offering: OfferingId,
    /// The plan of the instance, current or requested; [`PlanId::unknown`] if an operator deletes an instance of
    /// unknown plan.
    pub plan: PlanId,
    /// On which foundation the instance is; absent where no Cloud Controller is configured, and in operation records of
    /// before there was this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foundation: Option<Foundation>,
    /// How it comes that we have marked the instance.
    #[serde(default, skip_serializing_if = "is_of_platform")]
    pub origin: Origin,
    /// The plan that the operation moves the instance away from; absent where it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_plan: Option<PlanId>,
    pub operation: OperationKind,
    /// Joins the tasks of the operation.
    pub context: ContextId,
    /// The request that began it, for the log.
    pub request: RequestId,
    /// When it began; absent in operation records of before there was this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The target that it deploys; absent if it deploys nothing, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The last create, update or upgrade that is known to have succeeded: this one or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Deployed>,
    /// When the last recreation began that is known to have succeeded: every VM is younger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recreated: Option<Timestamp>,
    /// The lifecycle errands, frozen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errands: Vec<LifecycleErrand>,
    pub digest: RequestDigest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dashboard_url: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub labels: Map<String, Value>,
    /// The operation that this one, a delete, cuts short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts_short: Option<CutShort>,
    /// The versions of the adapter's configs, by type, that are deleted when the operation has succeeded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub obsolete_configs: BTreeMap<String, ConfigId>,
    /// The previous state of the secrets that the operation writes, for the rollback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous_secrets: Vec<PreviousSecret>,
    /// The versions of the adapter's configs, by type, that were the latest before the operation wrote its own; null
    /// where there was none. They are the latest again when nothing is submitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced_configs: BTreeMap<String, Option<ConfigId>>,
    #[serde(default, skip_serializing_if = "ClientRole::is_none")]
    pub client: ClientRole,
    /// The request by which an operator has cancelled it; its reconciler begins no further step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_of_platform(origin: &Origin) -> bool {
    *origin == Origin::Platform
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClientRole {
    #[default]
    None,
    /// The instance has one from before, or may have.
    Kept,
    /// The operation created it; its secret is unknown to others until the operation has succeeded.
    Made,
    /// The same of another secret that the operation gives the one from before.
    Renewed,
}

impl ClientRole {
    /// The role for the next operation, from the latest record. Without a record it is unknown.
    pub(crate) fn after(stored: Option<&StoredRecord>) -> Self {
        match stored {
            Some(stored) if stored.record.client.is_none() => Self::None,
            Some(_) | None => Self::Kept,
        }
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks for a reference"
    )]
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// An operation that a delete cuts short: its tasks are cancelled before the deletion begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CutShort {
    /// Joins the tasks of the operation.
    pub context: ContextId,
    /// The task that it began with, `0` where that is not known. The token of the delete names it.
    pub first_task: TaskId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub(crate) enum Outcome {
    Succeeded {
        description: String,
    },
    Failed {
        description: String,
        /// The condition of the instance; absent if the Director does not report it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<Condition>,
    },
}

impl Outcome {
    pub(crate) fn is_success(&self) -> bool {
        matches!(self, Self::Succeeded { .. })
    }
}

impl OperationRecord {
    /// The operation record of an operation that begins now, with no more than what identifies it.
    pub(crate) fn new(
        offering: OfferingId,
        plan: PlanId,
        operation: OperationKind,
        request: RequestId,
        digest: RequestDigest,
    ) -> Self {
        Self {
            format: FORMAT,
            offering,
            plan,
            foundation: None,
            origin: Origin::Platform,
            previous_plan: None,
            operation,
            context: ContextId::random(),
            request,
            began: Some(Timestamp::now()),
            target: None,
            deployed: None,
            recreated: None,
            errands: Vec::new(),
            digest,
            dashboard_url: None,
            labels: Map::new(),
            cuts_short: None,
            previous_secrets: Vec::new(),
            obsolete_configs: BTreeMap::new(),
            replaced_configs: BTreeMap::new(),
            client: ClientRole::None,
            cancelled_by: None,
            outcome: None,
        }
    }

    /// The same of an operation that an order begins.
    pub(crate) fn of_order(offering: &OfferingId, order: &Order, operation: OperationKind) -> Self {
        let (plan, request) = (order.plan.clone(), order.request.clone());
        Self::new(offering.clone(), plan, operation, request, order.digest())
    }

    /// Reads the text of an operation record; `None` for a newer format.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(text).ok()?;
        (record.format == FORMAT).then_some(record)
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self)
            .expect("an operation record is made of strings, lists and maps with text keys")
    }

    /// Copies from the previous record what stays the same until the operation has succeeded.
    pub(crate) fn carry_over(&mut self, before: Option<&Self>) {
        self.deployed = before.and_then(|before| before.deployed.clone());
        self.recreated = before.and_then(|before| before.recreated);
    }

    /// Copies all that stays the same in an operation without a new manifest.
    pub(crate) fn keep(&mut self, before: Option<&StoredRecord>) {
        self.client = ClientRole::after(before);
        let before = before.map(|before| &before.record);
        self.carry_over(before);
        if let Some(before) = before {
            self.dashboard_url.clone_from(&before.dashboard_url);
            self.labels.clone_from(&before.labels);
        }
    }

    /// The same operation record with the operation's end.
    #[must_use]
    pub(crate) fn ended(mut self, outcome: Outcome, now: Timestamp) -> Self {
        if outcome.is_success() {
            match self.operation {
                OperationKind::Create | OperationKind::Update | OperationKind::Upgrade => {
                    // An operation of a broker without targets has no known target.
                    self.deployed = self
                        .target
                        .clone()
                        .map(|target| Deployed { target, at: now });
                }
                OperationKind::Recreate => self.recreated = self.began,
                OperationKind::Delete | OperationKind::ForceDelete => {}
            }
        }
        self.outcome = Some(outcome);
        self
    }

    /// The record after an upgrade without changes, whose record would have been `upgrade`; `None` if it has the same
    /// content already.
    #[must_use]
    pub(crate) fn confirmed(&self, upgrade: &Self, now: Timestamp) -> Option<Self> {
        let deployed = self.deployed.as_ref().map(|deployed| &deployed.target);
        let reports_it = deployed == upgrade.target.as_ref()
            && self.dashboard_url == upgrade.dashboard_url
            && self.labels == upgrade.labels;
        if reports_it {
            return None;
        }
        let target = upgrade.target.clone();
        Some(Self {
            deployed: target.map(|target| Deployed { target, at: now }),
            dashboard_url: upgrade.dashboard_url.clone(),
            labels: upgrade.labels.clone(),
            ..self.clone()
        })
    }

    pub(crate) fn owner(&self) -> Owner {
        match self.origin {
            Origin::Platform => Owner::ThisBroker,
            Origin::Unmarked => Owner::Unknown,
        }
    }

    /// The plan of the instance from the platform's view, as far as it is known: a move counts once it has succeeded.
    pub(crate) fn settled_plan(&self) -> Option<&PlanId> {
        let plan = match (&self.outcome, &self.previous_plan) {
            (Some(Outcome::Succeeded { .. }), _) | (_, None) => &self.plan,
            (Some(Outcome::Failed { .. }) | None, Some(previous)) => previous,
        };
        Some(plan).filter(|plan| plan.is_known())
    }
}

#[cfg(test)]
pub(crate) fn example(operation: OperationKind) -> OperationRecord {
    let digest = RequestDigest::new(RequestIdentity(&Value::Null));
    let (offering, plan) = ("redis".to_owned().into(), "small".to_owned().into());
    OperationRecord {
        target: Some(Target::from("new".to_owned())),
        ..OperationRecord::new(offering, plan, operation, RequestId::random(), digest)
    }
}

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

#[cfg(test)]
mod tests {
    use super::{example as record, *};

    /// The operation record of an operation on an instance that was deployed and recreated before.
    fn following(operation: OperationKind) -> OperationRecord {
        let mut before = record(OperationKind::Create);
        before.deployed = Some(Deployed {
            target: Target::from("old".to_owned()),
            at: Timestamp::UNIX_EPOCH,
        });
        before.recreated = Some(Timestamp::UNIX_EPOCH);
        let mut following = record(operation);
        following.carry_over(Some(&before));
        following
    }

    fn succeeded() -> Outcome {
        Outcome::Succeeded {
            description: String::new(),
        }
    }

    fn failed() -> Outcome {
        Outcome::Failed {
            description: String::new(),
            condition: None,
        }
    }

    #[test]
    fn only_what_has_succeeded_takes_the_location_of_what_was_deployed_before() {
        let now = Timestamp::now();
        let target = |record: &OperationRecord| record.deployed.clone().unwrap().target;
        for operation in OperationKind::ALL {
            let before = following(*operation);
            let after = before.clone().ended(failed(), now);
            assert_eq!(after.deployed, before.deployed, "{operation}");
            assert_eq!(after.recreated, before.recreated, "{operation}");
        }
        for operation in [OperationKind::Update, OperationKind::Upgrade] {
            let after = following(operation).ended(succeeded(), now);
            assert_eq!(target(&after).as_str(), "new");
            assert_eq!(after.deployed.unwrap().at, now);
            assert_eq!(after.recreated, Some(Timestamp::UNIX_EPOCH));
        }
        let recreation = following(OperationKind::Recreate).ended(succeeded(), now);
        assert_eq!(target(&recreation).as_str(), "old");
        assert_eq!(recreation.recreated, recreation.began);
    }

    #[test]
    fn what_an_upgrade_finds_unchanged_is_written_down_once() {
        let now = Timestamp::now();
        let upgrade = record(OperationKind::Upgrade);
        let unknown = record(OperationKind::Create).ended(succeeded(), now);
        let unknown = OperationRecord {
            deployed: None,
            ..unknown
        };
        let outdated = following(OperationKind::Recreate).ended(succeeded(), now);
        for before in [unknown, outdated] {
            let after = before.confirmed(&upgrade, now).unwrap();
            assert_eq!(after.operation, before.operation);
            assert_eq!(
                after.deployed.clone().unwrap().target,
                upgrade.target.clone().unwrap()
            );
            assert_eq!(after.confirmed(&upgrade, Timestamp::now()), None);
            let mut renamed = upgrade.clone();
            renamed.labels.insert("name".to_owned(), "cache".into());
            assert!(after.confirmed(&renamed, now).is_some());
            renamed = upgrade.clone();
            renamed.dashboard_url = Some("https://elsewhere".to_owned());
            assert!(after.confirmed(&renamed, now).is_some());
        }
    }

    #[test]
    fn a_record_of_before_there_were_targets_is_read_and_reports_none() {
        let mut old = serde_json::to_value(record(OperationKind::Upgrade)).unwrap();
        for member in ["began", "target"] {
            old.as_object_mut().unwrap().shift_remove(member);
        }
        let old: OperationRecord = serde_json::from_value(old).unwrap();
        assert_eq!((&old.began, &old.target), (&None, &None));
        assert_eq!(old.ended(succeeded(), Timestamp::now()).deployed, None);
    }

    #[test]
    fn only_an_unmarked_operation_is_reported_as_such_and_platforms_read_what_they_always_read() {
        let mut record = record(OperationKind::Delete);
        let usual = serde_json::to_value(&record).unwrap();
        assert_eq!(usual.get("origin"), None);
        record.origin = Origin::Unmarked;
        record.plan = PlanId::unknown();
        let reported = OperationRecord::read(&record.to_text()).unwrap();
        assert_eq!(reported.origin, Origin::Unmarked);
        assert_eq!(reported.settled_plan(), None);
    }

    #[test]
    fn what_a_newer_broker_adds_to_a_record_is_passed_over() {
        let mut newer = serde_json::to_value(record(OperationKind::Create)).unwrap();
        newer["weather"] = "fine".into();
        assert!(serde_json::from_value::<OperationRecord>(newer).is_ok());
    }
}
