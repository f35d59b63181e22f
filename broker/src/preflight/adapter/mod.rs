//! Probes of the service adapter.

pub(crate) mod digest;
pub(crate) mod executable;
pub(crate) mod schemas;
pub(crate) mod trial;
