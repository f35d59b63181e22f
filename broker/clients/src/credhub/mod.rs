//! CredHub, the Director's and the one of applications alike.
//!
//! Contract: `spec/contracts/platform-apis.md`, section 2.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `connection` | how a request is authenticated, sent and its answer sorted |
//! | `version` | which CredHub it is; those before 2.0 are spoken to in their own way |
//! | `name`, `value` | credentials' names and values |
//! | `credentials` | `/api/v1/data`: put, latest, version, find, delete |
//! | `permissions` | `/api/v2/permissions`: who may read what |
//!
//! Everything here may be repeated, so everything is, after transient failures and within the
//! limits and the deadline of the call. A put that is repeated may make two versions of the same
//! value.

mod connection;
mod credentials;
mod name;
mod permissions;
mod value;
mod version;

pub use connection::{ConnectCredHubError, CredHub, CredHubClient};
pub use credentials::{Credential, CredentialId, Removed};
pub use name::{CredentialName, InvalidCredentialName};
pub use permissions::{Actor, Granted, Permission, PermissionId, PermittedOperation};
pub use value::{CredentialValue, InvalidSecretJson, SecretJson};
pub use version::CredHubVersion;
