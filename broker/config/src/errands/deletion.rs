//! The file of `delete-all-service-instances`, and of the same with `-and-deregister-broker`.

use std::{num::NonZeroUsize, path::Path, time::Duration};

use odb_api_types::ids::OfferingId;

use super::{CloudFoundryAccess, LoadError, Loaded, load, shared};
use crate::{keys::errands::DELETION, section::Section};

/// The configuration of the errands that delete all service instances.
#[derive(Debug)]
pub struct Deletion {
    /// The Cloud Controller.
    pub cloud_foundry: CloudFoundryAccess,
    /// The broker's name in the Cloud Controller, unless a flag gives it.
    pub broker_name: Option<String>,
    /// The offering whose instances are deleted.
    pub offering: OfferingId,
    /// The pause between two polls of a deletion.
    pub polling_interval: Duration,
    /// From the request to the first look.
    pub polling_initial_offset: Duration,
    /// How many instances are deleted at once.
    pub max_in_flight: NonZeroUsize,
    /// The time for one instance.
    pub give_up_after: Duration,
}

const MAX_IN_FLIGHT: NonZeroUsize = NonZeroUsize::new(10).expect("ten is more than nothing");
const GIVE_UP_AFTER: Duration = Duration::from_hours(4);

impl Deletion {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &DELETION, read)
    }
}

pub(super) fn read(root: &Section<'_>) -> Option<Deletion> {
    let cloud_foundry = shared::required_cloud_foundry(root);
    let catalog = root.section("service_catalog");
    let offering = catalog.required_text("id", "the offering's id in the broker's catalog");
    catalog.warn_unknown_keys();
    let broker_name = root.plain_text("broker_name");
    let seconds = |key| {
        root.number_within(key, " seconds")
            .map(Option::unwrap_or_default)
    };
    let polling_interval = seconds("polling_interval");
    let polling_initial_offset = seconds("polling_initial_offset");
    let max_in_flight = root.number_within("max_in_flight", " service instances");
    let give_up_after = root.number_within("give_up_after", " seconds");
    Some(Deletion {
        cloud_foundry: cloud_foundry?,
        broker_name,
        offering: offering?.value.into(),
        polling_interval: Duration::from_secs(polling_interval.ok()?),
        polling_initial_offset: Duration::from_secs(polling_initial_offset.ok()?),
        max_in_flight: max_in_flight
            .ok()?
            .and_then(|number| NonZeroUsize::new(usize::try_from(number).ok()?))
            .unwrap_or(MAX_IN_FLIGHT),
        give_up_after: give_up_after
            .ok()?
            .map_or(GIVE_UP_AFTER, Duration::from_secs),
    })
}
