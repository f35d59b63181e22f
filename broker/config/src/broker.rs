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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the file"
)]
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
    /// Updates let pending changes of the operator come along; else such an instance must be upgraded first.
    pub skips_pending_changes_check: bool,
    /// Upgrades without changes are not submitted, a key of our own; the Go broker deploys them.
    pub skips_unchanged_upgrades: bool,
    /// Platforms may retrieve instances, as the catalog announces, a key of our own.
    pub instances_retrievable: bool,
    /// An order must have organization and space, a key of our own. The specification requires both, though deprecated;
    /// the Go broker does not.
    pub requires_organization_and_space: bool,
    /// The number of instances is reported to collectors of telemetry, at the start and when an operation has ended.
    pub reports_usage: bool,
    /// Backup agents may bind: the adapter is called, and may return a `backup_agent_url`.
    pub backup_agent_bindings: bool,
    /// A name is printed at the start.
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

/// How much of an error platform users see (`broker.expose_operational_errors`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetail {
    /// The remedy, and an id to quote.
    Hidden,
    /// The cause as well.
    Exposed,
}

pub(super) fn read(section: &Section<'_>) -> Option<Broker> {
    let (port, address) = (port(section), address(section));
    let right = "the name that the platform authenticates with";
    let username = section.required_text("username", right);
    let right = "the password that the platform authenticates with";
    let password = section.required_text("password", right);
    let tls = tls(&section.section("tls"));
    let shutdown_timeout = section.number_or_default("shutdown_timeout_in_seconds", " seconds");
    let timings = timings::read(&section.section("timings"));
    let (disabled, enabled) = (BoshConfigs::Disabled, BoshConfigs::Enabled);
    let (exposed, hidden) = (ErrorDetail::Exposed, ErrorDetail::Hidden);
    section.warn_unknown_keys();
    // The switches come first: what is missing below ends the reading.
    Some(Broker {
        bosh_configs: section.choose("disable_bosh_configs", disabled, enabled),
        error_detail: section.choose("expose_operational_errors", exposed, hidden),
        skips_pending_changes_check: section.flag("skip_check_for_pending_changes"),
        skips_unchanged_upgrades: section.flag("skip_unchanged_upgrades"),
        instances_retrievable: section.flag("enable_fetch_instance"),
        requires_organization_and_space: section.flag("require_organization_and_space"),
        reports_usage: section.flag("enable_telemetry"),
        backup_agent_bindings: section.flag("support_backup_agent_binding"),
        startup_banner: section.flag("startup_banner"),
        listen: SocketAddr::new(address?, port?),
        credentials: BasicCredentials::new(username?.value, password?.value.into()),
        tls: tls.ok()?,
        shutdown_timeout: Duration::from_secs(shutdown_timeout?),
        timings: timings?,
    })
}

fn port(section: &Section<'_>) -> Option<u16> {
    let Some(found) = section.number("port") else {
        return if section.has_value("port") {
            None
        } else {
            section.refuse("port", ("is missing", "give a number from 1 to 65535"))
        };
    };
    let port = u16::try_from(found.value).ok().filter(|port| *port > 0);
    let text = (
        format!("is {}", found.value),
        "a port is a number from 1 to 65535",
    );
    port.or_else(|| section.refuse_value(&found, text))
}

fn address(section: &Section<'_>) -> Option<IpAddr> {
    let Some(found) = section.text("bind_address") else {
        return Some(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    };
    let right = "give the IP address of an interface, or leave it out for all";
    let address = found.value.parse().ok();
    address.or_else(|| section.refuse_value(&found, (found.quoted(), right)))
}

pub(super) fn tls(section: &Section<'_>) -> Result<Option<TlsFiles>, AlreadyReported> {
    let certificate = section.text("cert_file");
    let key = section.text("key_file");
    section.warn_unknown_keys();
    let mut are_paths = true;
    for file in [&certificate, &key].into_iter().flatten() {
        if is_content(&file.value) {
            let text = ("contains the PEM itself", "give the path of a file");
            section.refuse_value::<(), _>(file, text);
            are_paths = false;
        }
    }
    if !are_paths {
        return Err(AlreadyReported);
    }
    let missing = match (certificate, key) {
        (Some(certificate), Some(key)) => {
            return Ok(Some(TlsFiles {
                certificate: certificate.value.into(),
                key: key.value.into(),
            }));
        }
        (None, None) => return Ok(None),
        (Some(_), None) => "key_file",
        (None, Some(_)) => "cert_file",
    };
    let text = ("is missing", "HTTPS needs `cert_file` and `key_file`");
    section.refuse::<()>(missing, text);
    Err(AlreadyReported)
}

/// The content of a file in place of its path. It is a secret, so it is never quoted.
fn is_content(path: &str) -> bool {
    path.contains(['\n', '\r']) || path.contains("-----BEGIN")
}
