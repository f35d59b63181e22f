//! The UAA client of each service instance, if the operator defines one (`spec/contracts/broker-behaviour.md` §3.10).
//!
//! | file | contents |
//! | --- | --- |
//! | `desired_client` | the desired client of an instance: a pure function of definition, instance and context |
//! | `ownership` | the metadata by which the broker recognises a client |
//! | `secret` | secrets of new clients |
//! | `service` | creates, changes, restores and deletes clients |
//! | `preview` | shows how an upgrade would change a client |
//! | `rotation` | rotates secrets, and checks that a secret is deployed |
//! | `client` | the client of one instance during an operation |
//! | `error` | errors |
//!
//! A client has the id of its instance. No state is kept here: a client of an operation that was not submitted is
//! recognised by its metadata.

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
