use std::fmt;

use odb_adapter_sdk::schemars::{self, JsonSchema};
use serde::Deserialize;

/// The longest name that is also good for a folder of Kafka's, which adds a dash and the number of the partition.
const LONGEST: usize = 249;

/// The topic that the smoke tests of the service release write to, and delete at their end.
const OF_THE_SMOKE_TESTS: &str = "test-topic";

/// The name of a topic: it can be one for Kafka, and cannot be taken for an option of a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(
    extend("pattern" = "^[A-Za-z0-9._][A-Za-z0-9._-]{0,248}$", "not" = {"enum": [".", "..", "test-topic"]})
)]
pub(crate) struct TopicName(String);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidTopicName {
    #[error(
        "a topic's name has 1 to {LONGEST} letters, digits, dots, underscores and dashes, does not start with a dash, and is more than one or two dots"
    )]
    Malformed,
    #[error("`{OF_THE_SMOKE_TESTS}` belongs to the service's own tests, which delete it")]
    Reserved,
}

impl TopicName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TopicName {
    type Error = InvalidTopicName;

    fn try_from(name: String) -> Result<Self, InvalidTopicName> {
        let may_occur = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let is_well_formed = (1..=LONGEST).contains(&name.len())
            && name.chars().all(may_occur)
            && !name.starts_with('-')
            && !matches!(name.as_str(), "." | "..");
        if !is_well_formed {
            return Err(InvalidTopicName::Malformed);
        }
        if name == OF_THE_SMOKE_TESTS {
            return Err(InvalidTopicName::Reserved);
        }
        Ok(Self(name))
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kafka_takes_are_taken() {
        let longest = "x".repeat(LONGEST);
        for name in ["orders", "a", "_x", ".hidden", "A-1.b_c", "...", &longest] {
            assert!(TopicName::try_from(name.to_owned()).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_that_kafka_or_a_command_would_misread_are_refused() {
        let too_long = "x".repeat(LONGEST + 1);
        for name in [
            "",
            ".",
            "..",
            "-x",
            "--zookeeper",
            "a b",
            "a/b",
            "ä",
            "a\n",
            &too_long,
        ] {
            let refused = TopicName::try_from(name.to_owned());
            assert_eq!(refused, Err(InvalidTopicName::Malformed), "{name}");
        }
        let refused = TopicName::try_from(OF_THE_SMOKE_TESTS.to_owned());
        assert_eq!(refused, Err(InvalidTopicName::Reserved));
    }
}
