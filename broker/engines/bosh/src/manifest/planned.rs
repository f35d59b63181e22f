//! The planned changes of an upgrade, compared with the instance. Skipped upgrades and dry runs share this code, so
//! that the dry run predicts the upgrade.

use std::collections::BTreeMap;

use odb_api_types::{
    ids::PlanId,
    management::{ChangeKind, ChangeSort, Changes, PlannedChange, Risks},
};

use crate::{
    configs::CurrentConfigs,
    manifest::difference::{
        Manifests, OtherEffects, UnreadableManifest, changes_of_config, grouped, risks,
    },
    orders::current::AtRest,
    records::{
        operation_record::{ClientRole, Outcome},
        operation_records::StoredRecord,
    },
    secrets::NewSecret,
};

/// The types of BOSH configs by what depends on them.
const MAKES_VMS: [&str; 2] = ["cloud", "cpi"];
const ADDS_JOBS: &str = "runtime";

/// The parts that an upgrade submits.
pub(crate) struct Planned<'a> {
    pub(crate) plan: &'a PlanId,
    pub(crate) manifest: &'a str,
    /// The configs that are written, by type.
    pub(crate) configs: &'a BTreeMap<String, String>,
    /// The types of those that go.
    pub(crate) obsolete_configs: &'a [String],
    /// Those that are not there yet.
    pub(crate) secrets: &'a [NewSecret],
    pub(crate) client: PlannedClient,
}

/// The change of the instance's UAA client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedClient {
    /// The client has the wanted attributes, or there is none.
    Stays,
    /// It is made, or changed.
    Changes(ChangeSort),
    /// Clients are no longer defined; an existing one is deleted.
    MayGo,
}

/// The effect of an upgrade.
#[derive(Debug, PartialEq)]
pub(crate) struct Foreseen {
    pub(crate) changes: Changes,
    pub(crate) risks: Risks,
    pub(crate) assess: Assessment,
}

/// Whether an upgrade would change an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assessment {
    /// Nothing would change, and the last operation is known to have succeeded, on this plan.
    UpToDate,
    /// Something would change, or the deployed state is unknown.
    ToBeDeployed,
}

impl PlannedClient {
    /// The change of a client that the upgrade has read.
    pub(crate) fn of_change(change: Option<ChangeSort>) -> Self {
        change.map_or(Self::Stays, Self::Changes)
    }

    /// The change of a client that the upgrade has not read.
    pub(crate) fn not_in_hand(role: ClientRole, are_defined: bool) -> Self {
        if are_defined || role.is_none() {
            Self::Stays
        } else {
            Self::MayGo
        }
    }
}

impl Planned<'_> {
    /// Compares with the instance as it is.
    pub(crate) fn compared_with(&self, current: &AtRest) -> Result<Foreseen, UnreadableManifest> {
        let manifests = Manifests::read(current.manifest.as_str(), self.manifest)?;
        let mut changes = grouped(&manifests);
        let mut effects = self.compare_configs(current.configs.as_ref(), &mut changes);
        // Jobs read the new value under the same name.
        effects.jobs |= !self.secrets.is_empty();
        for secret in self.secrets {
            changes.add(ChangeKind::Secrets, change_of_secret(secret));
        }
        if let PlannedClient::Changes(change) = self.client {
            let change = PlannedChange::hidden("uaa_client".to_owned(), change);
            changes.add(ChangeKind::Client, change);
        }
        let is_in_location = changes.is_empty()
            && self.client != PlannedClient::MayGo
            && self.is_known_to_have_succeeded(current.stored.as_deref());
        Ok(Foreseen {
            changes,
            risks: risks(&manifests, effects),
            assess: if is_in_location {
                Assessment::UpToDate
            } else {
                Assessment::ToBeDeployed
            },
        })
    }

    fn is_known_to_have_succeeded(&self, stored: Option<&StoredRecord>) -> bool {
        stored.is_some_and(|StoredRecord { record, .. }| {
            record.plan == *self.plan && record.outcome.as_ref().is_some_and(Outcome::is_success)
        })
    }

    fn compare_configs(
        &self,
        before: Option<&CurrentConfigs>,
        changes: &mut Changes,
    ) -> OtherEffects {
        let before = before.map(CurrentConfigs::contents).unwrap_or_default();
        let mut effects = OtherEffects::default();
        let mut compare = |kind: &str, after: Option<&str>| {
            let found = changes_of_config(kind, before.get(kind).map(String::as_str), after);
            effects.vms |= !found.is_empty() && MAKES_VMS.contains(&kind);
            effects.jobs |= !found.is_empty() && kind == ADDS_JOBS;
            for change in found {
                changes.add(ChangeKind::Configs, change);
            }
        };
        for (kind, content) in self.configs {
            compare(kind, Some(content));
        }
        for kind in self.obsolete_configs {
            compare(kind, None);
        }
        effects
    }
}

fn change_of_secret(secret: &NewSecret) -> PlannedChange {
    let change = if secret.is_first() {
        ChangeSort::Added
    } else {
        ChangeSort::Changed
    };
    PlannedChange::hidden(format!("secrets[{}]", secret.path()), change)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use odb_adapter_sdk::protocol::ManifestText;
    use odb_clients::director::{ConfigId, ContextId};
    use serde_json::{Map, Value};

    use super::*;
    use crate::records::operation_record::NewRecord;
    use crate::records::operation_record::OperationRecord;
    use odb_api_types::ids::RequestId;
    use odb_api_types::kind::OperationKind;
    use odb_core::engine::RequestDigest;
    use odb_core::engine::RequestIdentity;

    const MANIFEST: &str = "
name: d
instance_groups: [{name: g, instances: 1, update: {max_in_flight: 1}}]
update: {canaries: 1, max_in_flight: 1}
";

    fn succeeded() -> Outcome {
        Outcome::Succeeded {
            description: String::new(),
        }
    }

    fn record(plan: &str, outcome: Option<Outcome>) -> OperationRecord {
        let record = OperationRecord::new(NewRecord {
            offering: "redis".to_owned().into(),
            plan: plan.to_owned().into(),
            operation: OperationKind::Create,
            context: ContextId::random(),
            request: RequestId::random(),
            target: None,
            errands: Vec::new(),
            digest: RequestDigest::new(RequestIdentity(&Value::Null)),
            dashboard_url: None,
            labels: Map::new(),
        });
        match outcome {
            Some(outcome) => record.ended(outcome, Timestamp::now()),
            None => record,
        }
    }

    fn instance(record: Option<OperationRecord>) -> AtRest {
        let id = ConfigId::try_from("1".to_owned()).unwrap();
        AtRest {
            manifest: ManifestText::from(MANIFEST),
            stored: record.map(|record| Box::new(StoredRecord { id, record })),
            configs: Some(CurrentConfigs::default()),
        }
    }

    fn known() -> AtRest {
        instance(Some(record("small", Some(succeeded()))))
    }

    fn assess(
        current: &AtRest,
        manifest: &str,
        configs: &[(&str, &str)],
        client: PlannedClient,
    ) -> (Assessment, bool) {
        let configs = configs
            .iter()
            .map(|(kind, content)| ((*kind).to_owned(), (*content).to_owned()))
            .collect();
        let planned = Planned {
            plan: &"small".to_owned().into(),
            manifest,
            configs: &configs,
            obsolete_configs: &[],
            secrets: &[],
            client,
        };
        let foreseen = planned.compared_with(current).unwrap();
        (foreseen.assess, foreseen.changes.is_empty())
    }

    #[test]
    fn an_instance_is_in_location_when_nothing_changes_and_its_last_operation_has_succeeded() {
        let same = MANIFEST.replace("name: d", "name:   d");
        let stays = PlannedClient::Stays;
        assert_eq!(
            assess(&known(), &same, &[], stays),
            (Assessment::UpToDate, true)
        );
    }

    #[test]
    fn how_changes_are_rolled_out_counts_for_it_is_what_recreations_go_by() {
        for (from, to) in [
            (
                "canaries: 1, max_in_flight: 1",
                "canaries: 1, max_in_flight: 2",
            ),
            ("canaries: 1,", "canaries: 2,"),
            (
                "update: {max_in_flight: 1}}]",
                "update: {max_in_flight: 2}}]",
            ),
        ] {
            let manifest = MANIFEST.replace(from, to);
            let found = assess(&known(), &manifest, &[], PlannedClient::Stays);
            assert_eq!(found, (Assessment::ToBeDeployed, false), "{to}");
        }
    }

    #[test]
    fn what_would_change_beside_the_manifest_counts() {
        let stays = PlannedClient::Stays;
        let changes = PlannedClient::Changes(ChangeSort::Added);
        let with_config = assess(&known(), MANIFEST, &[("cloud", "azs: []")], stays);
        assert_eq!(with_config, (Assessment::ToBeDeployed, false));
        let with_client = assess(&known(), MANIFEST, &[], changes);
        assert_eq!(with_client, (Assessment::ToBeDeployed, false));
    }

    #[test]
    fn an_instance_of_which_too_little_is_known_is_to_be_deployed_though_nothing_changes() {
        let failed = Outcome::Failed {
            description: String::new(),
            condition: None,
        };
        for current in [
            instance(None),
            instance(Some(record("small", None))),
            instance(Some(record("small", Some(failed)))),
            instance(Some(record("large", Some(succeeded())))),
        ] {
            let found = assess(&current, MANIFEST, &[], PlannedClient::Stays);
            assert_eq!(found, (Assessment::ToBeDeployed, true));
        }
    }

    #[test]
    fn a_client_that_may_be_left_of_a_definition_is_to_go() {
        for (role, are_defined) in [
            (ClientRole::None, false),
            (ClientRole::None, true),
            (ClientRole::Kept, true),
        ] {
            let client = PlannedClient::not_in_hand(role, are_defined);
            assert_eq!(client, PlannedClient::Stays, "{role:?}");
        }
        let client = PlannedClient::not_in_hand(ClientRole::Kept, false);
        assert_eq!(
            assess(&known(), MANIFEST, &[], client),
            (Assessment::ToBeDeployed, true)
        );
    }
}
