//! Certificates: the broker's own, those of servers, and whose are trusted.

pub(crate) mod of_file;
pub(crate) mod of_server;
pub(crate) mod own;
pub(crate) mod own_diagnosis;
pub(crate) mod trust;
