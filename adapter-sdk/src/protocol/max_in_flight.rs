use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many instances of a group are updated at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MaxInFlight {
    /// So many.
    Count(u32),
    /// So much of the group.
    Percentage(Percentage),
}

/// A share of an instance group, such as `25%`. Kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(
    description = "A share of an instance group, such as `25%`.",
    extend("pattern" = "[0-9]%")
)]
pub struct Percentage(String);

/// A text without a percentage in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an integer or a percentage")]
pub struct InvalidPercentage;

impl Percentage {
    /// The text as written to a manifest.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is digits and a percent sign and nothing else, which a Director asks for.
    pub fn is_plain(&self) -> bool {
        self.0
            .strip_suffix('%')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    }

    /// Whether the text contains digits followed by a percent sign. The Go SDK checks nothing more, so `about 25% or
    /// so` passes (`spec/contracts/adapter-protocol.md`, "Plan").
    pub(super) fn occurs_in(text: &str) -> bool {
        text.match_indices('%')
            .any(|(at, _)| text[..at].ends_with(|c: char| c.is_ascii_digit()))
    }
}

impl TryFrom<String> for Percentage {
    type Error = InvalidPercentage;

    fn try_from(text: String) -> Result<Self, InvalidPercentage> {
        if Self::occurs_in(&text) {
            Ok(Self(text))
        } else {
            Err(InvalidPercentage)
        }
    }
}

impl From<Percentage> for String {
    fn from(percentage: Percentage) -> Self {
        percentage.0
    }
}
