//! The files of `upgrade-all-service-instances` and `recreate-all-service-instances`.

use std::{num::NonZeroUsize, path::Path, time::Duration};

use odb_rollout::FailureBudget;

use super::{BrokerApi, LoadError, Loaded, broker_api, cloud_foundry, load};
use crate::{Address, CloudFoundry, keys::FILES, section::Section};

/// The configuration of the errands that operate on every service instance.
#[derive(Debug)]
pub struct Fleet {
    /// The broker.
    pub broker_api: BrokerApi,
    /// The Cloud Controller, unless the section is empty.
    pub cloud_foundry: Option<CloudFoundry>,
    /// Whether the catalog has `maintenance_info`, from which the Cloud Controller knows what to upgrade.
    pub maintenance_info_present: bool,
    /// The pause between two polls of an operation.
    pub polling_interval: Duration,
    /// Between two attempts at instances that were busy.
    pub attempt_interval: Duration,
    /// How often an instance that is busy is tried.
    pub attempt_limit: NonZeroUsize,
    /// How long the broker may take for an answer; as long as it likes without.
    pub request_timeout: Option<Duration>,
    /// How many operations run at once.
    pub max_in_flight: NonZeroUsize,
    /// How many instances go first.
    pub canaries: usize,
    /// Which instances may go first, by the name of the parameter.
    pub canary_selection: Vec<(String, String)>,
    /// The Director, where the file names it.
    pub director: Option<DirectorAddress>,
    /// Options that the Go errands do not have.
    pub run: RunSettings,
}

/// The address of a Director, for its public version.
#[derive(Debug)]
pub struct DirectorAddress {
    /// Its address.
    pub url: Address,
    /// A trust root beside the operating system's.
    pub root_ca_cert: Option<String>,
}

/// Options of a run that the Go errands do not have.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the file and on the command line"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSettings {
    /// Continues the last run unless it has succeeded.
    pub continues: bool,
    /// Retries the instances that failed in that run.
    pub retries_failed: bool,
    /// A run that another process carries out is taken over.
    pub takes_over: bool,
    /// A new run does not replace an earlier one that has not succeeded. The errands replace it, like the Go errands.
    pub keeps_unfinished: bool,
    /// Instances that are up to date are skipped. The Go errand visits every instance, and so does the file.
    pub only_outdated: bool,
    /// Nothing is changed.
    pub is_dry: bool,
    /// The number of failures after which the run starts no further instance.
    pub max_failures: Option<FailureBudget>,
    /// Whether the next instances start only if the finished ones are healthy.
    pub has_health_gate: bool,
    /// How many instances are processed between two health checks.
    pub wave: Option<u32>,
    /// How long instances may take to become healthy.
    pub health_timeout: Option<Duration>,
    /// For how long calls that get no answer are repeated.
    pub answer_timeout: Option<Duration>,
    /// Only instances of these plans, by name or id; of all if there are none.
    pub plans: Vec<String>,
    /// Only instances of these organizations, by name or guid; of all if there are none.
    pub organizations: Vec<String>,
    /// Only instances in these spaces, by name or guid; in all if there are none.
    pub spaces: Vec<String>,
    /// Only these instances; all if there are none.
    pub instances: Vec<String>,
    /// Not these: instances, plans, spaces or organizations, by name or id.
    pub excluded: Vec<String>,
}

impl Fleet {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &FILES.fleet, read)
    }
}

pub(super) fn read(root: &Section<'_>) -> Option<Fleet> {
    let broker_api = broker_api(root);
    let cloud_foundry = cloud_foundry(root);
    let maintenance_info_present = root.flag("maintenance_info_present");
    let polling_interval = above_zero(root, "polling_interval", "pollingInterval");
    let attempt_interval = above_zero(root, "attempt_interval", "attemptInterval");
    let attempt_limit = above_zero(root, "attempt_limit", "attempt limit");
    let max_in_flight = above_zero(root, "max_in_flight", "max in flight");
    let request_timeout = root.number_within("request_timeout", " seconds");
    let canaries = canaries(root);
    let mut canary_selection = root.text_map("canary_selection_params");
    canary_selection.sort();
    let director = director(&root.section("bosh"));
    let run = run(&root.section("run"));
    Some(Fleet {
        broker_api: broker_api?,
        cloud_foundry: cloud_foundry.ok()?,
        maintenance_info_present,
        polling_interval: Duration::from_secs(polling_interval?.get() as u64),
        attempt_interval: Duration::from_secs(attempt_interval?.get() as u64),
        attempt_limit: attempt_limit?,
        request_timeout: request_timeout
            .ok()?
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs),
        max_in_flight: max_in_flight?,
        canaries: canaries?,
        canary_selection,
        director,
        run: run?,
    })
}

/// The release renders the section with nulls if it is not needed.
fn director(section: &Section<'_>) -> Option<DirectorAddress> {
    let root_ca_cert = section.plain_text("root_ca_cert");
    let url = section.text("url");
    section.warn_unknown_keys();
    Some(DirectorAddress {
        url: Address::read(section, url?)?,
        root_ca_cert,
    })
}

fn run(section: &Section<'_>) -> Option<RunSettings> {
    let max_failures = section.text("max_failures").map(|found| {
        let budget: Result<FailureBudget, _> = found.value.parse();
        budget.map_err(|error| {
            let text = (found.quoted(), error.to_string());
            section.refuse_value::<(), _>(&found, text);
        })
    });
    let seconds = |key| {
        let found = section.number_within(key, " seconds");
        found.map(|found| found.map(Duration::from_secs))
    };
    let (health_timeout, answer_timeout) = (seconds("health_timeout"), seconds("answer_timeout"));
    let wave = section.number_within("wave", " instances");
    section.warn_unknown_keys();
    // The switches and lists come first: what is wrong below ends the reading.
    Some(RunSettings {
        continues: section.flag("continue"),
        retries_failed: section.flag("retry_failed"),
        takes_over: false,
        keeps_unfinished: false,
        only_outdated: false,
        is_dry: section.flag("dry_run"),
        has_health_gate: section.flag("health_gate"),
        plans: section.plain_texts("plans"),
        organizations: section.plain_texts("organizations"),
        spaces: section.plain_texts("spaces"),
        instances: section.plain_texts("instances"),
        excluded: section.plain_texts("exclude"),
        max_failures: max_failures.transpose().ok()?,
        wave: wave.ok()?.and_then(|wave| u32::try_from(wave).ok()),
        health_timeout: health_timeout.ok()?,
        answer_timeout: answer_timeout.ok()?,
    })
}

/// A required number above zero. The remedy is the Go errand's text, with its own name for the key.
fn above_zero(root: &Section<'_>, key: &str, name: &str) -> Option<NonZeroUsize> {
    let right = format!("the {name} must be greater than zero");
    match root.number(key) {
        None if root.has_value(key) => None,
        None => root.refuse(key, ("is missing", right)),
        Some(found) => {
            let number = usize::try_from(found.value)
                .ok()
                .and_then(NonZeroUsize::new);
            number.or_else(|| root.refuse_value(&found, (format!("is {}", found.value), right)))
        }
    }
}

fn canaries(root: &Section<'_>) -> Option<usize> {
    let Some(found) = root.number("canaries") else {
        return (!root.has_value("canaries")).then_some(0);
    };
    let right = "the number of canaries cannot be negative";
    let canaries = usize::try_from(found.value).ok();
    canaries.or_else(|| root.refuse_value(&found, (format!("is {}", found.value), right)))
}
