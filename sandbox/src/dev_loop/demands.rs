//! What a `broker.yml` requires of the foundation: releases and stemcells, which can be added, and objects of the cloud
//! config, which must exist.

use serde_json::Value;

use crate::{
    cpi::JobCatalog,
    director::{Director, UploadedRelease, UploadedStemcell, Uploads},
};

/// What must be added before the plans can be deployed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Demands {
    pub(super) releases: Vec<UploadedRelease>,
    pub(super) stemcells: Vec<UploadedStemcell>,
    /// Missing objects, with the available ones.
    pub(super) errors: Vec<String>,
}

/// The lists of an instance group that name things of the cloud config, and those things.
const CLOUD_THINGS: [(&str, &str, &str); 5] = [
    ("vm_type", "vm_types", "VM type"),
    ("persistent_disk_type", "disk_types", "disk type"),
    ("vm_extensions", "vm_extensions", "VM extension"),
    ("networks", "networks", "network"),
    ("azs", "azs", "availability zone"),
];

impl Demands {
    /// Compares a `broker.yml` with what there is. Values of the wrong kind are left to the broker, which reports them.
    pub(super) fn of(document: &Value, director: &Director, jobs: &JobCatalog) -> Self {
        let mut demands = Self::default();
        let uploads = director.uploads();
        for (location, release) in entries(&document["service_deployment"]["releases"]) {
            demands.release(location, release, &uploads, jobs);
        }
        for (_, stemcell) in entries(&document["service_deployment"]["stemcells"]) {
            demands.stemcell(stemcell, &uploads);
        }
        for (plan_location, plan) in entries(&document["service_catalog"]["plans"]) {
            for (location, group) in entries(&plan["instance_groups"]) {
                let key =
                    format!("service_catalog.plans[{plan_location}].instance_groups[{location}]");
                demands.group(&key, group, director);
            }
        }
        demands
    }

    fn release(&mut self, location: usize, release: &Value, uploads: &Uploads, jobs: &JobCatalog) {
        let (Some(name), Some(version)) = (text(&release["name"]), text(&release["version"]))
        else {
            return;
        };
        if version.ends_with("latest") {
            return;
        }
        let wanted: Vec<&str> = (entries(&release["jobs"]))
            .filter_map(|(_, job)| job.as_str())
            .collect();
        let uploaded = (uploads.releases.iter())
            .find(|uploaded| uploaded.name == name && uploaded.version == version);
        let mut all = uploaded.map(|release| release.jobs.clone());
        let has = |job: &str| {
            let jobs = uploaded.map(|release| release.jobs.as_slice());
            jobs.unwrap_or_default()
                .iter()
                .any(|known| known.as_ref() == job)
        };
        if uploaded.is_some() && wanted.iter().all(|job| has(job)) {
            return;
        }
        for job in wanted.into_iter().filter(|job| !has(job)) {
            match jobs.job(job) {
                Some(job) => all.get_or_insert_default().push(job.name.clone()),
                None => self.errors.push(format!(
                    "service_deployment.releases[{location}].jobs: the sandbox knows no job `{job}`, which release \
                     `{name}` is to have; put its folder into `jobs` beside `broker.yml`, or name another with --jobs; \
                     there are {}",
                    listed(jobs.names())
                )),
            }
        }
        self.releases.push(UploadedRelease {
            name,
            version,
            jobs: all.unwrap_or_default(),
        });
    }

    fn stemcell(&mut self, stemcell: &Value, uploads: &Uploads) {
        let (Some(os), Some(version)) = (text(&stemcell["os"]), text(&stemcell["version"])) else {
            return;
        };
        let name = text(&stemcell["name"]);
        let is_there = uploads.stemcells.iter().any(|uploaded| {
            uploaded.os == os
                && uploaded.version == version
                && name.as_ref().is_none_or(|name| *name == uploaded.name)
        });
        if is_there || os.is_empty() || version.ends_with("latest") {
            return;
        }
        self.stemcells.push(UploadedStemcell {
            name: name.unwrap_or_else(|| format!("bosh-warden-boshlite-{os}-go_agent")),
            os,
            version,
        });
    }

    fn group(&mut self, key: &str, group: &Value, director: &Director) {
        for (member, list, thing) in CLOUD_THINGS {
            let there = director.names_in_cloud_configs(list);
            let asked = &group[member];
            let names = asked
                .as_array()
                .map_or_else(|| std::slice::from_ref(asked), Vec::as_slice);
            let missing = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| !name.is_empty() && !there.iter().any(|known| known == name));
            for name in missing {
                self.errors.push(format!(
                    "{key}.{member}: the foundation has no {thing} `{name}`; there are {}, and --config FILE can name \
                     others",
                    listed(&there)
                ));
            }
        }
    }
}

/// The plans to hide until an administrator enables access (`spec/contracts/config-and-release.md` §1.2,
/// `cf_service_access`).
pub(super) fn plans_to_hide(document: &Value) -> impl Iterator<Item = String> {
    entries(&document["service_catalog"]["plans"]).filter_map(|(_, plan)| {
        let access = plan["cf_service_access"].as_str()?;
        matches!(access, "disable" | "manual").then(|| text(&plan["name"]))?
    })
}

fn entries(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

/// The broker takes any scalar for a text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn listed<T: std::fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
