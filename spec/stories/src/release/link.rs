//! A link between two jobs.

use serde_json::{Value, json};

use super::Jobs;

/// A link as its consumer gets it.
#[derive(Clone, Debug)]
pub struct Link(Value);

impl Link {
    /// A link that is written into the manifest, or that a deployment of another owner provides.
    pub fn with_properties(properties: &Value) -> Self {
        Self(json!({ "properties": properties, "instances": [], "address": null }))
    }

    /// A link that a job of this release provides: it has the properties that the job's specification lists.
    pub fn provided_by(jobs: &Jobs, job: &str, link: &str, properties: &Value) -> Self {
        let provider =
            json!({ "job": jobs.folder_of(job), "link": link, "properties": properties });
        Self(json!({ "provider": provider, "instances": [], "address": null }))
    }

    /// The link `broker`, provided by a broker of this release with these properties at this address.
    pub fn to_broker(properties: &Value, address: &str) -> Self {
        Self::provided_by(&Jobs::of_project(), "broker", "broker", properties)
            .with_instance("broker", address)
    }

    /// With one more instance, which is of that instance group.
    #[must_use]
    pub fn with_instance(mut self, group: &str, address: &str) -> Self {
        let instances = self.0["instances"]
            .as_array_mut()
            .expect("links have instances");
        let index = instances.len();
        instances.push(json!({
            "name": group,
            "index": index,
            "id": format!("id-of-{group}-{index}"),
            "az": "z1",
            "address": address,
            "bootstrap": index == 0,
        }));
        self
    }

    #[must_use]
    pub fn with_address(mut self, address: &str) -> Self {
        self.0["address"] = address.into();
        self
    }

    pub(super) fn document(&self) -> &Value {
        &self.0
    }
}
