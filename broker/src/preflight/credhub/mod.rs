//! Probes of CredHub, of the Director's and of that of applications.

pub(crate) mod connection;
pub(crate) mod diagnosis;
