//! The settings of a Cloud Controller.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;

use super::model::{
    Organization, Role, RoleKind, RoleScope, ServiceQuota, Space, Tables, User, UserName,
};
use super::{behaviour::BrokerBehaviour, generation::ApiGeneration};

#[derive(Clone, Debug)]
pub struct CloudControllerSettings {
    /// Its base URL: `https://host:port`.
    pub url: String,
    /// The UAA whose tokens it trusts.
    pub uaa_url: String,
    /// Which generations of the API it has.
    pub generation: ApiGeneration,
    /// The organizations that are there from the beginning.
    pub organizations: Vec<OrganizationSettings>,
    /// The users that the UAA has from the beginning. Others become known with their first token.
    pub users: Vec<KnownUser>,
    /// How it deals with brokers.
    pub brokers: BrokerBehaviour,
}

#[derive(Clone, Debug)]
pub struct KnownUser {
    pub name: String,
    pub id: String,
}

/// An organization that is there from the beginning.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct OrganizationSettings {
    pub name: String,
    /// The names of the users who manage it.
    #[serde(default)]
    pub managers: BTreeSet<String>,
    /// The names of the users who see it and nothing in it.
    #[serde(default)]
    pub auditors: BTreeSet<String>,
    /// How much may be ordered in all its spaces together.
    #[serde(default)]
    pub quota: ServiceQuota,
    pub spaces: Vec<SpaceSettings>,
}

/// A space that is there from the beginning.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SpaceSettings {
    pub name: String,
    /// How much may be ordered there.
    #[serde(default)]
    pub quota: ServiceQuota,
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
            let mut organization = Organization::new(wanted.name.clone());
            organization.quota = wanted.quota;
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
                let mut space = Space::new(guid.clone(), wanted.name.clone());
                space.quota = wanted.quota;
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
