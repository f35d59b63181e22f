//! Service adapters for the on-demand broker: the adapter protocol as types, a trait for authors
//! and its runner, and the BOSH manifest model.
//!
//! A service adapter is an executable that the broker runs once per question: which manifest, which
//! credentials, which dashboard. An author implements [`Adapter`] and hands it to [`run`], which
//! reads the question, writes the answer to stdout and ends with the right exit code.
//!
//! The first adapter:
//!
//! ```no_run
//! use odb_adapter_sdk::manifest::{Manifest, Release, Stemcell, Update, map_instance_groups};
//! use odb_adapter_sdk::protocol::{Binding, CreateBinding, GenerateManifest, GeneratedManifest};
//! use odb_adapter_sdk::{Adapter, AdapterError, run};
//! use serde_json::json;
//!
//! struct Echo;
//!
//! impl Adapter for Echo {
//!     fn generate_manifest(&self, call: GenerateManifest) -> Result<GeneratedManifest, AdapterError> {
//!         let deployment = &call.service_deployment;
//!         let stemcell = deployment.stemcells.first().ok_or("there is no stemcell")?;
//!         let update = call.plan.update.as_ref().ok_or("the plan has no update block")?;
//!         if call.plan.instance_group("echo").is_none() {
//!             return Err(AdapterError::for_user("this plan cannot be ordered, contact your operator")
//!                 .caused_by("the plan has no instance group `echo`"));
//!         }
//!         let manifest = Manifest {
//!             name: deployment.deployment_name.clone(),
//!             releases: deployment.releases.iter().map(Release::from).collect(),
//!             stemcells: vec![Stemcell::of("default", stemcell)],
//!             instance_groups: map_instance_groups(
//!                 &call.plan.instance_groups,
//!                 &deployment.releases,
//!                 "default",
//!                 &[("echo", &["echo-server"])],
//!             )?,
//!             update: Some(Update::from(update)),
//!             ..Manifest::default()
//!         };
//!         Ok(GeneratedManifest::new(&manifest)?)
//!     }
//!
//!     fn create_binding(&self, call: CreateBinding) -> Result<Binding, AdapterError> {
//!         Ok(Binding::with_credentials(json!({ "hosts": call.bosh_vms.get("echo") })))
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     run(&Echo)
//! }
//! ```
//!
//! Rules that every adapter keeps are in `spec/contracts/adapter-protocol.md`, "What an author must
//! do"; the first of them is that the same inputs and the previous manifest give the same manifest.

mod adapter;
mod error;
pub mod json;
pub mod manifest;
pub mod protocol;
mod redaction;
pub mod runner;
pub mod yaml;

pub use adapter::Adapter;
pub use error::AdapterError;
pub use runner::run;
