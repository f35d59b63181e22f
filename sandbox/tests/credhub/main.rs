//! The CredHub on either side of a foundation over HTTPS, as brokers, the `credhub` CLI, apps and operators use them.

#![cfg(test)]

mod authentication;
mod broker;
mod certificates;
mod client;
mod data;
mod director;
mod foundation;
mod generate;
mod legacy;
mod permissions;
mod state;
