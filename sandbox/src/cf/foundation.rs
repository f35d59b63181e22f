//! The address of the Cloud Controller, and the user.

use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde::Deserialize;
use thiserror::Error;
use url::Url;

use super::arguments::Identity;

/// The part of `foundation.json` that a user of the platform needs.
#[derive(Debug, Deserialize)]
pub(super) struct Foundation {
    pub(super) ca_certificate: PathBuf,
    pub(super) cloud_controller: CloudController,
}

#[derive(Debug, Deserialize)]
pub(super) struct CloudController {
    pub(super) url: Url,
    pub(super) uaa_url: Url,
    admin_user: User,
    user: User,
    pub(super) space: Space,
}

#[derive(Debug, Deserialize)]
pub(super) struct Space {
    pub(super) guid: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) password: SecretString,
}

/// Why a `foundation.json` cannot be used.
#[derive(Debug, Error)]
pub(super) enum FoundationError {
    #[error("could not read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("`{}` is not the description of a foundation", path.display())]
    Parse {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

impl Foundation {
    pub(super) async fn read(path: &Path) -> Result<Self, FoundationError> {
        let text = tokio::fs::read(path)
            .await
            .map_err(|source| FoundationError::Read {
                path: path.to_owned(),
                source,
            })?;
        let mut foundation: Self =
            serde_json::from_slice(&text).map_err(|source| FoundationError::Parse {
                path: path.to_owned(),
                source,
            })?;
        // A relative path is meant from the folder that holds the file; joining leaves an absolute one alone.
        if let Some(folder) = path.parent() {
            foundation.ca_certificate = folder.join(&foundation.ca_certificate);
        }
        Ok(foundation)
    }
}

impl CloudController {
    pub(super) fn user(&self, identity: Identity) -> &User {
        match identity {
            Identity::Admin => &self.admin_user,
            Identity::Developer => &self.user,
        }
    }
}
