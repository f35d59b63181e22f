//! Which CredHub it is.

use std::fmt;

use serde::Deserialize;

use super::CredHub;
use crate::{
    http::{Call, Request},
    service_error::Result,
};

/// The version of a CredHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredHubVersion {
    text: String,
    major: u64,
}

/// CredHub's public information.
#[derive(Deserialize)]
pub(super) struct Info {
    #[serde(rename = "auth-server")]
    pub(super) auth_server: AuthServer,
    #[serde(default)]
    pub(super) app: App,
}

#[derive(Deserialize)]
pub(super) struct AuthServer {
    pub(super) url: String,
}

/// Servers from 2.0 on keep their version to those with a token.
#[derive(Default, Deserialize)]
pub(super) struct App {
    #[serde(default)]
    pub(super) version: Option<String>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

impl CredHub {
    /// The server's version, read until it is known. It needs a token, so it also verifies the credentials. Safe to
    /// repeat.
    #[tracing::instrument(name = "credhub.version", skip_all)]
    pub async fn version(&self, call: &Call) -> Result<CredHubVersion> {
        if let Some(version) = self.known_version().get() {
            return Ok(version.clone());
        }
        let request = Request::get(self.connection().address(&["version"], &[]));
        let answer = self.connection().send(call, request).await?;
        let reported: Version = answer.json()?;
        let version = CredHubVersion::read(&reported.version)
            .ok_or_else(|| answer.lacks("version number"))?;
        Ok(self.known_version().get_or_init(|| version).clone())
    }
}

impl CredHubVersion {
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let major = text.split('.').next()?.parse().ok()?;
        Some(Self {
            text: text.to_owned(),
            major,
        })
    }

    /// Whether it is older than 2.0, when a set kept the old value by default, and permissions had another form.
    pub fn is_before_2(&self) -> bool {
        self.major < 2
    }
}

impl fmt::Display for CredHubVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
