//! Service instances: what they are, and the requests about one of them or some of them by id
//! (`spec/contracts/platform-apis.md`, sections 3.8 and 4). Lists are in `listing`.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::json;

use super::{
    ApiVersion, CloudController, InstanceGuid, JobGuid, LocationNames, OrganizationGuid, PlanGuid,
    SpaceGuid,
    api::{Api, IDS_PER_FILTER, Resource, ToOne, WithGuid, values},
    jobs::{Accepted, accepted},
    listing::NAMES,
    locations::{Included, Locations},
    plans::MaintenanceInfo,
    there,
};
use crate::{
    http::{Call, Method, Repeat, StatusCode, cut},
    service_error::Result,
};

pub(super) const INSTANCES: &str = "service_instances";

/// How many lists to read concurrently if each plan has its own list.
const PLANS_AT_ONCE: usize = 4;
/// Concurrent requests of version 2, where each instance needs its own.
const INSTANCES_AT_ONCE: usize = 8;
/// The first version of the Open Service Broker API with `maintenance_info`.
const OLDEST_OSBAPI: [u64; 2] = [2, 15];
/// `CF-ResourceNotFound` of version 3. Any other 404 says nothing of the instance.
const NO_SUCH_RESOURCE: u64 = 10_010;
/// `CF-ServiceInstanceNotFound` of version 2, likewise.
const NO_SUCH_INSTANCE: u64 = 60_004;

/// A managed service instance, as the Cloud Controller knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfInstance {
    pub guid: InstanceGuid,
    /// During an update to another plan it is the old one.
    pub plan: PlanGuid,
    pub space: SpaceGuid,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
    /// The space's name, if the query requests names and the space still exists.
    pub space_name: Option<String>,
    /// The organization that the space is in, likewise.
    pub organization: Option<OrganizationGuid>,
    /// The organization's name, likewise.
    pub organization_name: Option<String>,
}

/// The last operation on a service instance or binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfOperation {
    pub kind: CfOperationKind,
    pub state: CfOperationState,
}

/// The kind of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CfOperationKind {
    Create,
    Update,
    Delete,
    #[serde(untagged)]
    Unknown(String),
}

/// How far an operation is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CfOperationState {
    /// The platform has not called the broker yet, or the broker has not answered. Version 2 of the API also reports
    /// [`CfOperationState::InProgress`] for this.
    Initial,
    #[serde(rename = "in progress")]
    InProgress,
    Succeeded,
    Failed,
    #[serde(untagged)]
    Unknown(String),
}

/// The state of a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfLastOperation {
    /// The instance's name, for people.
    pub name: String,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
    /// Its description; may be empty. 2 KiB at most.
    pub description: String,
}

/// The result of a deletion request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    Done,
    /// A job is at it, and knows in the end why it failed.
    Job(JobGuid),
    /// The broker works asynchronously. Only reading the object shows the outcome.
    UnderWay,
}

/// What decides whether an instance can be upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfVersionedInstance {
    pub plan: PlanGuid,
    /// The version that the Cloud Controller takes it to be of, if it has one.
    pub version: Option<String>,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
    /// Its description; may be empty. 2 KiB at most.
    pub description: String,
    /// When it last changed, in the Cloud Controller's own notation, if reported: distinguishes one operation from the
    /// next.
    pub changed: Option<String>,
}

/// The result of an upgrade request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upgrading {
    /// The broker works on it: the last operation of the instance shows the outcome.
    Begun,
    /// There is nothing to upgrade.
    UpToDate,
    /// The broker has refused or failed at once.
    Failed {
        /// May be empty. 2 KiB at most.
        description: String,
    },
    /// The answer has an unknown state.
    Unknown {
        /// Empty if there is none.
        state: String,
    },
}

impl CloudController {
    /// The number of instances of each plan. Safe to repeat.
    ///
    /// In version 3 an instance counts from before the broker is called to create it, and in both versions it continues
    /// to count when that fails.
    #[tracing::instrument(name = "cloud_controller.count_instances", skip_all)]
    pub async fn count_instances(
        &self,
        call: &Call,
        plans: &[PlanGuid],
    ) -> Result<BTreeMap<PlanGuid, u64>> {
        if plans.is_empty() {
            return Ok(BTreeMap::new());
        }
        let api = self.api(call).await?;
        let count = |plan: PlanGuid| async move {
            let count = api
                .count_of_plans(call, std::slice::from_ref(&plan))
                .await?;
            Ok((plan, count))
        };
        let plans: Vec<_> = plans.to_vec();
        stream::iter(plans.into_iter().map(count))
            .buffer_unordered(PLANS_AT_ONCE)
            .try_collect()
            .await
    }

    /// How many instances the plans have together: the same as [`CloudController::count_instances`], in version 3 with
    /// one request for all of them. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.count_all_instances", skip_all)]
    pub async fn count_all_instances(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64> {
        if plans.is_empty() {
            return Ok(0);
        }
        self.api(call).await?.count_of_plans(call, plans).await
    }

    /// A service instance, if it is there and a service broker made it. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.instance", skip_all)]
    pub async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>> {
        self.api(call).await?.instance(call, guid, names).await
    }

    /// Those of the ids that are service instances, of any offering. Safe to repeat.
    ///
    /// A client that cannot see all spaces does not get all of them: see [`CloudController::visibility`].
    #[tracing::instrument(name = "cloud_controller.known_instances", skip_all)]
    pub async fn known_instances(
        &self,
        call: &Call,
        ids: &[InstanceGuid],
    ) -> Result<BTreeSet<InstanceGuid>> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let api = self.api(call).await?;
        match api.version {
            // User-provided ones included.
            ApiVersion::V3 => {
                let mut known = BTreeSet::new();
                for ids in ids.chunks(IDS_PER_FILTER) {
                    let guids = values(ids.iter().map(InstanceGuid::as_str));
                    let filter = ("guids", guids.as_str());
                    let found: Vec<WithGuid<_>> = api.list(call, &[INSTANCES], &[filter]).await?;
                    known.extend(found.into_iter().map(|found| found.guid));
                }
                Ok(known)
            }
            ApiVersion::V2 => {
                let look = |id: InstanceGuid| async move {
                    let found = api.instance(call, &id, LocationNames::Left).await?;
                    Ok(found.map(|found| found.guid))
                };
                let ids = ids.to_vec();
                let known: Vec<Option<InstanceGuid>> = stream::iter(ids.into_iter().map(look))
                    .buffer_unordered(INSTANCES_AT_ONCE)
                    .try_collect()
                    .await?;
                Ok(known.into_iter().flatten().collect())
            }
        }
    }

    /// The state of an instance; `None` if it does not exist (any more). Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.last_operation", skip_all, fields(%instance))]
    pub async fn last_operation(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfLastOperation>> {
        #[derive(Deserialize)]
        struct Status {
            #[serde(default)]
            name: String,
            last_operation: Option<WireOperation>,
        }
        let api = self.api(call).await?;
        let found = there(api.read::<Status>(call, &one(instance), &[]).await)?;
        Ok(found.map(|status| {
            let reported = status.last_operation.unwrap_or_default();
            CfLastOperation {
                name: status.name,
                description: reported.description(),
                last_operation: reported.known(),
            }
        }))
    }

    /// Whether upgrades can be requested: the Cloud Controller supports `maintenance_info`. Needs no token. Safe to
    /// repeat.
    ///
    /// Every supported version 3 does (since 3.86); for version 2 the version of the Open Service Broker API shows it,
    /// which may have only two parts.
    #[tracing::instrument(name = "cloud_controller.knows_maintenance_info", skip_all)]
    pub async fn knows_maintenance_info(&self, call: &Call) -> Result<bool> {
        #[derive(Deserialize)]
        struct Info {
            osbapi_version: Option<String>,
        }
        let api = self.api(call).await?;
        if api.version == ApiVersion::V3 {
            return Ok(true);
        }
        let url = api.address(&["info"], &[]);
        let info: Info = api.connection.read_anonymously(call, url).await?;
        Ok(is_enough(&info.osbapi_version.unwrap_or_default()))
    }

    /// An instance with its plan and version; `None` when it is not there (any more). Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.versioned_instance", skip_all, fields(%instance))]
    pub async fn versioned_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Option<CfVersionedInstance>> {
        let api = self.api(call).await?;
        let found = there(api.found(call, instance, &[]).await)?.flatten();
        Ok(found.map(|found| CfVersionedInstance {
            plan: found.instance.plan,
            version: found.version,
            last_operation: found.instance.last_operation,
            description: found.description,
            changed: found.changed,
        }))
    }

    /// Requests the upgrade of an instance to the version of its plan. Sent once: after an error it may have begun
    /// ([`crate::ServiceError::may_have_taken_effect`]). Rejected while the instance
    /// [is busy](crate::ServiceError::is_busy).
    #[tracing::instrument(name = "cloud_controller.upgrade_instance", skip_all, fields(%instance))]
    pub async fn upgrade_instance(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        version: &str,
    ) -> Result<Upgrading> {
        let api = self.api(call).await?;
        let query = api.asynchronously();
        let request = api.request(api.update(), &one(instance), query, Repeat::WhileUnsent);
        let body = json!({ "maintenance_info": { "version": version } });
        let written = api.send(call, request.json(&body)).await?;
        match api.version {
            // A job follows if the Cloud Controller must call the broker. It ends with the last operation of the
            // instance, which contains more detail.
            ApiVersion::V3 if written.status() == StatusCode::ACCEPTED => Ok(Upgrading::Begun),
            ApiVersion::V3 => Ok(Upgrading::UpToDate),
            // The answer has the last operation, which is already over where the broker had nothing to do.
            ApiVersion::V2 => written.json().map(Upgraded::outcome),
        }
    }

    /// Requests the deletion of an instance. Sent once: after an error it may have begun
    /// ([`crate::ServiceError::may_have_taken_effect`]).
    ///
    /// Version 3 also deletes bindings and shares, if that is synchronous. Version 2 rejects the request while there
    /// are any ([`crate::ServiceError::is_shared`]).
    #[tracing::instrument(name = "cloud_controller.delete_instance", skip_all, fields(%instance))]
    pub async fn delete_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<Deletion> {
        let api = self.api(call).await?;
        api.delete(call, &one(instance), api.asynchronously()).await
    }

    /// Purges an instance and its bindings without calling the broker; its deployment stays. Only for an administrator.
    /// Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.purge_instance", skip_all, fields(%instance))]
    pub async fn purge_instance(&self, call: &Call, instance: &InstanceGuid) -> Result<()> {
        let api = self.api(call).await?;
        let query = [("purge", "true")];
        let request = api.request(
            Method::DELETE,
            &one(instance),
            &query,
            Repeat::WhenTransient,
        );
        there(api.send(call, request).await).map(drop)
    }
}

pub(super) fn one(instance: &InstanceGuid) -> [&str; 2] {
    [INSTANCES, instance.as_str()]
}

impl Api<'_> {
    /// Version 2 waits for the broker otherwise.
    fn asynchronously(&self) -> &'static [(&'static str, &'static str)] {
        match self.version {
            ApiVersion::V3 => &[],
            ApiVersion::V2 => &[("accepts_incomplete", "true")],
        }
    }

    async fn count_of_plans(&self, call: &Call, plans: &[PlanGuid]) -> Result<u64> {
        let mut total = 0;
        match self.version {
            ApiVersion::V3 => {
                for plans in plans.chunks(IDS_PER_FILTER) {
                    let guids = values(plans.iter().map(PlanGuid::as_str));
                    let filter = ("service_plan_guids", guids.as_str());
                    total += self.count(call, &[INSTANCES], &[filter]).await?;
                }
            }
            ApiVersion::V2 => {
                for plan in plans {
                    total += self.count(call, &of_plan(plan), &[]).await?;
                }
            }
        }
        Ok(total)
    }

    /// An instance that a service broker made.
    async fn found(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        query: &[(&str, &str)],
    ) -> Result<Option<Found>> {
        let url = self.address(&one(guid), query);
        match self.version {
            ApiVersion::V3 => {
                let found: OneV3 = self.connection.read_at(call, url).await?;
                Ok(found.instance.managed(&found.included.into()))
            }
            ApiVersion::V2 => {
                let found: InstanceV2 = self.connection.read_at(call, url).await?;
                Ok(Some(found.into()))
            }
        }
    }

    async fn instance(
        &self,
        call: &Call,
        guid: &InstanceGuid,
        names: LocationNames,
    ) -> Result<Option<CfInstance>> {
        let query = match (self.version, names) {
            (ApiVersion::V3, LocationNames::Reported) => &NAMES[..],
            _ => &[],
        };
        let no_such_instance = match self.version {
            ApiVersion::V3 => NO_SUCH_RESOURCE,
            ApiVersion::V2 => NO_SUCH_INSTANCE,
        };
        let mut found = match self.found(call, guid, query).await {
            Ok(Some(found)) => [found.instance],
            Ok(None) => return Ok(None),
            Err(error)
                if error.status() == Some(StatusCode::NOT_FOUND)
                    && error.code() == Some(no_such_instance) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if names == LocationNames::Reported {
            self.name_locations(call, &mut Locations::default(), &mut found)
                .await?;
        }
        let [found] = found;
        Ok(Some(found))
    }

    /// Sent once: in version 3 a repetition would conflict with the operation that the first request started, and in
    /// version 2 the Cloud Controller calls the broker during the request. A missing object is deleted.
    pub(super) async fn delete(
        &self,
        call: &Call,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Deletion> {
        let request = self.request(Method::DELETE, segments, query, Repeat::WhileUnsent);
        let Some(written) = there(self.send(call, request).await)? else {
            return Ok(Deletion::Done);
        };
        match self.version {
            ApiVersion::V2 if written.status() == StatusCode::ACCEPTED => Ok(Deletion::UnderWay),
            ApiVersion::V2 => Ok(Deletion::Done),
            ApiVersion::V3 => Ok(match accepted(self.connection, &written)? {
                Accepted::Done { .. } => Deletion::Done,
                Accepted::Job(job) => Deletion::Job(job),
            }),
        }
    }
}

/// Those of a plan, in version 2.
pub(super) fn of_plan(plan: &PlanGuid) -> [&str; 3] {
    ["service_plans", plan.as_str(), INSTANCES]
}

fn is_enough(osbapi_version: &str) -> bool {
    let mut parts = osbapi_version.split('.').map(str::parse::<u64>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => [major, minor] >= OLDEST_OSBAPI,
        _ => false,
    }
}

/// The same in both versions, but that v3 has `{}` and v2 `null` where nothing is known.
#[derive(Default, Deserialize)]
pub(super) struct WireOperation {
    #[serde(rename = "type")]
    kind: Option<CfOperationKind>,
    state: Option<CfOperationState>,
    description: Option<String>,
    updated_at: Option<String>,
}

impl WireOperation {
    pub(super) fn known(self) -> Option<CfOperation> {
        let (kind, state) = self.kind.zip(self.state)?;
        Some(CfOperation { kind, state })
    }

    fn description(&self) -> String {
        cut(self.description.as_deref().unwrap_or_default())
    }
}

/// The answer to an upgrade request in version 2.
#[derive(Deserialize)]
struct Upgraded {
    entity: UpgradedEntity,
}

#[derive(Deserialize)]
struct UpgradedEntity {
    last_operation: Option<WireOperation>,
}

impl Upgraded {
    fn outcome(self) -> Upgrading {
        let reported = self.entity.last_operation.unwrap_or_default();
        match &reported.state {
            Some(CfOperationState::InProgress) => Upgrading::Begun,
            Some(CfOperationState::Succeeded) => Upgrading::UpToDate,
            Some(CfOperationState::Failed) => Upgrading::Failed {
                description: reported.description(),
            },
            Some(CfOperationState::Initial) => Upgrading::Unknown {
                state: "initial".to_owned(),
            },
            Some(CfOperationState::Unknown(state)) => Upgrading::Unknown { state: cut(state) },
            None => Upgrading::Unknown {
                state: String::new(),
            },
        }
    }
}

/// An instance with what its public forms need.
pub(super) struct Found {
    pub(super) instance: CfInstance,
    version: Option<String>,
    description: String,
    changed: Option<String>,
}

impl Found {
    fn of(
        instance: CfInstance,
        info: Option<MaintenanceInfo>,
        reported: Option<WireOperation>,
    ) -> Self {
        let reported = reported.unwrap_or_default();
        Self {
            version: info.and_then(|info| info.version),
            description: reported.description(),
            changed: reported.updated_at.clone(),
            instance: CfInstance {
                last_operation: reported.known(),
                ..instance
            },
        }
    }
}

impl CfInstance {
    fn of(guid: InstanceGuid, plan: PlanGuid, space: SpaceGuid) -> Self {
        Self {
            guid,
            plan,
            space,
            last_operation: None,
            space_name: None,
            organization: None,
            organization_name: None,
        }
    }
}

#[derive(Deserialize)]
struct OneV3 {
    #[serde(flatten)]
    instance: InstanceV3,
    #[serde(default)]
    included: Included,
}

#[derive(Deserialize)]
pub(super) struct InstanceV3 {
    guid: InstanceGuid,
    relationships: OfInstance,
    maintenance_info: Option<MaintenanceInfo>,
    last_operation: Option<WireOperation>,
}

#[derive(Deserialize)]
struct OfInstance {
    space: ToOne<SpaceGuid>,
    /// Not of those that users provide.
    service_plan: Option<ToOne<PlanGuid>>,
}

impl InstanceV3 {
    /// Nothing of one that a user provides.
    pub(super) fn managed(self, locations: &Locations) -> Option<Found> {
        let plan = self.relationships.service_plan?.data.guid;
        let space = self.relationships.space.data.guid;
        let mut instance = CfInstance::of(self.guid, plan, space);
        locations.write_into(&mut instance);
        Some(Found::of(
            instance,
            self.maintenance_info,
            self.last_operation,
        ))
    }
}

pub(super) type InstanceV2 = Resource<InstanceGuid, EntityV2>;

#[derive(Deserialize)]
pub(super) struct EntityV2 {
    service_plan_guid: PlanGuid,
    space_guid: SpaceGuid,
    maintenance_info: Option<MaintenanceInfo>,
    last_operation: Option<WireOperation>,
}

impl From<InstanceV2> for Found {
    fn from(found: InstanceV2) -> Self {
        let (guid, entity) = (found.metadata.guid, found.entity);
        let instance = CfInstance::of(guid, entity.service_plan_guid, entity.space_guid);
        Self::of(instance, entity.maintenance_info, entity.last_operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_of_the_version_of_the_broker_api_are_enough() {
        for (version, enough) in [
            ("2.15", true),
            ("2.15.0", true),
            ("2.16", true),
            ("3.0", true),
            ("2.14", false),
            ("2", false),
            ("", false),
            ("two.fifteen", false),
        ] {
            assert_eq!(is_enough(version), enough, "{version}");
        }
    }
}
