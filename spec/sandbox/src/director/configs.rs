//! Configs: named YAML documents in versions (`spec/contracts/director-api.md`, "Configs").

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::ids::{ConfigId, TeamName};

/// All configs with all their versions.
pub(super) struct Configs {
    table: Mutex<Table>,
}

struct Table {
    last: ConfigId,
    /// (type, name) ⇒ versions, the oldest first, at least one.
    configs: BTreeMap<(String, String), Vec<Config>>,
}

/// One version of a config.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) id: ConfigId,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) content: String,
    pub(super) team: Option<TeamName>,
    created_at: Timestamp,
}

/// A version to be.
pub(super) struct NewConfig {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) content: String,
    pub(super) team: Option<TeamName>,
    /// The version that the sender has seen last; it must be the latest.
    pub(super) expected_latest: Option<String>,
}

/// Another version is the latest than the sender believes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StaleConfig {
    pub(super) latest: String,
    pub(super) expected: String,
}

/// Which configs a list shows.
#[derive(Default)]
pub(super) struct ConfigFilter {
    pub(super) kind: Option<String>,
    pub(super) name: Option<String>,
    /// So many versions of each config, the newest first.
    pub(super) versions: Option<usize>,
    pub(super) owners: Owners,
}

/// Whose configs are meant.
#[derive(Clone, Debug, Default)]
pub(super) enum Owners {
    /// Everybody's.
    #[default]
    All,
    /// Those of these teams.
    Teams(BTreeSet<TeamName>),
    /// Those of these teams and those that belong to nobody.
    TeamsAndNobody(BTreeSet<TeamName>),
}

/// A config as the API shows it.
#[derive(Serialize)]
pub(super) struct ConfigView {
    content: String,
    #[serde(serialize_with = "as_text")]
    id: ConfigId,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    team: Option<TeamName>,
    created_at: String,
    current: bool,
}

impl Configs {
    /// No configs yet.
    pub(super) fn new() -> Self {
        let table = Table {
            last: ConfigId::NONE,
            configs: BTreeMap::new(),
        };
        Self {
            table: Mutex::new(table),
        }
    }

    /// Adds a version, unless the latest one has the same content: then it is answered with.
    pub(super) fn post(&self, new: NewConfig) -> Result<ConfigView, StaleConfig> {
        self.with(|table| {
            let latest = table.latest(&new.kind, &new.name);
            if let Some(expected) = new.expected_latest {
                let id = latest.map_or_else(|| "0".to_owned(), |config| config.id.to_string());
                if id != expected {
                    return Err(StaleConfig {
                        latest: id,
                        expected,
                    });
                }
            }
            if let Some(latest) = latest.filter(|latest| latest.content == new.content) {
                return Ok(latest.view(true));
            }
            let id = table.last.next();
            table.last = id;
            let config = Config {
                id,
                kind: new.kind,
                name: new.name,
                content: new.content,
                team: new.team,
                created_at: Timestamp::now(),
            };
            let view = config.view(true);
            let key = (config.kind.clone(), config.name.clone());
            table.configs.entry(key).or_default().push(config);
            Ok(view)
        })
    }

    /// The latest version of the config of this type and name.
    pub(super) fn latest(&self, kind: &str, name: &str) -> Option<Config> {
        self.with(|table| table.latest(kind, name).cloned())
    }

    /// One version, with whether it is the latest.
    pub(super) fn find(&self, id: ConfigId) -> Option<(Config, ConfigView)> {
        self.with(|table| {
            let versions = table
                .configs
                .values()
                .find(|versions| versions.iter().any(|config| config.id == id))?;
            let config = versions.iter().find(|config| config.id == id)?;
            Some((config.clone(), config.view(is_latest(config, versions))))
        })
    }

    /// The configs that pass the filter: by type, `default` before other names, the newest version first.
    pub(super) fn list(&self, filter: &ConfigFilter) -> Vec<ConfigView> {
        self.with(|table| {
            let mut found: Vec<&Vec<Config>> = table
                .configs
                .iter()
                .filter(|(key, _)| filter.names(key))
                .map(|(_, versions)| versions)
                .collect();
            found.sort_by_key(|versions| versions.first().map(Config::order));
            let shown = found.into_iter().flat_map(|versions| {
                let visible = versions
                    .iter()
                    .rev()
                    .filter(|config| filter.owners.include(config));
                visible
                    .take(filter.versions.unwrap_or(usize::MAX))
                    .map(|config| config.view(is_latest(config, versions)))
            });
            shown.collect()
        })
    }

    /// The latest versions of one type, as a deployment of these teams is subject to them.
    pub(super) fn in_force(&self, kind: &str, teams: &[TeamName]) -> Vec<Config> {
        let owners = Owners::TeamsAndNobody(teams.iter().cloned().collect());
        self.with(|table| {
            let of_kind = table.configs.iter().filter(|((of, _), _)| of == kind);
            let latest = of_kind.filter_map(|(_, versions)| versions.last());
            latest
                .filter(|config| owners.include(config))
                .cloned()
                .collect()
        })
    }

    /// Deletes all versions of a config. Tells whether there were any.
    pub(super) fn delete(&self, kind: &str, name: &str) -> bool {
        let key = (kind.to_owned(), name.to_owned());
        self.with(|table| table.configs.remove(&key).is_some())
    }

    /// Deletes one version. Tells whether it was there.
    pub(super) fn delete_version(&self, id: ConfigId) -> bool {
        self.with(|table| {
            let found = table.configs.values_mut().find_map(|versions| {
                let place = versions.iter().position(|config| config.id == id)?;
                Some(versions.remove(place))
            });
            table.configs.retain(|_, versions| !versions.is_empty());
            found.is_some()
        })
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Table) -> T) -> T {
        use_it(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Table {
    fn latest(&self, kind: &str, name: &str) -> Option<&Config> {
        let key = (kind.to_owned(), name.to_owned());
        self.configs.get(&key).and_then(|versions| versions.last())
    }
}

fn is_latest(config: &Config, versions: &[Config]) -> bool {
    versions.last().is_some_and(|latest| latest.id == config.id)
}

impl Config {
    fn order(&self) -> (&str, bool, &str) {
        (&self.kind, self.name != "default", &self.name)
    }

    fn view(&self, current: bool) -> ConfigView {
        ConfigView {
            content: self.content.clone(),
            id: self.id,
            kind: self.kind.clone(),
            name: self.name.clone(),
            team: self.team.clone(),
            created_at: self
                .created_at
                .strftime("%Y-%m-%d %H:%M:%S UTC")
                .to_string(),
            current,
        }
    }
}

impl ConfigFilter {
    fn names(&self, (kind, name): &(String, String)) -> bool {
        self.kind.as_ref().is_none_or(|wanted| wanted == kind)
            && self.name.as_ref().is_none_or(|wanted| wanted == name)
    }
}

impl Owners {
    fn include(&self, config: &Config) -> bool {
        match (self, &config.team) {
            (Self::All, _) | (Self::TeamsAndNobody(_), None) => true,
            (Self::Teams(_), None) => false,
            (Self::Teams(teams) | Self::TeamsAndNobody(teams), Some(team)) => teams.contains(team),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn as_text<S: Serializer>(id: &ConfigId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
