//! The UAA client that each service instance has of its own where the operator defines one
//! (`spec/contracts/broker-behaviour.md` §3.10).
//!
//! | file | holds |
//! | --- | --- |
//! | `desired_client` | what the client of an instance shall be: a pure function of definition, instance and place |
//! | `ownership` | what the broker writes into a client to know it again |
//! | `secret` | secrets of new clients |
//! | `service` | makes, changes, restores and deletes clients |
//! | `preview` | tells what an upgrade would make of a client |
//! | `rotation` | rotates secrets, and checks that a secret is where it belongs |
//! | `client` | the client of one instance, as an operation has it in hand |
//! | `error` | what can go wrong |
//!
//! A client has the id of its instance. Nothing is remembered here: what was made and not submitted is known by its marks.

mod client;
mod desired_client;
mod error;
mod ownership;
mod preview;
mod rotation;
mod secret;
mod service;

pub use client::{InstanceClient, Making};
pub use desired_client::CfContext;
pub use error::ClientError;
pub use preview::ClientPreview;
pub(crate) use preview::client_of_an_order;
pub use service::InstanceClients;
