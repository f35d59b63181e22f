//! Orphans: deployments without a service instance in the platform (`spec/contracts/broker-behaviour.md` §6 and §9.42).
//! Reporting a healthy instance as an orphan is worse than missing one: if anything is unknown, nothing is reported.

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use odb_adapter_sdk::protocol::RequestParameters;
use odb_api_types::{
    ids::{InstanceId, PlanId},
    kind::OperationKind,
    management::{OperationState, OrphanDeployment, OrphanOperation, OrphanReason, Owner},
};
use odb_clients::http::Call;
use serde_json::{Map, json};

use super::{OfferingKnowledge, Operations, Refused, RequestContext};
use crate::engine::{
    Deleted, Deletion, EngineError, EngineErrorKind, InstanceRecord, OperationView, Origin,
    Ownership,
};

const LOOKS_AT_ONCE: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What is known without a request for each: enough to name them.
    Names,
    /// Also the last operation of each, as long as there is time to read it.
    All,
}

struct Suspect {
    instance: InstanceId,
    record: Option<InstanceRecord>,
    latest: Option<OperationView>,
}

#[derive(Clone, Debug)]
pub struct OrphanDeletion {
    pub instance: InstanceId,
    /// Delete it even if it is unmarked and may belong to another broker.
    pub include_unmarked: bool,
    /// Its plan, by name or id, if it has no operation record.
    pub plan: Option<String>,
    /// The platform has no plan of the offering on purpose.
    pub offering_is_gone: bool,
    pub deletion: Deletion,
}

impl Operations {
    /// The deployments without a service instance, by the ids of their former instances.
    ///
    /// Deployments are read before the platform's list: an instance that is ordered in between is in the list or not
    /// deployed yet.
    #[tracing::instrument(name = "orphans", skip_all)]
    pub async fn orphans(
        &self,
        request_context: RequestContext,
        detail: Detail,
    ) -> Result<Vec<OrphanDeployment>, Refused> {
        let call = &request_context.call();
        let source = self.lists()?;
        let mut unknown = self.engine.deployed_instances(call).await?;
        let offering = source.remove_listed(call, &mut unknown).await?;
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        // An operation that has ended by its record is known to the platform, which is read afterwards.
        let mut records = self.engine.records_of(call, &unknown).await?;
        unknown.retain(|instance| !is_of_another(records.get(instance)));
        if !unknown.is_empty() {
            source.remove_known(call, &mut unknown).await?;
        }
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let mut latest = self.engine.latest_known(call, &unknown, &records).await?;
        let suspects = unknown.into_iter().map(|instance| Suspect {
            record: records.remove(&instance),
            latest: latest.remove(&instance),
            instance,
        });
        let mut suspects: Vec<Suspect> = suspects.collect();
        if detail == Detail::All {
            suspects = self.look_closely(call, suspects).await?;
        }
        let now = Timestamp::now();
        let mut orphans: Vec<OrphanDeployment> = suspects
            .into_iter()
            .filter_map(|suspect| {
                let (owner, reason) = judge(&suspect, offering)?;
                Some(self.orphan(suspect, owner, reason, now))
            })
            .collect();
        if !orphans.is_empty() {
            // Deployments that were deleted in between are left out.
            let still_there = self.engine.deployed_instances(call).await?;
            orphans.retain(|orphan| still_there.contains(&orphan.service_instance_id));
        }
        Ok(orphans)
    }

    fn orphan(
        &self,
        suspect: Suspect,
        owner: Owner,
        reason: OrphanReason,
        now: Timestamp,
    ) -> OrphanDeployment {
        let since = suspect.latest.as_ref().and_then(|latest| latest.began);
        let age = |since| u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
        OrphanDeployment {
            deployment_name: self.engine.deployment_name(&suspect.instance),
            service_instance_id: suspect.instance,
            owner,
            reason,
            since,
            age_seconds: since.map(age),
            last_operation: suspect.latest.map(|latest| OrphanOperation {
                kind: latest.kind,
                state: latest.state,
                description: latest.description,
            }),
            plan_id: suspect.record.and_then(|record| record.plan),
        }
    }

    /// Deletes an orphan as a deprovision would, if it is one at this moment.
    #[tracing::instrument(name = "delete orphan", skip_all)]
    pub async fn delete_orphan(
        &self,
        request_context: RequestContext,
        deletion: OrphanDeletion,
    ) -> Result<Deleted, Refused> {
        let named_plan = match deletion.plan {
            Some(named) => match self.plan_named(&named) {
                Some(plan) => Some(plan.id.clone()),
                None => return Err(Refused::NoSuchPlan(named.into())),
            },
            None => None,
        };
        let instance = deletion.instance;
        let _turn = self
            .locks
            .instance(&instance, request_context.deadline)
            .await?;
        let call = &request_context.call();
        let source = self.lists()?;
        let (is_known, offering) = source.knows(call, &instance).await?;
        if is_known {
            return Err(Refused::NoOrphan(instance));
        }
        let ownership = self.engine.ownership(call, &instance).await?;
        let is_deployed = self.engine.is_deployed(call, &instance).await?;
        let record = match &ownership {
            Ownership::Recorded(record) => Some(&**record),
            Ownership::Unrecorded | Ownership::Unreadable => None,
        };
        let owner = record.map_or(Owner::Unknown, |record| record.owner);
        let recorded_plan = record.and_then(|record| record.plan.clone());
        let (plan, origin) = match owner {
            Owner::AnotherBroker => return Err(Refused::OfAnotherBroker(instance)),
            Owner::ThisBroker => (recorded_plan, Origin::Platform),
            Owner::Unknown if record.is_none() && !is_deployed => {
                return Ok(Deleted::WasAbsent);
            }
            Owner::Unknown if !deletion.include_unmarked => {
                return Err(Refused::Unmarked(instance));
            }
            Owner::Unknown if matches!(ownership, Ownership::Unreadable) => {
                return Err(Refused::MarksUnreadable(instance));
            }
            Owner::Unknown => (named_plan.or(recorded_plan), Origin::Unmarked),
        };
        if offering == OfferingKnowledge::Unknown && !deletion.offering_is_gone {
            return Err(Refused::OfferingUnknown);
        }
        if plan.is_none() && deletion.deletion == Deletion::Careful && self.may_have_errands() {
            return Err(Refused::OrphanPlanUnknown(instance));
        }
        let latest = self
            .engine
            .latest_operation(call, &instance, record)
            .await?;
        // A creation would be cut short by a delete: it may be one of which the platform does not know yet.
        if latest.as_ref().is_some_and(is_made_or_changed) {
            return Err(EngineError::from(EngineErrorKind::Busy).into());
        }
        let identity = json!({ "service_id": self.offering.id, "plan_id": plan });
        let nothing = RequestParameters::from_fields(Map::new());
        let plan = plan.unwrap_or_else(PlanId::unknown);
        let order = request_context.order(instance, plan, identity, nothing);
        let deleted = self.engine.delete(&order, deletion.deletion, origin);
        Ok(deleted.await?)
    }

    fn may_have_errands(&self) -> bool {
        let mut plans = self.offering.plans.iter();
        plans.any(|plan| !plan.lifecycle_errands.pre_delete.is_empty())
    }

    /// Reads unrecorded operations from the Director, one by one. When half of the time is used up, the rest stays
    /// unknown.
    async fn look_closely(
        &self,
        call: &Call,
        suspects: Vec<Suspect>,
    ) -> Result<Vec<Suspect>, EngineError> {
        let half = call.deadline.remaining() / 2;
        let call = &Call {
            deadline: call.deadline.within(half),
            ..call.clone()
        };
        let look = async |suspect: Suspect| {
            if suspect.latest.is_some() || call.deadline.has_passed() {
                return Ok(suspect);
            }
            let record = suspect.record.as_ref();
            let looked = self
                .engine
                .latest_operation(call, &suspect.instance, record);
            match looked.await {
                Ok(latest) => Ok(Suspect { latest, ..suspect }),
                Err(_) if call.deadline.has_passed() => Ok(suspect),
                Err(error) => Err(error),
            }
        };
        stream::iter(suspects.into_iter().map(look))
            .buffered(LOOKS_AT_ONCE)
            .try_collect()
            .await
    }
}

/// Judges a deployment of which the platform does not know. One that is being made or changed is no orphan: perhaps the
/// platform does not know it yet.
fn judge(suspect: &Suspect, offering: OfferingKnowledge) -> Option<(Owner, OrphanReason)> {
    let (record, latest) = (suspect.record.as_ref(), suspect.latest.as_ref());
    if is_of_another(record) || latest.is_some_and(is_made_or_changed) {
        return None;
    }
    let owner = record.map_or(Owner::Unknown, |record| record.owner);
    let reason = if offering == OfferingKnowledge::Unknown {
        OrphanReason::OfferingUnknownToPlatform
    } else if latest.is_some_and(OperationView::is_in_progress) {
        OrphanReason::BeingDeleted
    } else if owner == Owner::ThisBroker {
        reason_of_own(latest)
    } else {
        OrphanReason::Unknown
    };
    Some((owner, reason))
}

fn is_of_another(record: Option<&InstanceRecord>) -> bool {
    record.is_some_and(|record| record.owner == Owner::AnotherBroker)
}

fn is_made_or_changed(latest: &OperationView) -> bool {
    latest.is_in_progress() && !latest.deletes()
}

/// The reason from the operation record of an instance without an operation in progress.
fn reason_of_own(latest: Option<&OperationView>) -> OrphanReason {
    let Some((kind, state)) = latest.and_then(|latest| Some((latest.kind?, latest.state))) else {
        return OrphanReason::Unknown;
    };
    match (kind, state) {
        (OperationKind::Create, OperationState::Failed) => OrphanReason::CreateFailed,
        (kind, OperationState::Failed) if kind.deletes() => OrphanReason::DeleteFailed,
        _ => OrphanReason::PurgedInPlatform,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latest(kind: Option<OperationKind>, state: OperationState) -> OperationView {
        OperationView::new(kind, state, String::new())
    }

    fn suspect(
        record: Option<&InstanceRecord>,
        latest: impl Into<Option<OperationView>>,
    ) -> Suspect {
        Suspect {
            instance: InstanceId::try_from("one".to_owned()).unwrap(),
            record: record.cloned(),
            latest: latest.into(),
        }
    }

    fn judge(
        record: Option<&InstanceRecord>,
        latest: impl Into<Option<OperationView>>,
    ) -> Option<(Owner, OrphanReason)> {
        super::judge(&suspect(record, latest), OfferingKnowledge::Known)
    }

    #[test]
    fn what_another_broker_has_marked_is_never_an_orphan() {
        let foreign = InstanceRecord::of(Owner::AnotherBroker);
        for state in [
            OperationState::InProgress,
            OperationState::Succeeded,
            OperationState::Failed,
        ] {
            for kind in OperationKind::ALL {
                assert_eq!(judge(Some(&foreign), latest(Some(*kind), state)), None);
            }
        }
    }

    #[test]
    fn what_is_being_made_or_changed_is_no_orphan_and_what_is_being_deleted_is_one() {
        for kind in OperationKind::ALL {
            let found = judge(None, latest(Some(*kind), OperationState::InProgress));
            assert_eq!(found.is_some(), kind.deletes(), "{kind}");
        }
        // The Director's task does not say whether it makes or changes.
        assert_eq!(judge(None, latest(None, OperationState::InProgress)), None);
    }

    #[test]
    fn the_origin_of_an_unmarked_one_is_unknown() {
        for latest in [
            None,
            Some(latest(None, OperationState::Failed)),
            Some(latest(Some(OperationKind::Delete), OperationState::Failed)),
        ] {
            assert_eq!(
                judge(None, latest.clone()),
                Some((Owner::Unknown, OrphanReason::Unknown))
            );
            assert_eq!(
                judge(Some(&InstanceRecord::of(Owner::Unknown)), latest),
                Some((Owner::Unknown, OrphanReason::Unknown))
            );
        }
    }

    #[test]
    fn an_offering_that_the_platform_does_not_know_comes_before_every_other_reason() {
        let failed = latest(Some(OperationKind::Delete), OperationState::Failed);
        let found = super::judge(&suspect(None, failed), OfferingKnowledge::Unknown);
        let (_, reason) = found.unwrap();
        assert_eq!(reason, OrphanReason::OfferingUnknownToPlatform);
    }
}
