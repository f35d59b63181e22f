//! The client of CredHub, both of the Director's and of the one for applications.
//!
//! Contract: `spec/contracts/platform-apis.md`, section 2.
//!
//! | file | contents |
//! | --- | --- |
//! | `connection` | authenticates and sends requests, classifies answers; the version, before 2.0 with requests of its own |
//! | `name`, `value` | credentials' names and values |
//! | `credentials` | `/api/v1/data`: put, latest, version, find, delete |
//! | `permissions` | `/api/v2/permissions` |
//!
//! All requests here are idempotent and retried on transient errors, within the limits and the deadline of the call. A
//! repeated put may create two versions of the same value.

mod connection;
mod credentials;
mod name;
mod permissions;
mod value;

pub use connection::{CredHub, CredHubClient, CredHubVersion};
pub use credentials::{Credential, CredentialId, Removed};
pub use name::CredentialName;
pub use permissions::{Actor, PermittedOperation};
pub use value::{CredentialValue, InvalidSecretJson, SecretJson};
