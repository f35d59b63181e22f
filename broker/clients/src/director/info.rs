//! The Director's information, including the user of the broker's credentials.

use std::{collections::HashMap, fmt};

use serde::Deserialize;
use serde_json::Value;

use super::Director;
use crate::{connection::Connection, http::Call, service_error::Result};

/// The Director's information about itself (`spec/contracts/director-api.md`, "Authentication").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    pub name: String,
    /// The Director's UUID; part of its own scopes.
    pub uuid: String,
    /// The version as text, such as `277.3.0 (3604d808)`.
    pub version: String,
    /// The user of the caller; `None` if the credentials are unknown.
    pub user: Option<String>,
    pub authentication: Authentication,
    /// Whether BOSH DNS is on.
    pub local_dns: bool,
    /// Whether the Director resolves variables by a config server (CredHub).
    pub config_server: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    Basic,
    Uaa { url: String },
    Unknown(String),
}

impl Director {
    /// The Director's public information; `user` is `None`.
    #[tracing::instrument(name = "director.info", skip_all)]
    pub async fn info(&self, call: &Call) -> Result<Info> {
        Info::read_by(&self.0, call).await
    }

    /// The Director's information for the broker's credentials. The Director never rejects this request: see
    /// [`Info::user`].
    #[tracing::instrument(name = "director.authenticated_info", skip_all)]
    pub async fn authenticated_info(&self, call: &Call) -> Result<Info> {
        let mut known: WireInfo = self.0.read(call, &["info"], &[]).await?;
        // This request never gets a 401, so an expired token is not noticed otherwise.
        if known.user.is_none()
            && let Some(tokens) = self.tokens()
            && let Ok(token) = tokens.token(call).await
        {
            tokens.invalidate(&token);
            known = self.0.read(call, &["info"], &[]).await?;
        }
        Ok(known.into())
    }
}

impl Info {
    pub(super) async fn read_by(connection: &Connection, call: &Call) -> Result<Self> {
        let url = connection.address(&["info"], &[]);
        let info: WireInfo = connection.read_anonymously(call, url).await?;
        Ok(info.into())
    }
}

impl fmt::Display for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic => "basic",
            Self::Uaa { .. } => "uaa",
            Self::Unknown(kind) => kind,
        })
    }
}

#[derive(Deserialize)]
struct WireInfo {
    name: String,
    uuid: String,
    version: String,
    user: Option<String>,
    user_authentication: WireAuthentication,
    #[serde(default)]
    features: HashMap<String, Value>,
}

#[derive(Deserialize)]
struct WireAuthentication {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    options: WireOptions,
}

#[derive(Default, Deserialize)]
struct WireOptions {
    url: Option<String>,
}

impl From<WireInfo> for Info {
    fn from(wire: WireInfo) -> Self {
        let WireAuthentication { kind, options } = wire.user_authentication;
        let authentication = match (kind.as_str(), options.url) {
            ("basic", _) => Authentication::Basic,
            ("uaa", Some(url)) => Authentication::Uaa { url },
            _ => Authentication::Unknown(kind),
        };
        let has = |name| {
            let feature: Option<&Value> = wire.features.get(name);
            feature.is_some_and(|feature| feature["status"] == true)
        };
        Self {
            local_dns: has("local_dns"),
            config_server: has("config_server"),
            name: wire.name,
            uuid: wire.uuid,
            version: wire.version,
            user: wire.user,
            authentication,
        }
    }
}
