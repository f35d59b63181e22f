//! The common probes of servers: name, connection, answer and clock.

pub(crate) mod answer;
pub(crate) mod clock;
pub(crate) mod reach;
