//! Service adapters for the on-demand broker: the adapter protocol as types, a trait for authors
//! and its runner, and the BOSH manifest model.
//!
//! A service adapter is an executable that the broker runs once per question: which manifest, which
//! credentials, which dashboard. An author implements [`Adapter`] and hands it to [`run`], which
//! reads the question, writes the answer to stdout and ends with the right exit code.
//!
//! The first adapter:
//!
#![doc = concat!("```no_run\n", include_str!("../examples/cache/adapter.rs"), "```")]
//!
//! | to | see |
//! | --- | --- |
//! | ask users and operators for what your own types hold | [`parameters`] |
//! | build a manifest, read the deployed one | [`manifest`], [`manifest::ManifestBuilder`] |
//! | choose between parameter, deployed value, plan and default | [`first_of`] |
//! | make secrets once, change them, see them in bindings | [`secrets`] |
//! | refuse releases that are too old | [`release_version`] |
//! | say more of a binding, an instance, a request | [`protocol`] |
//! | separate texts for users and for operators | [`AdapterError`] |
//! | call an adapter from a test | [`runner::execute`] |
//!
//! Rules that every adapter keeps are in `spec/contracts/adapter-protocol.md`, "What an author must
//! do"; the first of them is that the same inputs and the previous manifest give the same manifest.

mod adapter;
pub mod document;
mod error;
pub mod json;
pub mod manifest;
#[cfg(feature = "parameters")]
pub mod parameters;
mod precedence;
pub mod prelude;
pub mod protocol;
mod redaction;
pub mod release_version;
pub mod runner;
#[cfg(feature = "parameters")]
pub mod schema_messages;
pub mod schemas;
pub mod secrets;
pub mod yaml;

pub use adapter::Adapter;
pub use error::AdapterError;
pub use precedence::{Tunable, first_of};
pub use runner::run;
/// Derives the schema of an author's own types, see [`parameters`].
pub use schemars;
