use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;
use crate::schemas::texts;
use crate::yaml;

/// A BOSH manifest as YAML text, kept to the letter. Formatting does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(
    schema_with = "texts::generated_manifest",
    description = "A BOSH manifest as YAML text."
)]
pub struct ManifestText(String);

impl ManifestText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, given up.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The text read into the manifest model.
    pub fn parse(&self) -> Result<Manifest, yaml::Error> {
        yaml::from_str(&self.0)
    }
}

impl From<String> for ManifestText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for ManifestText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl TryFrom<&Manifest> for ManifestText {
    type Error = yaml::Error;

    fn try_from(manifest: &Manifest) -> Result<Self, yaml::Error> {
        yaml::to_string(manifest).map(Self)
    }
}

impl fmt::Debug for ManifestText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManifestText({} bytes)", self.0.len())
    }
}
