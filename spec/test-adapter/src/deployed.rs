use odb_adapter_sdk::manifest::{InstanceGroup, JobProperty, Manifest};
use serde_json::Value;

pub(crate) const REDIS: &str = "redis-server";

/// The values of a deployed instance that were chosen or generated once and are not sent again.
#[derive(Debug)]
pub(crate) struct Deployed {
    pub(crate) manifest: Manifest,
    group: String,
    job: String,
}

impl Deployed {
    /// Looks into the instance group of that name, or the first one if it was called otherwise.
    pub(crate) fn new(manifest: Manifest, group_name: &str) -> Self {
        let group = manifest
            .instance_group(group_name)
            .or(manifest.instance_groups.first());
        let job = group.and_then(|group| group.job(REDIS).or(group.jobs.first()));
        Self {
            group: group.map(|group| group.name.clone()).unwrap_or_default(),
            job: job.map(|job| job.name.clone()).unwrap_or_default(),
            manifest,
        }
    }

    pub(crate) fn address<'n>(&'n self, pointer: &'n str) -> JobProperty<'n> {
        JobProperty::new(&self.group, &self.job, pointer)
    }

    pub(crate) fn property(&self, name: &str) -> Option<&Value> {
        let pointer = format!("/redis/{name}");
        self.manifest.job_property(&self.group, &self.job, &pointer)
    }

    /// A property of Redis that is a string with something in it.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.property(name)?.as_str();
        text.filter(|text| !text.is_empty())
    }

    pub(crate) fn instance_group(&self) -> Option<&InstanceGroup> {
        self.manifest.instance_group(&self.group)
    }
}
