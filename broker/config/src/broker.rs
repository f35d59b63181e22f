//! The section `broker`: how the broker listens, stops and treats its requests.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{
    findings::AlreadyReported,
    section::Section,
    timings::{self, Timings},
};

/// How the broker listens, stops and treats its requests.
#[derive(Debug)]
pub struct Broker {
    /// The address to listen on. All interfaces without `bind_address`.
    pub listen: SocketAddr,
    /// The credentials of the platform and the errands.
    pub credentials: BasicCredentials,
    /// HTTPS when present.
    pub tls: Option<TlsFiles>,
    /// How long requests may finish after a signal.
    pub shutdown_timeout: Duration,
    /// Whether BOSH configs may be read and written.
    pub bosh_configs: BoshConfigs,
    /// How much of an error platform users see.
    pub error_detail: ErrorDetail,
    /// How updates of an instance with pending changes are treated.
    pub pending_changes: PendingChanges,
    /// How upgrades without changes are treated.
    pub unchanged_upgrades: UnchangedUpgrades,
    /// Whether platforms may retrieve instances.
    pub instance_fetching: InstanceFetching,
    /// Whether an order has to say for which organization and space it is.
    pub organization_and_space: OrganizationAndSpace,
    /// Whether the number of instances is reported to collectors of telemetry.
    pub usage_reports: UsageReporting,
    /// Whether backup agents may bind.
    pub backup_agent_bindings: BackupAgentBindings,
    /// Whether a name is printed at start-up.
    pub startup_banner: bool,
    /// Every duration and ceiling that is not fixed by a protocol.
    pub timings: Timings,
}

/// A name and a password.
#[derive(Debug)]
pub struct BasicCredentials {
    username: String,
    password: SecretString,
}

impl BasicCredentials {
    /// The credentials that requests have to bring.
    pub fn new(username: String, password: SecretString) -> Self {
        Self { username, password }
    }

    /// The name.
    pub fn username(&self) -> &str {
        &self.username
    }

    /// The password.
    pub fn password(&self) -> &SecretString {
        &self.password
    }

    /// Compares digests of both halves in constant time: neither a wrong name nor a length costs another time.
    pub fn admit(&self, username: &[u8], password: &[u8]) -> bool {
        let equal = |own: &[u8], given: &[u8]| {
            Sha256::digest(own)
                .as_slice()
                .ct_eq(Sha256::digest(given).as_slice())
        };
        let name = equal(self.username.as_bytes(), username);
        let word = equal(self.password.expose_secret().as_bytes(), password);
        (name & word).into()
    }
}

/// Certificate and key in PEM files, read at start-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, the broker's own first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Whether BOSH configs may be read and written (`broker.disable_bosh_configs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoshConfigs {
    /// Adapters may return configs, and operations are recorded.
    Enabled,
    /// Nothing is read, written or deleted; an adapter that returns configs fails.
    Disabled,
}

/// Whether an update may include changes of the operator (`broker.skip_check_for_pending_changes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingChanges {
    /// An instance with pending changes must be upgraded first.
    Refused,
    /// They come along.
    LetIn,
}

/// How upgrades without changes are treated (`broker.skip_unchanged_upgrades`, a key that the Go broker does not have).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnchangedUpgrades {
    /// They are deployed, as the Go broker does.
    Deployed,
    /// Nothing is submitted.
    Skipped,
}

/// Whether platforms may retrieve instances (`broker.enable_fetch_instance`, a key of our own).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceFetching {
    /// The catalog announces it, and it is answered.
    Offered,
    /// There is no such route.
    NotOffered,
}

/// Whether an order must have organization and space (`broker.require_organization_and_space`, a key of our own). The
/// specification requires both, though deprecated; the Go broker does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrganizationAndSpace {
    /// An order without them is refused.
    Required,
    /// An order may come without them.
    Optional,
}

/// Whether the number of instances is reported to collectors of telemetry (`broker.enable_telemetry`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageReporting {
    /// At the start, and when an operation has ended.
    On,
    /// Never.
    Off,
}

/// Whether backup agents may bind (`broker.support_backup_agent_binding`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupAgentBindings {
    /// The adapter is called; it may return a `backup_agent_url`.
    Supported,
    /// A request for one is refused.
    Refused,
}

/// How much of an error platform users see (`broker.expose_operational_errors`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetail {
    /// The remedy, and an id to quote.
    Hidden,
    /// The cause as well.
    Exposed,
}

/// Absent means the default of the release's job specification (`spec/contracts/config-and-release.md` §1.2).
const DEFAULT_SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) fn read(section: &Section<'_>) -> Option<Broker> {
    let port = port(section);
    let address = address(section);
    let username =
        section.required_text("username", "the name that the platform authenticates with");
    let password = section.required_text(
        "password",
        "the password that the platform authenticates with",
    );
    let tls = tls(&section.section("tls"));
    let shutdown_timeout = shutdown_timeout(section);
    let timings = timings::read(&section.section("timings"));
    let bosh_configs = section.choose(
        "disable_bosh_configs",
        BoshConfigs::Disabled,
        BoshConfigs::Enabled,
    );
    let error_detail = section.choose(
        "expose_operational_errors",
        ErrorDetail::Exposed,
        ErrorDetail::Hidden,
    );
    let pending_changes = section.choose(
        "skip_check_for_pending_changes",
        PendingChanges::LetIn,
        PendingChanges::Refused,
    );
    let unchanged_upgrades = section.choose(
        "skip_unchanged_upgrades",
        UnchangedUpgrades::Skipped,
        UnchangedUpgrades::Deployed,
    );
    let instance_fetching = section.choose(
        "enable_fetch_instance",
        InstanceFetching::Offered,
        InstanceFetching::NotOffered,
    );
    let organization_and_space = section.choose(
        "require_organization_and_space",
        OrganizationAndSpace::Required,
        OrganizationAndSpace::Optional,
    );
    let usage_reports = section.choose("enable_telemetry", UsageReporting::On, UsageReporting::Off);
    let backup_agent_bindings = section.choose(
        "support_backup_agent_binding",
        BackupAgentBindings::Supported,
        BackupAgentBindings::Refused,
    );
    let startup_banner = section.flag("startup_banner", false);
    section.warn_unknown_keys();

    Some(Broker {
        listen: SocketAddr::new(address?, port?),
        credentials: BasicCredentials::new(username?.value, password?.value.into()),
        tls: tls.ok()?,
        shutdown_timeout: shutdown_timeout?,
        bosh_configs,
        error_detail,
        pending_changes,
        unchanged_upgrades,
        instance_fetching,
        organization_and_space,
        usage_reports,
        backup_agent_bindings,
        startup_banner,
        timings: timings?,
    })
}

fn port(section: &Section<'_>) -> Option<u16> {
    match section.number("port") {
        Some(found) => match u16::try_from(found.value) {
            Ok(port) if port > 0 => Some(port),
            _ => section.refuse_value(
                &found,
                (
                    format!("is {}", found.value),
                    "a port is a number from 1 to 65535",
                ),
            ),
        },
        None if section.has_value("port") => None,
        None => section.refuse("port", ("is missing", "give a number from 1 to 65535")),
    }
}

fn address(section: &Section<'_>) -> Option<IpAddr> {
    let Some(found) = section.text("bind_address") else {
        return Some(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    };
    match found.value.parse() {
        Ok(address) => Some(address),
        Err(_) => section.refuse_value(
            &found,
            (
                format!("is `{}`", found.value),
                "give the IP address of an interface, or leave it out for all",
            ),
        ),
    }
}

pub(super) fn tls(section: &Section<'_>) -> Result<Option<TlsFiles>, AlreadyReported> {
    let certificate = section.text("cert_file");
    let key = section.text("key_file");
    section.warn_unknown_keys();
    let mut are_paths = true;
    for file in [&certificate, &key].into_iter().flatten() {
        if is_content(&file.value) {
            section.refuse_value::<(), _>(
                file,
                ("contains the PEM itself", "give the path of a file"),
            );
            are_paths = false;
        }
    }
    if !are_paths {
        return Err(AlreadyReported);
    }
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
            certificate: certificate.value.into(),
            key: key.value.into(),
        })),
        (None, None) => Ok(None),
        (certificate, _) => {
            let missing = if certificate.is_some() {
                "key_file"
            } else {
                "cert_file"
            };
            section.refuse::<()>(
                missing,
                ("is missing", "HTTPS needs `cert_file` and `key_file`"),
            );
            Err(AlreadyReported)
        }
    }
}

/// The content of a file in place of its path. It is a secret, so it is never quoted.
fn is_content(path: &str) -> bool {
    path.contains(['\n', '\r']) || path.contains("-----BEGIN")
}

fn shutdown_timeout(section: &Section<'_>) -> Option<Duration> {
    let given = section.number_within("shutdown_timeout_in_seconds", " seconds");
    let given = given.ok()?.map(Duration::from_secs);
    Some(given.unwrap_or(DEFAULT_SHUTDOWN_TIMEOUT))
}
