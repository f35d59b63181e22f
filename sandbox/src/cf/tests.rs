//! The commands as their users see them, against the Cloud Controller's shapes.

mod administration;
mod connection;
mod keys;
mod orders;
mod platform;
mod shapes;
