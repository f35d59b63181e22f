use odb_adapter_sdk::manifest::{FreeMap, Manifest, Release};
use serde_json::Value;

/// What is kept of the manifest deployed last, because it was chosen or made once and is never told
/// again.
#[derive(Debug)]
pub(crate) struct Previous {
    /// The properties under `redis`.
    redis: FreeMap,
    /// VM extensions of the instance group that Redis runs in.
    pub(crate) vm_extensions: Option<Vec<String>>,
    /// Releases that were deployed.
    pub(crate) releases: Vec<Release>,
}

impl Previous {
    /// Looks into the instance group of that name, or the first one if it was called otherwise.
    pub(crate) fn of(manifest: Manifest, group_name: &str) -> Self {
        let group = manifest
            .instance_group(group_name)
            .or(manifest.instance_groups.first())
            .cloned();
        let (redis, vm_extensions) = match group {
            Some(group) => {
                let job = group.job("redis-server").or(group.jobs.first());
                let properties = job
                    .and_then(|job| job.properties.as_ref())
                    .or(group.properties.as_ref());
                let redis = properties.and_then(|properties| properties.get("redis")?.as_object());
                (
                    redis.cloned().unwrap_or_default(),
                    group.vm_extensions.clone(),
                )
            }
            None => (FreeMap::new(), None),
        };
        Self {
            redis,
            vm_extensions,
            releases: manifest.releases,
        }
    }

    /// A property of Redis.
    pub(crate) fn property(&self, name: &str) -> Option<&Value> {
        self.redis.get(name)
    }

    /// A property of Redis that is a string with something in it.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.property(name)?
            .as_str()
            .filter(|text| !text.is_empty())
    }
}
