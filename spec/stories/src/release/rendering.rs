//! A job that is to be rendered.

use serde_json::{Map, Value, json};

use super::{Jobs, Link, Rejection, Rendered, ruby};

#[derive(Clone, Debug)]
pub struct Rendering {
    job: String,
    document: Value,
}

impl Rendering {
    /// A job of this project's release, without properties so far.
    pub fn of(job: &str) -> Self {
        Jobs::of_project().rendering(job)
    }

    pub(super) fn new(jobs: &Jobs, job: &str) -> Self {
        let instance = json!({
            "deployment": "lumen-broker",
            "name": "broker",
            "job": { "name": "broker" },
            "index": 0,
            "id": "id-of-broker-0",
            "az": "z1",
            "bootstrap": true,
            "ip": "10.0.16.4",
            "address": "10.0.16.4",
            "networks": { "services": { "ip": "10.0.16.4" } },
        });
        Self {
            job: job.to_owned(),
            document: json!({
                "job": jobs.folder_of(job),
                "properties": {},
                "links": {},
                "spec": instance,
            }),
        }
    }

    #[must_use]
    pub fn properties(mut self, properties: Value) -> Self {
        self.document["properties"] = properties;
        self
    }

    /// With one property changed; `name` has dots between its parts. Null takes it away.
    #[must_use]
    pub fn property(mut self, name: &str, value: Value) -> Self {
        let mut at = &mut self.document["properties"];
        for part in name.split('.') {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[part];
        }
        *at = value;
        self
    }

    #[must_use]
    pub fn link(mut self, name: &str, link: &Link) -> Self {
        self.document["links"][name] = link.document().clone();
        self
    }

    /// On another instance: members of `spec` that differ, as `deployment`, `name`, `index`, `address`.
    #[must_use]
    pub fn on(mut self, instance: &Value) -> Self {
        let members = instance.as_object().expect("an instance has members");
        for (name, value) in members {
            self.document["spec"][name] = value.clone();
        }
        self.document["spec"]["job"] = json!({ "name": self.document["spec"]["name"] });
        self
    }

    pub fn render(self) -> Result<Rendered, Rejection> {
        render_all([self]).remove(0)
    }

    pub(super) fn job(&self) -> &str {
        &self.job
    }

    pub(super) fn document(&self) -> &Value {
        &self.document
    }
}

/// Renders many at once, in one process of Ruby. The outcomes are in the order of the renderings.
pub fn render_all(
    renderings: impl IntoIterator<Item = Rendering>,
) -> Vec<Result<Rendered, Rejection>> {
    let renderings = Vec::from_iter(renderings);
    let answers = ruby::answers(&renderings);
    let pairs = renderings.iter().zip(answers);
    pairs
        .map(|(rendering, answer)| {
            let job = rendering.job();
            if answer.errors.is_empty() {
                Ok(Rendered::new(job, answer.files))
            } else {
                Err(Rejection::new(job, answer.errors))
            }
        })
        .collect()
}
