//! The Director's names and ids.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{InvalidText, text_id::text_ids};

text_ids! {
    /// The Director itself sets no rule; here a name must fit into a path.
    DeploymentName = "deployment name";
    /// An instance group or a job with `bin/run`.
    ErrandName = "errand name";
    /// Free text (`spec/contracts/director-api.md`, "Configs").
    ConfigType = "config type";
    /// Names a config among those of its type.
    ConfigName = "config name";
    /// Names one version of a config. A number, but text on the wire.
    ConfigId = "config id";
    /// A number, but text on the wire.
    LinkProviderId = "link provider id";
    /// A number, but text on the wire.
    LinkId = "link id";
}

text_ids! {
    /// Groups related tasks: the deploy and the errands of one operation.
    ///
    /// 1 to 64 visible ASCII characters; the broker's are UUIDs. The Director refuses longer ones with code 70010.
    ContextId: |text| {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > 64 || !visible {
            let rule = "a context id must have 1 to 64 visible ASCII characters";
            return Err(InvalidText(rule.to_owned()));
        }
        Ok(text)
    };
}

impl ContextId {
    /// A new one, unlike any other.
    pub fn random() -> Self {
        Uuid::new_v4().into()
    }
}

impl From<Uuid> for ContextId {
    fn from(uuid: Uuid) -> Self {
        Self(uuid.to_string())
    }
}

/// Identifies a task. Ids rise by one per task of the Director.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(u64);

impl TaskId {
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

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
        for text in ["x".repeat(65), String::new(), "a b".to_owned()] {
            assert!(text.parse::<ContextId>().is_err(), "{text:?}");
        }
        assert_eq!(ContextId::random().as_str().len(), 36);
    }
}
