//! Ids that the platform and the operator choose. Parsed at the edge, and opaque afterwards.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    #[error("an id must not be empty")]
    Empty,
    #[error("an id has at most {MAX_ID_LENGTH} characters")]
    TooLong,
    /// Holds something that cannot travel into deployment names, config names and paths.
    #[error("an id consists of letters, digits, `-`, `.`, `_` and `~`, and is not `.` or `..`")]
    Unsafe,
}

/// The longest id that is accepted. The specification sets no limit (`spec/contracts/osb-api.md`, G-15).
const MAX_ID_LENGTH: usize = 128;

/// Ids consist of RFC 3986 unreserved characters, so that they travel unchanged through every upstream.
fn check(id: &str) -> Result<(), InvalidId> {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if id.is_empty() {
        Err(InvalidId::Empty)
    } else if id.len() > MAX_ID_LENGTH {
        Err(InvalidId::TooLong)
    } else if !id.bytes().all(unreserved) || id == "." || id == ".." {
        Err(InvalidId::Unsafe)
    } else {
        Ok(())
    }
}

macro_rules! id {
    ($(#[$attribute:meta])* $name:ident) => {
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        $(#[$attribute])*
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// An id that the platform chooses, and that is checked.
macro_rules! platform_id {
    ($name:ident) => {
        id! {
            #[serde(try_from = "String", into = "String")]
            $name
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(id: String) -> Result<Self, InvalidId> {
                check(&id).map(|()| Self(id))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

/// A word of the operator's, or of the broker's own.
macro_rules! own_id {
    ($(#[$attribute:meta])* $name:ident) => {
        id! {
            $(#[$attribute])*
            #[serde(transparent)]
            $name
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }
    };
}

platform_id!(InstanceId);
platform_id!(BindingId);
own_id!(OfferingId);
own_id!(PlanId);

own_id! {
    /// The target of a plan, or of all plans together: a digest that changes when the plan, releases, stemcells or the
    /// adapter change.
    Target
}

id! {
    #[serde(transparent)]
    RequestId
}

impl PlanId {
    /// The placeholder for an unknown plan in records: no catalog has an empty id.
    pub fn unknown() -> Self {
        Self(String::new())
    }

    pub fn is_known(&self) -> bool {
        !self.0.is_empty()
    }
}

impl RequestId {
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_travel_are_accepted() {
        for id in [
            "a",
            "c0ffee00-1111-4222-8333-444455556666",
            "A.b_c~d",
            "...",
        ] {
            assert!(InstanceId::try_from(id.to_owned()).is_ok(), "{id}");
        }
    }

    #[test]
    fn ids_that_cannot_travel_are_refused() {
        let long = "x".repeat(129);
        for (id, why) in [
            ("", InvalidId::Empty),
            (long.as_str(), InvalidId::TooLong),
            ("a/b", InvalidId::Unsafe),
            ("..", InvalidId::Unsafe),
            (".", InvalidId::Unsafe),
            ("a b", InvalidId::Unsafe),
            ("ä", InvalidId::Unsafe),
            ("a\"", InvalidId::Unsafe),
        ] {
            assert_eq!(InstanceId::try_from(id.to_owned()), Err(why), "{id}");
        }
    }
}
