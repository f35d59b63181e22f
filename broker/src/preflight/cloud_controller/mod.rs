//! Probes of the Cloud Controller.

pub(crate) mod connection;
pub(crate) mod diagnosis;
