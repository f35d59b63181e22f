//! `foundation.yml`: what an operator of a sandbox writes.

use std::{
    collections::BTreeSet,
    io,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

use odb_adapter_sdk::yaml;
use secrecy::SecretString;
use semver::Version;
use serde::Deserialize;
use serde_json::Value;

use super::{built_in::FOUNDATION, credhub::scopes};
use crate::{
    cloud_controller::{ApiGeneration, BrokerBehaviour, InstanceRow, OrganizationSettings},
    credhub::{Operation, VERSION},
    director::{DirectorDurations, LocalUser, UploadedRelease, UploadedStemcell, UserManagement},
    durations,
};

#[derive(Clone, Debug, Deserialize)]
pub struct FoundationSettings {
    /// Its name, which its certificates contain.
    pub name: String,
    pub director: DirectorSection,
    pub cloud_controller: CloudControllerSection,
}

#[derive(Clone, Debug, Deserialize)]
pub struct DirectorSection {
    pub name: String,
    pub releases: Vec<UploadedRelease>,
    pub stemcells: Vec<UploadedStemcell>,
    /// The cloud config: `azs`, `vm_types`, `networks`, `disk_types`, `vm_extensions`.
    pub cloud_config: Value,
    /// Where the Director's users come from: its UAA, unless something else is said.
    #[serde(default)]
    pub user_management: UserManagementSection,
    /// The client that a broker works with: admin of one team.
    pub team_client: ClientSection,
    pub admin_client: ClientSection,
    #[serde(default)]
    pub other_clients: Vec<ClientSection>,
    /// Where the values of variables are kept.
    #[serde(default)]
    pub config_server: ConfigServerSection,
    #[serde(default)]
    pub credhub: CredHubSection,
    /// How long things take.
    #[serde(default)]
    pub durations: DirectorDurationsSection,
    /// How long tokens live.
    #[serde(default)]
    pub token_lives: TokenLivesSection,
}

/// Where the Director's users come from, as a Director's own configuration has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
pub enum UserManagementSection {
    #[default]
    Uaa,
    /// The Director knows them itself (basic authentication).
    Local { local: LocalUsersSection },
}

#[derive(Clone, Debug, Deserialize)]
pub struct LocalUsersSection {
    pub users: Vec<LocalUser>,
}

/// How long things take at the Director.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct DirectorDurationsSection {
    /// How long a task waits for the lock of its deployment.
    #[serde(deserialize_with = "durations::deserialize")]
    pub lock_wait: Duration,
    /// How long each step of an instance's update takes at least.
    #[serde(deserialize_with = "durations::deserialize")]
    pub step: Duration,
    /// How many tasks are worked on at the same time.
    pub workers: NonZeroUsize,
    /// How often the worker of a task gives a sign of life.
    #[serde(deserialize_with = "durations::deserialize")]
    pub checkpoint_interval: Duration,
    /// How long after the last sign of life a task is given up.
    #[serde(deserialize_with = "durations::deserialize")]
    pub checkpoint_timeout: Duration,
    /// How long a lock is good for when its holder does not renew it.
    #[serde(deserialize_with = "durations::deserialize")]
    pub lock_lease: Duration,
}

#[derive(Clone, Debug, Deserialize)]
pub struct CloudControllerSection {
    /// The organizations that are there from the beginning. The first space of the first one is where the user works.
    pub organizations: Vec<OrganizationSettings>,
    pub broker_client: ClientSection,
    pub admin_user: UserSection,
    /// A user who orders services.
    pub user: UserSection,
    #[serde(default)]
    pub other_clients: Vec<ClientSection>,
    #[serde(default)]
    pub other_users: Vec<UserSection>,
    #[serde(default)]
    pub credhub: CredHubSection,
    /// The pause between two polls of a broker's last operation.
    #[serde(
        default = "default_polling_interval",
        deserialize_with = "durations::deserialize"
    )]
    pub broker_polling_interval: Duration,
    /// How long to wait for a broker's answer.
    #[serde(
        default = "default_timeout",
        deserialize_with = "durations::deserialize"
    )]
    pub broker_timeout: Duration,
    /// How long an operation of a broker is polled at most.
    #[serde(
        default = "default_maximum_polling_duration",
        deserialize_with = "durations::deserialize"
    )]
    pub maximum_polling_duration: Duration,
    /// The unit of the pauses of orphan mitigation, of which the n-th is 2ⁿ units.
    #[serde(
        default = "default_mitigation_delay",
        deserialize_with = "durations::deserialize"
    )]
    pub mitigation_delay: Duration,
    /// Which generations of its API it has: `off` (v3 alone, as on today's foundations), `on`, or as earlier releases
    /// had it: `off_3_181`, `off_3_180`, `on_3_94`.
    #[serde(default)]
    pub v2: ApiGeneration,
    /// By how much each pause between two polls is longer than the one before.
    #[serde(default = "default_polling_factor")]
    pub broker_polling_factor: f64,
    /// When the row of an instance that v3 orders is there to be counted.
    #[serde(default)]
    pub instance_row: InstanceRow,
    /// How long tokens live.
    #[serde(default)]
    pub token_lives: TokenLivesSection,
}

/// Where a Director keeps the values of variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigServerSection {
    #[default]
    Credhub,
    /// Nowhere: deployments have no variables.
    #[serde(alias = "false")]
    Off,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct CredHubSection {
    pub client: ClientSection,
    pub admin_client: ClientSection,
    /// The version whose behaviour it has. Before 2 it took another form of set, and knew other permissions.
    pub version: Version,
    /// Whether permissions matter.
    pub acls: AclsSection,
    /// The initial permissions of clients, users and apps. Without them the client has all rights below `/odb` and may
    /// read the Director's variables, or has all rights below `/c`.
    pub permissions: Option<Vec<PermissionSection>>,
}

/// Whether permissions matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AclsSection {
    /// Every caller has the rights of its permissions.
    Enforced,
    /// Every authenticated caller has all rights.
    Disabled,
}

#[derive(Clone, Debug, Deserialize)]
pub struct PermissionSection {
    /// The name of a credential, or a path that ends in `/*`.
    pub path: String,
    /// Who: `uaa-client:ID`, `uaa-user:ID` or `mtls-app:GUID`.
    pub actor: String,
    pub operations: BTreeSet<Operation>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ClientSection {
    pub id: String,
    /// Its secret. Without one it gets a random one.
    pub secret: Option<SecretString>,
    pub authorities: BTreeSet<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct UserSection {
    pub name: String,
    /// The password. Without one the user gets a random one.
    pub password: Option<SecretString>,
    /// The user's groups beyond those of every user.
    #[serde(default)]
    pub groups: BTreeSet<String>,
}

/// How long tokens live.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub struct TokenLivesSection {
    #[serde(deserialize_with = "durations::deserialize")]
    pub access: Duration,
    #[serde(deserialize_with = "durations::deserialize")]
    pub refresh: Duration,
}

/// Why a `foundation.yml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("could not read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is not the configuration of a foundation", path.display())]
    Parse {
        path: PathBuf,
        #[source]
        source: yaml::Error,
    },
    #[error("`{}` has unknown keys: `{}`", path.display(), keys.join("`, `"))]
    UnknownKeys { path: PathBuf, keys: Vec<String> },
    #[error("`{}` has no space: `cloud_controller.organizations` needs one with `spaces`", path.display())]
    NoSpace { path: PathBuf },
}

impl FoundationSettings {
    /// The foundation of `manifests/sandbox/foundation.yml`, which is in the executable.
    pub fn built_in() -> Result<Self, SettingsError> {
        Self::parse(PathBuf::from("the built-in foundation.yml"), FOUNDATION)
    }

    /// Reads a file. Unknown keys are rejected, because a typo would not be noticed otherwise.
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        let path = path.to_owned();
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(path, &text),
            Err(source) => Err(SettingsError::Read { path, source }),
        }
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, SettingsError> {
        let mut keys = Vec::new();
        let read = yaml::with_deserializer(text, |deserializer| {
            serde_ignored::deserialize(deserializer, |key| keys.push(key.to_string()))
        });
        match read {
            Err(source) => Err(SettingsError::Parse { path, source }),
            Ok(_) if !keys.is_empty() => Err(SettingsError::UnknownKeys { path, keys }),
            Ok(settings) if Self::has_space(&settings) => Ok(settings),
            Ok(_) => Err(SettingsError::NoSpace { path }),
        }
    }

    fn has_space(settings: &Self) -> bool {
        settings
            .cloud_controller
            .organizations
            .first()
            .is_some_and(|first| !first.spaces.is_empty())
    }
}

impl Default for CredHubSection {
    fn default() -> Self {
        let client = |id: &str| ClientSection {
            id: id.to_owned(),
            secret: None,
            authorities: scopes(),
        };
        Self {
            client: client("odb-credhub"),
            admin_client: client("credhub-admin"),
            version: VERSION,
            acls: AclsSection::Enforced,
            permissions: None,
        }
    }
}

impl Default for DirectorDurationsSection {
    fn default() -> Self {
        let DirectorDurations {
            lock_wait,
            step,
            workers,
            checkpoint_interval,
            checkpoint_timeout,
            lock_lease,
        } = DirectorDurations::default();
        Self {
            lock_wait,
            step,
            workers,
            checkpoint_interval,
            checkpoint_timeout,
            lock_lease,
        }
    }
}

impl From<UserManagementSection> for UserManagement {
    fn from(section: UserManagementSection) -> Self {
        match section {
            UserManagementSection::Uaa => Self::Uaa,
            UserManagementSection::Local { local } => Self::Local(local.users),
        }
    }
}

impl Default for TokenLivesSection {
    fn default() -> Self {
        Self {
            access: Duration::from_hours(12),
            refresh: Duration::from_hours(720),
        }
    }
}

fn default_polling_interval() -> Duration {
    BrokerBehaviour::default().polling_interval
}

fn default_polling_factor() -> f64 {
    BrokerBehaviour::default().polling_factor
}

fn default_timeout() -> Duration {
    BrokerBehaviour::default().timeout
}

fn default_maximum_polling_duration() -> Duration {
    BrokerBehaviour::default().maximum_polling_duration
}

fn default_mitigation_delay() -> Duration {
    BrokerBehaviour::default().mitigation_delay
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../manifests/sandbox/foundation.yml"
    );

    fn load(text: &str) -> Result<FoundationSettings, SettingsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("foundation.yml");
        std::fs::write(&path, text).unwrap();
        FoundationSettings::load(&path)
    }

    #[test]
    fn the_sample_is_the_configuration_of_a_foundation() {
        let settings = FoundationSettings::load(Path::new(SAMPLE)).unwrap();

        let rights: Vec<_> = settings.director.team_client.authorities.iter().collect();
        assert_eq!(rights, ["bosh.teams.odb.admin"], "a broker needs no more");
        let releases = settings.director.releases.iter();
        assert!(
            releases
                .map(|release| &release.version)
                .eq(["7.4", "7.5", "1.0", "0.17.0"])
        );
    }

    #[test]
    fn a_key_that_means_nothing_is_refused_with_its_path() {
        let text = std::fs::read_to_string(SAMPLE).unwrap().replace(
            "admin_user:\n    name",
            "admin_user:\n    nmae: x\n    name",
        );

        let error = load(&text).unwrap_err();

        assert!(
            error
                .to_string()
                .ends_with("has unknown keys: `cloud_controller.admin_user.nmae`"),
            "{error}"
        );
    }

    #[test]
    fn a_duration_is_read_with_its_unit_and_refused_without() {
        let sample = std::fs::read_to_string(SAMPLE).unwrap();
        let lock_wait = |text: &str| {
            let (before, after) = sample.split_once("lock_wait: ").unwrap();
            let (_, after) = after.split_once('\n').unwrap();
            load(&format!("{before}lock_wait: {text}\n{after}"))
        };

        let read = lock_wait("1m 250ms").unwrap().director.durations.lock_wait;
        assert_eq!(read, Duration::from_millis(60_250));
        let SettingsError::Parse { source, .. } = lock_wait("10").unwrap_err() else {
            panic!("not refused by its type")
        };

        assert!(source.to_string().contains("not a duration"), "{source}");
    }
}
