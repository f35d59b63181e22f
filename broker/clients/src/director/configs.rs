//! Configs: named texts that the Director keeps, every version of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    ConfigId, ConfigName, ConfigType, Director,
    connection::{code, unless_missing},
};
use crate::{
    http::{Call, Method, Repeat, Request, StatusCode, Url},
    service_error::{Result, ServiceError},
};

/// A version of a config (`spec/contracts/director-api.md`, "Configs").
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Config {
    /// Of this version.
    pub id: ConfigId,
    #[serde(rename = "type")]
    pub kind: ConfigType,
    pub name: ConfigName,
    /// A YAML mapping.
    pub content: String,
    /// The team that it belongs to, if it belongs to one.
    pub team: Option<String>,
}

/// Which version must be the latest for a config to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    Anything,
    /// The config is new.
    Nothing,
    Latest(ConfigId),
}

/// A config was not written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PutConfigError {
    /// Another version than the expected one is the latest.
    #[error("the config has another latest version than expected: `{latest}`")]
    Stale {
        /// The latest version, `0` if there is none.
        latest: String,
    },
    #[error("the config could not be written")]
    Director {
        #[source]
        source: ServiceError,
    },
}

impl Director {
    /// The latest version of a config, if it exists.
    #[tracing::instrument(name = "director.config_latest", skip_all, fields(config.type = %kind, config.name = %name))]
    pub async fn config_latest(
        &self,
        call: &Call,
        kind: &ConfigType,
        name: &ConfigName,
    ) -> Result<Option<Config>> {
        let query = [
            ("type", kind.as_str()),
            ("name", name.as_str()),
            ("latest", "true"),
        ];
        let mut found: Vec<Config> = self.0.read(call, &["configs"], &query).await?;
        Ok(found.pop())
    }

    /// Applies `keep` to the latest versions of all configs of a type, and collects the results. There may be
    /// thousands: of dropped ones only the text of the answer is in memory.
    #[tracing::instrument(name = "director.configs_of_type", skip_all, fields(config.type = %kind))]
    pub async fn configs_of_type<T, C: Default + Extend<T>>(
        &self,
        call: &Call,
        kind: &ConfigType,
        mut keep: impl FnMut(Config) -> Option<T>,
    ) -> Result<C> {
        let query = [("type", kind.as_str()), ("latest", "true")];
        let mut kept = C::default();
        self.read_each(call, &["configs"], &query, |config| {
            kept.extend(keep(config));
        })
        .await?;
        Ok(kept)
    }

    /// The latest versions of the configs with a name, of any type.
    #[tracing::instrument(name = "director.configs_named", skip_all, fields(config.name = %name))]
    pub async fn configs_named(&self, call: &Call, name: &ConfigName) -> Result<Vec<Config>> {
        let query = [("name", name.as_str()), ("latest", "true")];
        self.0.read(call, &["configs"], &query).await
    }

    /// One version of a config, the latest or not, as long as the Director keeps it.
    #[tracing::instrument(name = "director.config_version", skip_all, fields(config.id = %id))]
    pub async fn config_version(&self, call: &Call, id: &ConfigId) -> Result<Option<Config>> {
        let found = self.0.read(call, &["configs", id.as_str()], &[]).await;
        unless_missing(found, code::NO_SUCH_CONFIG)
    }

    /// Writes a config. The content it has already makes no new version. Safe to repeat, so it is.
    #[tracing::instrument(name = "director.put_config", skip_all, fields(config.type = %kind, config.name = %name))]
    pub async fn put_config(
        &self,
        call: &Call,
        kind: &ConfigType,
        name: &ConfigName,
        content: &str,
        expected: &Expected,
    ) -> Result<Config, PutConfigError> {
        let body = NewConfig {
            kind,
            name,
            content,
            expected_latest_id: match expected {
                Expected::Anything => None,
                Expected::Nothing => Some("0"),
                Expected::Latest(id) => Some(id.as_str()),
            },
        };
        let url = self.0.address(&["configs"], &[]);
        let request = Request::new(Method::POST, url, Repeat::WhenTransient).json(&body);
        let failed = |source| PutConfigError::Director { source };
        match self.0.send(call, request).await {
            Ok(answer) => return answer.json().map_err(failed),
            Err(error) if error.status() == Some(StatusCode::PRECONDITION_FAILED) => {}
            Err(error) => return Err(failed(error)),
        }
        // An attempt whose answer was lost may have written this text. The next attempt then finds a different latest
        // version.
        match self.config_latest(call, kind, name).await.map_err(failed)? {
            Some(latest) if latest.content == content => Ok(latest),
            Some(latest) => Err(PutConfigError::Stale {
                latest: latest.id.into(),
            }),
            None => Err(PutConfigError::Stale {
                latest: "0".to_owned(),
            }),
        }
    }

    /// Deletes a config with all its versions, if it is there.
    #[tracing::instrument(name = "director.delete_config", skip_all, fields(config.type = %kind, config.name = %name))]
    pub async fn delete_config(
        &self,
        call: &Call,
        kind: &ConfigType,
        name: &ConfigName,
    ) -> Result<()> {
        let url = self.0.address(
            &["configs"],
            &[("type", kind.as_str()), ("name", name.as_str())],
        );
        self.delete_at(call, url).await
    }

    /// Deletes one version of a config, if it is there; the previous version becomes the latest again.
    #[tracing::instrument(name = "director.delete_config_version", skip_all, fields(config.id = %id))]
    pub async fn delete_config_version(&self, call: &Call, id: &ConfigId) -> Result<()> {
        let url = self.0.address(&["configs", id.as_str()], &[]);
        self.delete_at(call, url).await
    }

    async fn delete_at(&self, call: &Call, url: Url) -> Result<()> {
        let request = Request::new(Method::DELETE, url, Repeat::WhenTransient);
        match self.0.send(call, request).await {
            // Plain text, the same as for an address that does not exist; of a version a Director's error.
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(()),
            deleted => deleted.map(drop),
        }
    }
}

/// A config's content may be anything, secrets included.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("team", &self.team)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct NewConfig<'a> {
    #[serde(rename = "type")]
    kind: &'a ConfigType,
    name: &'a ConfigName,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_latest_id: Option<&'a str>,
}
