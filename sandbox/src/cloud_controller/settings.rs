//! The settings of a Cloud Controller.
//!
//! How a Cloud Controller deals with brokers.
//!
//! Which generations of its API a Cloud Controller has (`spec/contracts/platform-apis.md`, "Which generations are
//! there?").

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::model::{Organization, Role, RoleKind, RoleScope, Space, Tables, User, UserName};

#[derive(Clone, Debug)]
pub struct CloudControllerSettings {
    /// Its base URL: `https://host:port`.
    pub url: String,
    /// The UAA whose tokens it trusts.
    pub uaa_url: String,
    pub generation: ApiGeneration,
    pub organizations: Vec<OrganizationSettings>,
    /// The users that the UAA has from the beginning. Others become known with their first token.
    pub users: Vec<KnownUser>,
    pub brokers: BrokerBehaviour,
}

#[derive(Clone, Debug)]
pub struct KnownUser {
    pub name: String,
    pub id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct OrganizationSettings {
    pub name: String,
    /// The names of the users who manage it.
    #[serde(default)]
    pub managers: BTreeSet<String>,
    /// The names of the users who see it and nothing in it.
    #[serde(default)]
    pub auditors: BTreeSet<String>,
    pub spaces: Vec<SpaceSettings>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct SpaceSettings {
    pub name: String,
    /// The names of the users who may work there.
    pub developers: BTreeSet<String>,
    /// The names of the users who manage it.
    #[serde(default)]
    pub managers: BTreeSet<String>,
    /// The names of the users who look at it.
    #[serde(default)]
    pub auditors: BTreeSet<String>,
    /// The names of the users who help out there.
    #[serde(default)]
    pub supporters: BTreeSet<String>,
}

impl CloudControllerSettings {
    /// The location of this Cloud Controller as brokers receive it: its domain, and `/v2/info` while v2 is on.
    pub(super) fn info_location(&self) -> String {
        let domain = self
            .url
            .split_once("://")
            .map_or(self.url.as_str(), |(_, domain)| domain);
        let path = if self.generation.has_v2() {
            "v2/info"
        } else {
            ""
        };
        format!("{domain}/{path}")
    }

    /// Fills tables that have never been used.
    pub(super) fn seed(&self, tables: &mut Tables) {
        if !tables.organizations.is_empty() {
            return;
        }
        for user in &self.users {
            let name = UserName::new(&user.name);
            let user = User {
                name: name.clone(),
                guid: user.id.clone(),
                created_at: Timestamp::now(),
            };
            tables.users.insert(name, user);
        }
        for wanted in &self.organizations {
            let organization = Organization::new(wanted.name.clone());
            let guid = organization.guid.clone();
            tables.organizations.insert(guid.clone(), organization);
            let here = RoleScope::Organization(guid.clone());
            give(tables, RoleKind::OrganizationUser, &wanted.members(), &here);
            give(
                tables,
                RoleKind::OrganizationManager,
                &wanted.managers,
                &here,
            );
            give(
                tables,
                RoleKind::OrganizationAuditor,
                &wanted.auditors,
                &here,
            );
            for wanted in &wanted.spaces {
                let space = Space::new(guid.clone(), wanted.name.clone());
                let here = RoleScope::Space(space.guid.clone());
                give(tables, RoleKind::SpaceDeveloper, &wanted.developers, &here);
                give(tables, RoleKind::SpaceManager, &wanted.managers, &here);
                give(tables, RoleKind::SpaceAuditor, &wanted.auditors, &here);
                give(tables, RoleKind::SpaceSupporter, &wanted.supporters, &here);
                tables.spaces.insert(space.guid.clone(), space);
            }
        }
    }
}

fn give(tables: &mut Tables, kind: RoleKind, users: &BTreeSet<String>, location: &RoleScope) {
    for user in users {
        tables.add_role(Role::new(kind, UserName::new(user), location.clone()));
    }
}

impl OrganizationSettings {
    /// All users with a role in it or in one of its spaces.
    fn members(&self) -> BTreeSet<String> {
        let of_spaces = self.spaces.iter().flat_map(|space| {
            [
                &space.developers,
                &space.managers,
                &space.auditors,
                &space.supporters,
            ]
        });
        of_spaces
            .chain([&self.managers, &self.auditors])
            .flatten()
            .cloned()
            .collect()
    }
}

/// How a Cloud Controller deals with brokers. The defaults are those of a real one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrokerBehaviour {
    /// How long to wait for an answer: to connect, and for all of it (`broker_client_timeout_seconds`).
    pub timeout: Duration,
    /// The pause between two polls of a last operation (`broker_client_default_async_poll_interval_seconds`).
    pub polling_interval: Duration,
    /// By how much each pause is longer than the one before
    /// (`broker_client_async_poll_exponential_backoff_rate`).
    pub polling_factor: f64,
    /// How long an operation is polled at most (`broker_client_max_async_poll_duration_minutes`).
    pub maximum_polling_duration: Duration,
    /// The unit of the pauses of orphan mitigation: after the n-th failed attempt it waits 2ⁿ of them.
    pub mitigation_delay: Duration,
    /// When the row of an instance that v3 orders is there to be listed and counted.
    pub instance_row: InstanceRow,
}

/// When the row of a new instance is there. A broker that counts instances while it provisions one finds it, or not
/// (`spec/contracts/platform-apis.md`, "Pitfalls", 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceRow {
    /// Before the broker is called, as in v3.
    #[default]
    BeforeCall,
    /// When the broker has answered, as in v2.
    AfterCall,
}

impl Default for BrokerBehaviour {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            polling_interval: Duration::from_mins(1),
            polling_factor: 1.0,
            maximum_polling_duration: Duration::from_hours(168),
            mitigation_delay: Duration::from_mins(1),
            instance_row: InstanceRow::default(),
        }
    }
}

/// The generations of a Cloud Controller's API, and how it reports them. They differ in what happens to v2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum ApiGeneration {
    /// v2 is off, as by default since CC 3.191: `/v2/info` still answers, with an empty `api_version`.
    #[default]
    #[serde(rename = "off")]
    V2Off,
    /// v2 is off, as from CC 3.181 to 3.190: not even `/v2/info` answers.
    #[serde(rename = "off_3_181")]
    V2GoneWithoutTrace,
    /// v2 is off, as up to CC 3.180: `/` and `/v2/info` do not report it.
    #[serde(rename = "off_3_180")]
    V2OffUntold,
    #[serde(rename = "on")]
    V2On,
    /// There are both, and v3 is too young to be used for services.
    #[serde(rename = "on_3_94")]
    V3Young,
}

impl ApiGeneration {
    /// Whether v2 can be used.
    pub(super) fn has_v2(self) -> bool {
        matches!(self, Self::V2On | Self::V3Young)
    }

    /// Whether `/` and `/v2/info` report v2.
    pub(super) fn reports_v2_version(self) -> bool {
        self.has_v2() || self == Self::V2OffUntold
    }

    /// The version of v3.
    pub(super) fn v3_version(self) -> &'static str {
        match self {
            Self::V2Off | Self::V2On => "3.228.0",
            Self::V2GoneWithoutTrace => "3.190.0",
            Self::V2OffUntold => "3.180.0",
            Self::V3Young => "3.94.0",
        }
    }
}
