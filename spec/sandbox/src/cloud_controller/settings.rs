//! What a Cloud Controller is started with.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use serde::Deserialize;

use super::model::{Organization, OrganizationGuid, Space, SpaceGuid, Tables};

/// What a Cloud Controller is started with.
#[derive(Clone, Debug)]
pub struct CloudControllerSettings {
    /// Its base URL: `https://host:port`.
    pub url: String,
    /// The UAA whose tokens it trusts.
    pub uaa_url: String,
    /// The organizations that are there from the beginning.
    pub organizations: Vec<OrganizationSettings>,
    /// How it deals with brokers.
    pub brokers: BrokerConduct,
}

/// An organization that is there from the beginning.
#[derive(Clone, Debug, Deserialize)]
pub struct OrganizationSettings {
    /// Its name.
    pub name: String,
    /// Its spaces.
    pub spaces: Vec<SpaceSettings>,
}

/// A space that is there from the beginning.
#[derive(Clone, Debug, Deserialize)]
pub struct SpaceSettings {
    /// Its name.
    pub name: String,
    /// The names of the users who may work there.
    pub developers: BTreeSet<String>,
}

/// How a Cloud Controller deals with brokers. The defaults are those of a real one.
#[derive(Clone, Copy, Debug)]
pub struct BrokerConduct {
    /// How long to wait for an answer: to connect, and for all of it (`broker_client_timeout_seconds`).
    pub timeout: Duration,
    /// The pause between two polls of a last operation (`broker_client_default_async_poll_interval_seconds`).
    pub polling_interval: Duration,
    /// How long an operation is polled at most (`broker_client_max_async_poll_duration_minutes`).
    pub maximum_polling_duration: Duration,
    /// The unit of the pauses of orphan mitigation: after the n-th failed attempt it waits 2ⁿ of them.
    pub mitigation_delay: Duration,
}

impl Default for BrokerConduct {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            polling_interval: Duration::from_mins(1),
            maximum_polling_duration: Duration::from_hours(168),
            mitigation_delay: Duration::from_mins(1),
        }
    }
}

impl CloudControllerSettings {
    /// What brokers are told about where this Cloud Controller is: its domain, and no `/v2/info` while v2 is off.
    pub(super) fn info_location(&self) -> String {
        let domain = self
            .url
            .split_once("://")
            .map_or(self.url.as_str(), |(_, domain)| domain);
        format!("{domain}/")
    }

    pub(super) fn seed(&self, tables: &mut Tables) {
        for wanted in &self.organizations {
            let organization = Organization {
                guid: OrganizationGuid::random(),
                name: wanted.name.clone(),
                created_at: Timestamp::now(),
            };
            for space in &wanted.spaces {
                let space = Space {
                    guid: SpaceGuid::random(),
                    organization: organization.guid.clone(),
                    name: space.name.clone(),
                    created_at: Timestamp::now(),
                    developers: space.developers.clone(),
                };
                tables.spaces.insert(space.guid.clone(), space);
            }
            tables
                .organizations
                .insert(organization.guid.clone(), organization);
        }
    }
}
