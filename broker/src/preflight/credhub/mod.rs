//! Probes of the Director's CredHub and of that of applications.

pub(crate) mod diagnosis;
pub(crate) mod of_applications;
pub(crate) mod of_director;
