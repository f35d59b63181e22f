//! Configs: named YAML documents in versions (`spec/contracts/director-api.md`, "Configs").

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::ids::{ConfigId, TeamName};
use crate::store::{Rows, Store, StoreError};

pub(super) struct Configs {
    table: Mutex<Table>,
}

struct Table {
    last: Rows<(), ConfigId>,
    versions: Rows<ConfigId, Config>,
    /// (type, name) ⇒ versions, the oldest first, at least one.
    index: BTreeMap<(String, String), Vec<ConfigId>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Config {
    pub(super) id: ConfigId,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) content: String,
    pub(super) team: Option<TeamName>,
    created_at: Timestamp,
}

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

#[derive(Clone, Debug, Default)]
pub(super) enum Owners {
    #[default]
    All,
    Teams(BTreeSet<TeamName>),
    /// These teams, and configs without an owner.
    TeamsAndUnowned(BTreeSet<TeamName>),
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
    pub(super) fn open(store: &Store) -> Result<Self, StoreError> {
        let versions: Rows<ConfigId, Config> = Rows::open(store, "director_configs")?;
        let mut index: BTreeMap<_, Vec<ConfigId>> = BTreeMap::new();
        for config in versions.values() {
            index.entry(config.key()).or_default().push(config.id);
        }
        let table = Table {
            last: Rows::open(store, "director_last_config")?,
            versions,
            index,
        };
        Ok(Self {
            table: Mutex::new(table),
        })
    }

    /// Whether there has never been a config.
    pub(super) fn is_new(&self) -> bool {
        self.lock().last.is_empty()
    }

    /// Adds a version, unless the latest one has the same content: then it is answered with.
    pub(super) fn post(&self, new: NewConfig) -> Result<ConfigView, StaleConfig> {
        let mut table = self.lock();
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
        let config = Config {
            id: table.next_id(),
            kind: new.kind,
            name: new.name,
            content: new.content,
            team: new.team,
            created_at: Timestamp::now(),
        };
        let view = config.view(true);
        let versions = table.index.entry(config.key()).or_default();
        versions.push(config.id);
        table.versions.insert(config.id, config);
        table.save();
        Ok(view)
    }

    /// The latest version of the config of this type and name.
    pub(super) fn latest(&self, kind: &str, name: &str) -> Option<Config> {
        self.lock().latest(kind, name).cloned()
    }

    /// One version, with how it is shown.
    pub(super) fn find(&self, id: ConfigId) -> Option<(Config, ConfigView)> {
        let table = self.lock();
        let config = table.versions.get(&id)?;
        Some((config.clone(), config.view(table.is_latest(config))))
    }

    /// The configs that pass the filter: by type, `default` before other names, the newest version first.
    pub(super) fn list(&self, filter: &ConfigFilter) -> Vec<ConfigView> {
        let table = self.lock();
        let mut found: Vec<_> = table
            .index
            .iter()
            .filter(|(key, _)| filter.names(key))
            .collect();
        found.sort_by_key(|((kind, name), _)| (kind, name != "default", name));
        let shown = found.into_iter().flat_map(|(_, versions)| {
            let versions = versions
                .iter()
                .rev()
                .filter_map(|id| table.versions.get(id));
            versions
                .filter(|config| filter.owners.include(config))
                .take(filter.versions.unwrap_or(usize::MAX))
                .map(|config| config.view(table.is_latest(config)))
        });
        shown.collect()
    }

    /// The latest versions of one type, as a deployment of these teams is subject to them.
    pub(super) fn in_force(&self, kind: &str, teams: &[TeamName]) -> Vec<Config> {
        let owners = Owners::TeamsAndUnowned(teams.iter().cloned().collect());
        let table = self.lock();
        let of_kind = table
            .index
            .range((kind.to_owned(), String::new())..)
            .take_while(|((of, _), _)| of == kind);
        let latest = of_kind.filter_map(|(_, versions)| table.versions.get(versions.last()?));
        latest
            .filter(|config| owners.include(config))
            .cloned()
            .collect()
    }

    /// The latest versions of all configs of one type, of every owner.
    pub(super) fn latest_of(&self, kind: &str) -> Vec<Config> {
        let table = self.lock();
        let latest = table
            .index
            .iter()
            .filter(|((of, _), _)| of == kind)
            .filter_map(|(_, versions)| table.versions.get(versions.last()?));
        latest.cloned().collect()
    }

    /// Deletes all versions of a config. Returns whether there were any.
    pub(super) fn delete(&self, kind: &str, name: &str) -> bool {
        let mut table = self.lock();
        let key = (kind.to_owned(), name.to_owned());
        let versions = table.index.remove(&key).unwrap_or_default();
        for id in &versions {
            table.versions.remove(id);
        }
        table.save();
        !versions.is_empty()
    }

    /// Deletes one version. Returns whether it existed.
    pub(super) fn delete_version(&self, id: ConfigId) -> bool {
        let mut table = self.lock();
        let Some(config) = table.versions.remove(&id) else {
            return false;
        };
        if let Some(versions) = table.index.get_mut(&config.key()) {
            versions.retain(|version| *version != id);
        }
        table.index.retain(|_, versions| !versions.is_empty());
        table.save();
        true
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn latest(&self, kind: &str, name: &str) -> Option<&Config> {
        let key = (kind.to_owned(), name.to_owned());
        self.versions.get(self.index.get(&key)?.last()?)
    }

    fn is_latest(&self, config: &Config) -> bool {
        let latest = self.latest(&config.kind, &config.name);
        latest.is_some_and(|latest| latest.id == config.id)
    }

    /// Ids are never used again, not even those of configs that were deleted.
    fn next_id(&mut self) -> ConfigId {
        let last = self.last.get_or_insert_with((), || ConfigId::NONE);
        *last = last.next();
        *last
    }

    fn save(&mut self) {
        self.last.save();
        self.versions.save();
    }
}

impl Config {
    fn key(&self) -> (String, String) {
        (self.kind.clone(), self.name.clone())
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

impl ConfigView {
    /// As the routes of before `/configs` show it.
    pub(super) fn as_properties(&self) -> Value {
        json!({"properties": self.content, "created_at": self.created_at})
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
            (Self::All, _) | (Self::TeamsAndUnowned(_), None) => true,
            (Self::Teams(_), None) => false,
            (Self::Teams(teams) | Self::TeamsAndUnowned(teams), Some(team)) => teams.contains(team),
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
