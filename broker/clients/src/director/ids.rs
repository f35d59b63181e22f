//! The Director's names and ids.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::text_id::text_id;

text_id! {
    /// Names a deployment. The Director itself sets no rule; here a name must fit into a path.
    DeploymentName, "deployment name"
}

text_id! {
    /// Names an errand: an instance group or a job with `bin/run`.
    ErrandName, "errand name"
}

text_id! {
    /// The type of a config, free text (`spec/contracts/director-api.md`, "Configs").
    ConfigType, "config type"
}

text_id! {
    /// Names a config among those of its type.
    ConfigName, "config name"
}

text_id! {
    /// Names one version of a config. A number, but text on the wire.
    ConfigId, "config id"
}

text_id! {
    /// Names something that a deployment offers. A number, but text on the wire.
    LinkProviderId, "link provider id"
}

text_id! {
    /// Names a link. A number, but text on the wire.
    LinkId, "link id"
}

/// Identifies a task. Ids rise by one per task of the Director.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(u64);

impl TaskId {
    /// The id with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TaskId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Groups related tasks: the deploy and the errands of one operation.
///
/// 1 to 64 visible ASCII characters; the broker's are UUIDs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContextId(String);

/// The text is no context id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a context id must have 1 to 64 visible ASCII characters")]
pub struct InvalidContextId;

impl ContextId {
    /// The Director refuses longer ones with code 70010.
    const LONGEST: usize = 64;

    /// A new one, unlike any other.
    pub fn random() -> Self {
        Self(Uuid::new_v4().to_string())
    }

    /// The text as sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ContextId {
    type Error = InvalidContextId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > Self::LONGEST || !visible {
            return Err(InvalidContextId);
        }
        Ok(Self(text))
    }
}

impl FromStr for ContextId {
    type Err = InvalidContextId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl From<Uuid> for ContextId {
    fn from(uuid: Uuid) -> Self {
        Self(uuid.to_string())
    }
}

impl From<ContextId> for String {
    fn from(id: ContextId) -> Self {
        id.0
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_an_address_would_swallow_is_refused() {
        for text in ["", ".", "..", "a\nb"] {
            assert!(text.parse::<DeploymentName>().is_err(), "{text:?}");
        }
        assert!("service-instance_a.b/c d".parse::<DeploymentName>().is_ok());
    }

    #[test]
    fn a_context_id_is_short_enough_for_the_director() {
        assert!("x".repeat(64).parse::<ContextId>().is_ok());
        assert!("x".repeat(65).parse::<ContextId>().is_err());
        assert!("".parse::<ContextId>().is_err());
        assert!("a b".parse::<ContextId>().is_err());
        assert_eq!(ContextId::random().as_str().len(), 36);
    }
}
