//! Which generations of its API a Cloud Controller has (`spec/contracts/platform-apis.md`, "Which generations are
//! there?").

use serde::{Deserialize, Serialize};

/// The generations of a Cloud Controller's API, and how it reports them. They differ in what happens to v2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum ApiGeneration {
    /// v2 is off, as by default since CC 3.191: `/v2/info` still answers, with an empty `api_version`.
    #[default]
    #[serde(rename = "off")]
    V2Off,
    /// v2 is off, as from CC 3.181 to 3.190: not even `/v2/info` answers.
    #[serde(rename = "off_3_181")]
    V2GoneWithoutTrace,
    /// v2 is off, as up to CC 3.180: `/` and `/v2/info` do not report it.
    #[serde(rename = "off_3_180")]
    V2OffUntold,
    /// There are both.
    #[serde(rename = "on")]
    V2On,
    /// There are both, and v3 is too young to be used for services.
    #[serde(rename = "on_3_94")]
    V3Young,
}

impl ApiGeneration {
    /// Whether v2 can be used.
    pub(super) fn has_v2(self) -> bool {
        matches!(self, Self::V2On | Self::V3Young)
    }

    /// Whether `/` and `/v2/info` report v2.
    pub(super) fn reports_v2_version(self) -> bool {
        self.has_v2() || self == Self::V2OffUntold
    }

    /// The version of v3.
    pub(super) fn v3_version(self) -> &'static str {
        match self {
            Self::V2Off | Self::V2On => "3.228.0",
            Self::V2GoneWithoutTrace => "3.190.0",
            Self::V2OffUntold => "3.180.0",
            Self::V3Young => "3.94.0",
        }
    }
}
