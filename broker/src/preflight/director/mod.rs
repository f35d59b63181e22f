//! Probes of the Director.

pub(crate) mod config_rights;
pub(crate) mod connection;
pub(crate) mod diagnosis;
pub(crate) mod features;
pub(crate) mod version;
