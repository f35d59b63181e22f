//! The caller, as permissions name it (`spec/contracts/platform-apis.md`, "Authentication").

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Names a caller for permissions: `uaa-client:ID`, `uaa-user:ID` or `mtls-app:GUID`. Permissions accept any name, so
/// text of another form is an actor too, but no caller ever has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Actor(String);

impl Actor {
    /// A client with a token of its own.
    pub fn uaa_client(id: &str) -> Self {
        Self(format!("uaa-client:{id}"))
    }

    /// A user, by the id that tokens carry.
    pub fn uaa_user(id: &str) -> Self {
        Self(format!("uaa-user:{id}"))
    }

    pub fn app(guid: Uuid) -> Self {
        Self(format!("mtls-app:{guid}"))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Actor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
