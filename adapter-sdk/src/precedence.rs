//! Where a value comes from that users and operators may choose
//! (`spec/contracts/adapter-protocol.md`, "What an author must do", 10): the parameter of this
//! request, then what is deployed, then the plan, then a default.
//!
//! Parameters of earlier requests are never repeated, so what a user chose once has to be found
//! in the previous manifest: at the address where the adapter writes it.
//!
//! ```
//! use odb_adapter_sdk::first_of;
//! use odb_adapter_sdk::manifest::{JobProperty, Manifest};
//!
//! const MAX_CLIENTS: JobProperty = JobProperty::new("redis", "redis-server", "/redis/maxclients");
//!
//! # fn choose(parameter: Option<u32>, previous: Option<&Manifest>, plan: Option<u32>)
//! # -> Result<u32, odb_adapter_sdk::AdapterError> {
//! let max_clients = first_of(parameter)
//!     .then_deployed(previous, MAX_CLIENTS)?
//!     .then_plan(plan)
//!     .or_default(10_000);
//! # Ok(max_clients)
//! # }
//! # assert_eq!(choose(None, None, Some(7)).unwrap(), 7);
//! ```

use serde::de::DeserializeOwned;

use crate::manifest::{JobProperty, JobPropertyError, Manifest, decoded};

/// A value that is still being looked for, in the order of the methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Tunable<T>(Option<T>);

/// Begins with what the user asks for in this request.
pub const fn first_of<T>(parameter: Option<T>) -> Tunable<T> {
    Tunable(parameter)
}

impl<T> Tunable<T> {
    /// Else what is deployed, in the previous manifest.
    ///
    /// A deployed value of another type is an error only if it counts: a user who sends a new value
    /// fixes it.
    pub fn then_deployed(
        self,
        previous: Option<&Manifest>,
        property: JobProperty<'_>,
    ) -> Result<Self, JobPropertyError>
    where
        T: DeserializeOwned,
    {
        if self.0.is_some() {
            return Ok(self);
        }
        previous
            .and_then(|manifest| manifest.property(property))
            .map(|value| decoded(property, value))
            .transpose()
            .map(Self)
    }

    /// Else what the operator has set in the plan.
    pub fn then_plan(self, property: Option<T>) -> Self {
        Self(self.0.or(property))
    }

    /// Else the default.
    pub fn or_default(self, default: T) -> T {
        self.0.unwrap_or(default)
    }

    /// Else something that is made now, such as a password.
    pub fn or_else(self, make: impl FnOnce() -> T) -> T {
        self.0.unwrap_or_else(make)
    }

    /// The value, if there is any.
    pub fn value(self) -> Option<T> {
        self.0
    }
}
