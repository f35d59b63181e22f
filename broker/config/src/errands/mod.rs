//! The configuration files of the errands, read in the same way as `broker.yml`: the same values, the same errors with
//! file, line, column and key. Keys are those of `spec/contracts/errands.md` §1.5.

mod fleet;
#[cfg(test)]
mod tests;

use std::{num::NonZeroUsize, path::Path, time::Duration};

use odb_api_types::ids::OfferingId;
use secrecy::SecretString;

pub use fleet::{DirectorAddress, Fleet, RunSettings};

use super::{
    Address, CloudFoundry, InvalidConfig, LoadError, Loaded, Paths, Verification, cloud_foundry,
    findings::{AlreadyReported, Problems},
    inspection::read_map,
    keys::{FILES, Keys},
    read_file,
    section::{Section, Variables, of_this_process},
};

fn load<T>(
    file: &Path,
    keys: &'static Keys,
    read: fn(&Section<'_>) -> Option<T>,
) -> Result<Loaded<T>, LoadError> {
    Ok(parse(file, &read_file(file)?, keys, read)?)
}

fn parse<T>(
    file: &Path,
    source: &str,
    keys: &'static Keys,
    read: fn(&Section<'_>) -> Option<T>,
) -> Result<Loaded<T>, InvalidConfig> {
    let problems = Problems::of(file);
    let variables: Variables = of_this_process;
    let about = (&problems, Paths::OfThisMachine, variables);
    let (config, _) = read_map(source, about, (keys, ""), |root| {
        let config = read(root);
        root.warn_unknown_keys();
        config
    });
    let (findings, warnings) = problems.into_parts();
    match config.flatten() {
        Some(config) if findings.is_empty() => Ok(Loaded { config, warnings }),
        _ => Err(InvalidConfig { findings, warnings }),
    }
}

/// The broker, as an errand reaches it.
#[derive(Debug)]
pub struct BrokerApi {
    /// Its address.
    pub url: Address,
    /// `broker.username` of its configuration.
    pub username: String,
    /// `broker.password` of its configuration.
    pub password: SecretString,
    /// A trust root beside the operating system's.
    pub ca_cert: Option<String>,
    /// Whether its certificate is verified.
    pub verification: Verification,
}

/// The Go errands' message when one of the three is missing; ours adds the location.
const BROKER_ACCESS: &str =
    "is missing: the brokerUsername, brokerPassword and brokerUrl are required to function";

/// Reads `broker_api`, which must be there.
fn broker_api(root: &Section<'_>) -> Option<BrokerApi> {
    let section = root.section("broker_api");
    let required = |section: &Section<'_>, key| match section.text(key) {
        None if !section.has_value(key) => section.refuse(key, (BROKER_ACCESS, "")),
        found => found,
    };
    let url = required(&section, "url").and_then(|found| Address::read(&section, found));
    let authentication = section.section("authentication");
    let basic = authentication.section("basic");
    let username = required(&basic, "username");
    let password = required(&basic, "password");
    let tls = section.section("tls");
    let ca_cert = tls.plain_text("ca_cert");
    let verification = Verification::read([&tls]);
    for section in [&section, &authentication, &basic, &tls] {
        section.warn_unknown_keys();
    }
    Some(BrokerApi {
        url: url?,
        username: username?.value,
        password: password?.value.into(),
        ca_cert,
        verification,
    })
}

/// Reads `cf`, which must be there. Verification is also switched at the top of some files.
fn required_cloud_foundry(root: &Section<'_>) -> Option<CloudFoundry> {
    let text = ("is missing", "give `url`, `uaa.url` and credentials");
    let access = cloud_foundry(root).ok()?;
    access.or_else(|| root.refuse("cf", text))
}

/// Reads `cf`, which may be missing: a file that was rendered without one has all keys, with nulls.
fn cloud_foundry(root: &Section<'_>) -> Result<Option<CloudFoundry>, AlreadyReported> {
    let section = root.section("cf");
    let uaa = section.section("uaa");
    let is_empty =
        !section.has_value("url") && !section.has_value("root_ca_cert") && !uaa.holds_a_value();
    let has_switch = root.declares("disable_ssl_cert_verification");
    let verification = Verification::read([&section].into_iter().chain(has_switch.then_some(root)));
    if is_empty {
        return Ok(None);
    }
    let (url, root_ca_cert, uaa_url) = cloud_foundry::servers(&section, &uaa);
    let authentication = uaa.section("authentication");
    let credentials = cloud_foundry::credentials(&authentication, |section| {
        let wrong = "is not used beside `client_credentials`";
        section.warning("user_credentials", (wrong, "give one of the two"));
        Some(())
    });
    uaa.warn_unknown_keys();
    section.warn_unknown_keys();
    let complete = || {
        Some(CloudFoundry {
            url: url?,
            root_ca_cert,
            verification,
            uaa_url: uaa_url?,
            credentials: credentials?,
            client_definition: None,
            skips_checks: false,
        })
    };
    complete().map(Some).ok_or(AlreadyReported)
}

/// The configuration of an errand that calls only the broker.
#[derive(Debug)]
pub struct BrokerOnly {
    /// The broker.
    pub broker_api: BrokerApi,
}

impl BrokerOnly {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &FILES.broker_only, |root| {
            let broker_api = broker_api(root)?;
            Some(Self { broker_api })
        })
    }
}

/// The configuration of `register-broker`.
#[derive(Debug)]
pub struct RegisterBroker {
    /// The broker's name in the Cloud Controller.
    pub broker_name: String,
    /// The Cloud Controller's user at the broker.
    pub broker_username: String,
    /// The same.
    pub broker_password: SecretString,
    /// Where the Cloud Controller reaches the broker.
    pub broker_url: Address,
    /// The Cloud Controller.
    pub cloud_foundry: CloudFoundry,
    /// The offering in the broker's catalog.
    pub offering: OfferingId,
    /// The access to each plan, in the order of the file.
    pub plans: Vec<RegisteredPlan>,
}

/// The access to a plan.
#[derive(Debug)]
pub struct RegisteredPlan {
    /// The plan's name in the catalog.
    pub name: String,
    /// The access.
    pub access: PlanAccess,
}

/// The access to a plan (`cf_service_access`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanAccess {
    /// All organizations.
    Enable,
    /// No organization.
    Disable,
    /// The access stays as it is.
    Manual,
    /// These organizations, by their names; one at least.
    OrgRestricted(Vec<String>),
}

/// The configuration of `deregister-broker`.
#[derive(Debug)]
pub struct DeregisterBroker {
    /// The Cloud Controller.
    pub cloud_foundry: CloudFoundry,
    /// The broker's name in the Cloud Controller, unless a flag gives it.
    pub broker_name: Option<String>,
}

impl RegisterBroker {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &FILES.register_broker, register_broker)
    }
}

impl DeregisterBroker {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &FILES.deregister_broker, |root| {
            Some(Self {
                cloud_foundry: required_cloud_foundry(root)?,
                broker_name: root.plain_text("broker_name"),
            })
        })
    }
}

fn register_broker(root: &Section<'_>) -> Option<RegisterBroker> {
    let broker_name = root.required_text("broker_name", "the broker's name in the platform");
    let right = "the name that the platform gives the broker";
    let broker_username = root.required_text("broker_username", right);
    let right = "the password that the platform gives the broker";
    let broker_password = root.required_text("broker_password", right);
    let right = "the broker's address, such as `https://broker.example.com`";
    let broker_url = Address::required(root, "broker_url", right);
    let cloud_foundry = required_cloud_foundry(root);
    let right = "the offering's id in the broker's catalog";
    let offering = root.required_text("service_offering_id", right);
    let plans = root.each("plans", plan);
    Some(RegisterBroker {
        broker_name: broker_name?.value,
        broker_username: broker_username?.value,
        broker_password: broker_password?.value.into(),
        broker_url: broker_url?,
        cloud_foundry: cloud_foundry?,
        offering: offering?.value.into(),
        plans: plans?,
    })
}

fn plan(section: &Section<'_>) -> Option<RegisteredPlan> {
    let name = section.required_text("name", "the plan's name in the catalog");
    let access = access(section);
    section.warn_unknown_keys();
    Some(RegisteredPlan {
        name: name?.value,
        access: access?,
    })
}

/// The Go errand treats unknown values as `disable`, so a typo removes the plan's access.
fn access(section: &Section<'_>) -> Option<PlanAccess> {
    let right = "give `enable`, `disable`, `manual` or `org-restricted`";
    let organizations = organizations(section);
    let Some(found) = section.text("cf_service_access") else {
        if section.has_value("cf_service_access") {
            return None;
        }
        return section.refuse("cf_service_access", ("is missing", right));
    };
    let word = found.value.to_ascii_lowercase().replace('_', "-");
    let access = match word.as_str() {
        "enable" => PlanAccess::Enable,
        "disable" => PlanAccess::Disable,
        "manual" => PlanAccess::Manual,
        "org-restricted" if organizations.is_empty() => {
            let right = "give the name of the organization that may use the plan";
            return section.refuse("service_access_org", ("is missing", right));
        }
        "org-restricted" => return Some(PlanAccess::OrgRestricted(organizations)),
        other => return section.refuse_value(&found, (format!("is `{other}`"), right)),
    };
    if !organizations.is_empty() {
        let wrong = format!("names organizations, which `{word}` does not look at");
        section.warn_here((wrong, "give `org-restricted`"));
    }
    Some(access)
}

/// The Go errand supports one organization for each plan; duplicates are removed.
fn organizations(section: &Section<'_>) -> Vec<String> {
    let mut organizations = Vec::new();
    let one = section.text("service_access_org");
    for found in one.into_iter().chain(section.texts("service_access_orgs")) {
        if !organizations.contains(&found.value) {
            organizations.push(found.value);
        }
    }
    organizations
}

/// The configuration of the errands that delete all service instances.
#[derive(Debug)]
pub struct Deletion {
    /// The Cloud Controller.
    pub cloud_foundry: CloudFoundry,
    /// The broker's name in the Cloud Controller, unless a flag gives it.
    pub broker_name: Option<String>,
    /// The offering whose instances are deleted.
    pub offering: OfferingId,
    /// The pause between two polls of a deletion.
    pub polling_interval: Duration,
    /// From the request to the first look.
    pub polling_initial_offset: Duration,
    /// How many instances are deleted at once.
    pub max_in_flight: NonZeroUsize,
    /// The time for one instance.
    pub give_up_after: Duration,
}

const MAX_IN_FLIGHT: NonZeroUsize = NonZeroUsize::new(10).expect("ten is more than nothing");
const GIVE_UP_AFTER: Duration = Duration::from_hours(4);

impl Deletion {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &FILES.deletion, deletion)
    }
}

fn deletion(root: &Section<'_>) -> Option<Deletion> {
    let cloud_foundry = required_cloud_foundry(root);
    let catalog = root.section("service_catalog");
    let right = "the offering's id in the broker's catalog";
    let offering = catalog.required_text("id", right);
    catalog.warn_unknown_keys();
    let broker_name = root.plain_text("broker_name");
    let seconds = |key| {
        root.number_within(key, " seconds")
            .map(Option::unwrap_or_default)
    };
    let polling_interval = seconds("polling_interval");
    let polling_initial_offset = seconds("polling_initial_offset");
    let max_in_flight = root.number_within("max_in_flight", " service instances");
    let give_up_after = root.number_within("give_up_after", " seconds");
    Some(Deletion {
        cloud_foundry: cloud_foundry?,
        broker_name,
        offering: offering?.value.into(),
        polling_interval: Duration::from_secs(polling_interval.ok()?),
        polling_initial_offset: Duration::from_secs(polling_initial_offset.ok()?),
        max_in_flight: max_in_flight
            .ok()?
            .and_then(|number| NonZeroUsize::new(usize::try_from(number).ok()?))
            .unwrap_or(MAX_IN_FLIGHT),
        give_up_after: give_up_after
            .ok()?
            .map_or(GIVE_UP_AFTER, Duration::from_secs),
    })
}
