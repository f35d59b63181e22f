//! The file of errands that call only the broker.

use std::path::Path;

use super::{BrokerApi, LoadError, Loaded, load, shared};
use crate::{keys::errands::BROKER_ONLY, section::Section};

/// The configuration of an errand that calls only the broker.
#[derive(Debug)]
pub struct BrokerOnly {
    /// The broker.
    pub broker_api: BrokerApi,
}

impl BrokerOnly {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &BROKER_ONLY, read)
    }
}

fn read(root: &Section<'_>) -> Option<BrokerOnly> {
    Some(BrokerOnly {
        broker_api: shared::broker_api(root)?,
    })
}
