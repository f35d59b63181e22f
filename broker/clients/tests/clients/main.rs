//! The clients against servers with recorded answers of the real ones, and against servers that misbehave.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in the functions that it shares with others too"
)]

mod cf;
mod cloud_controller;
mod cloud_controller_brokers;
mod cloud_controller_deletions;
mod cloud_controller_jobs;
mod cloud_controller_plans;
mod cloud_controller_upgrades;
mod credhub;
mod director;
mod foundation;
mod instance_lists;
mod links;
mod service_instances_api;
mod submission;
mod token;
mod transport;
mod uaa_clients;
