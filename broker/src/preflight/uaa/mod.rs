//! Probes of UAAs, and which rights each feature needs of their clients.

pub(crate) mod diagnosis;
pub(crate) mod foundation;
pub(crate) mod grants;
pub(crate) mod instance_clients;
pub(crate) mod rights;
