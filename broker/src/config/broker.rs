//! The section `broker`: how the broker listens, stops and treats its requests.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{problems::Faulty, section::Section};

/// How the broker listens, stops and treats its requests.
#[derive(Debug)]
pub struct Broker {
    /// Where requests are taken. All interfaces unless `bind_address` says otherwise.
    pub listen: SocketAddr,
    /// What the platform and the errands authenticate with.
    pub credentials: BasicCredentials,
    /// HTTPS when present.
    pub tls: Option<TlsFiles>,
    /// How long requests may finish after a signal.
    pub shutdown_timeout: Duration,
    /// Whether BOSH configs may be read and written.
    pub bosh_configs: BoshConfigs,
    /// How much of an error platform users see.
    pub error_detail: ErrorDetail,
    /// What becomes of an update of an instance that is behind what the operator offers.
    pub pending_changes: PendingChanges,
    /// Whether platforms may ask what an instance is.
    pub instance_fetching: InstanceFetching,
    /// Whether an order has to say for which organization and space it is.
    pub organization_and_space: OrganizationAndSpace,
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
    /// Adapters may return configs, and operations are remembered in markers.
    Enabled,
    /// Nothing is read, written or deleted; an adapter that returns configs fails.
    Disabled,
}

/// Whether an update may bring in what the operator has changed since (`broker.skip_check_for_pending_changes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingChanges {
    /// An instance that would change beyond what its user asks for is to be upgraded first.
    Refused,
    /// They come along.
    LetIn,
}

/// Whether platforms may ask what an instance is (`broker.enable_fetch_instance`, a key of our own).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceFetching {
    /// The catalog announces it, and it is answered.
    Offered,
    /// There is no such route.
    NotOffered,
}

/// Whether an order has to name organization and space (`broker.require_organization_and_space`, a key of our own). The
/// specification wants both, though deprecated; the Go broker never asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrganizationAndSpace {
    /// An order without them is refused.
    Required,
    /// An order may come without them.
    Optional,
}

/// How much of an error platform users see (`broker.expose_operational_errors`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetail {
    /// What to do, and an id to quote.
    Hidden,
    /// The cause as well.
    Exposed,
}

/// Every duration and ceiling that is not fixed by a protocol, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// What a request has from its arrival to its answer. The platform gives up after 60 s.
    pub request_budget: Duration,
    /// What has to be left when work is handed over: for the hand-over itself, and to look for a lost answer.
    pub submission_reserve: Duration,
    /// The first pause of a driver between two looks at a task.
    pub first_look: Duration,
    /// The longest pause of a driver between two looks at a task.
    pub longest_look: Duration,
    /// How long a driver waits for one answer of the Director.
    pub driver_call: Duration,
    /// The first pause of a driver after a call that failed.
    pub first_retry: Duration,
    /// The longest pause of a driver after a call that failed.
    pub longest_retry: Duration,
    /// How long a lost answer to a submission is looked for among the Director's tasks.
    pub lost_answer: Duration,
    /// What taking back may cost beyond the request's own time.
    pub taking_back: Duration,
    /// How long an ended operation is remembered here; afterwards its marker tells.
    pub remembered: Duration,
    /// How long the Cloud Controller's ids of the offering's plans are believed. Shorter than `remembered`: orders under
    /// ids that are not known yet are remembered here until those are learned.
    pub plans_believed: Duration,
    /// How long each neighbour may take at start-up.
    pub start_up: Duration,
    /// How many adapter processes run at once; more wait their turn.
    pub adapter_processes: usize,
    /// How many submissions to the Director are under way at once; more wait their turn.
    pub submissions: usize,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            request_budget: Duration::from_secs(55),
            submission_reserve: Duration::from_secs(15),
            first_look: Duration::from_millis(250),
            longest_look: Duration::from_secs(5),
            driver_call: Duration::from_secs(30),
            first_retry: Duration::from_millis(500),
            longest_retry: Duration::from_secs(30),
            lost_answer: Duration::from_secs(10),
            taking_back: Duration::from_secs(4),
            remembered: Duration::from_hours(1),
            plans_believed: Duration::from_mins(10),
            start_up: Duration::from_secs(30),
            adapter_processes: 64,
            submissions: 16,
        }
    }
}

/// Absent means what the release's job specification says (`spec/contracts/config-and-release.md` §1.2).
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
    let timings = timings(&section.section("timings"));
    refuse_what_is_not_offered(section);
    let bosh_configs = if section.flag("disable_bosh_configs", false) {
        BoshConfigs::Disabled
    } else {
        BoshConfigs::Enabled
    };
    let error_detail = if section.flag("expose_operational_errors", false) {
        ErrorDetail::Exposed
    } else {
        ErrorDetail::Hidden
    };
    let pending_changes = if section.flag("skip_check_for_pending_changes", false) {
        PendingChanges::LetIn
    } else {
        PendingChanges::Refused
    };
    let instance_fetching = if section.flag("enable_fetch_instance", false) {
        InstanceFetching::Offered
    } else {
        InstanceFetching::NotOffered
    };
    let organization_and_space = if section.flag("require_organization_and_space", false) {
        OrganizationAndSpace::Required
    } else {
        OrganizationAndSpace::Optional
    };
    let startup_banner = section.flag("startup_banner", false);
    section.ignore(&[
        "disable_cf_startup_checks",
        "disable_ssl_cert_verification",
        "enable_optimised_upgrades",
    ]);
    section.remark_unknown_keys();

    Some(Broker {
        listen: SocketAddr::new(address?, port?),
        credentials: BasicCredentials::new(username?.value, password?.value.into()),
        tls: tls.ok()?,
        shutdown_timeout: shutdown_timeout?,
        bosh_configs,
        error_detail,
        pending_changes,
        instance_fetching,
        organization_and_space,
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
                format!("is {}; a port is a number from 1 to 65535", found.value),
            ),
        },
        None if section.has_value("port") => None,
        None => section.refuse("port", "is missing; give a number from 1 to 65535"),
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
            format!(
                "is `{}`; give the IP address of an interface, or leave it out for all",
                found.value
            ),
        ),
    }
}

fn tls(section: &Section<'_>) -> Result<Option<TlsFiles>, Faulty> {
    let certificate = section.text("cert_file");
    let key = section.text("key_file");
    section.remark_unknown_keys();
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
                "is missing; HTTPS needs `cert_file` and `key_file`",
            );
            Err(Faulty)
        }
    }
}

fn shutdown_timeout(section: &Section<'_>) -> Option<Duration> {
    let Some(found) = section.number("shutdown_timeout_in_seconds") else {
        return Some(DEFAULT_SHUTDOWN_TIMEOUT);
    };
    match u64::try_from(found.value) {
        Ok(seconds) if seconds <= 3600 => Some(Duration::from_secs(seconds)),
        _ => section.refuse_value(
            &found,
            format!("is {}; give 0 to 3600 seconds", found.value),
        ),
    }
}

fn timings(section: &Section<'_>) -> Option<Timings> {
    let mut timings = Timings::default();
    let budget = section.number("request_budget_in_seconds");
    let processes = section.number("adapter_processes");
    let lost_answer = section.number("lost_answer_in_seconds");
    section.remark_unknown_keys();
    if let Some(found) = budget {
        match u64::try_from(found.value) {
            Ok(seconds @ 1..=55) => timings.request_budget = Duration::from_secs(seconds),
            _ => {
                return section.refuse_value(
                    &found,
                    format!(
                        "is {}; give 1 to 55 seconds, for the platform gives up after 60",
                        found.value
                    ),
                );
            }
        }
    }
    if let Some(found) = processes {
        match usize::try_from(found.value) {
            Ok(count @ 1..=1024) => timings.adapter_processes = count,
            _ => {
                return section.refuse_value(&found, format!("is {}; give 1 to 1024", found.value));
            }
        }
    }
    if let Some(found) = lost_answer {
        match u64::try_from(found.value) {
            Ok(seconds @ 1..=60) => timings.lost_answer = Duration::from_secs(seconds),
            _ => {
                return section
                    .refuse_value(&found, format!("is {}; give 1 to 60 seconds", found.value));
            }
        }
    }
    timings.submission_reserve = timings.submission_reserve.min(timings.request_budget / 4);
    Some(timings)
}

/// Switches of the Go broker whose features are not there yet.
fn refuse_what_is_not_offered(section: &Section<'_>) {
    for (key, offered, what) in [
        ("enable_secure_manifests", false, "secure manifests"),
        ("enable_telemetry", false, "telemetry"),
        (
            "support_backup_agent_binding",
            false,
            "backup agent bindings",
        ),
    ] {
        if let Some(found) = section.optional_flag(key)
            && found.value != offered
        {
            section.refuse_value::<(), _>(
                &found,
                format!(
                    "is {}; this version does not offer {what}, give `{offered}`",
                    found.value
                ),
            );
        }
    }
}
