//! Probes of who lists the service instances.

pub(crate) mod diagnosis;
pub(crate) mod source;
