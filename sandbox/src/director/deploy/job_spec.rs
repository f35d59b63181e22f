//! A job of an instance group or an addon, as a manifest has it.

use serde_json::{Map, Value};

use super::spec::Spec;
use crate::{cpi::JobName, director::tasks::TaskFailure};

#[derive(Clone)]
pub(super) struct JobSpec {
    pub(super) name: JobName,
    pub(super) release: Option<String>,
    /// The job's own, or else what it inherits.
    pub(super) properties: Map<String, Value>,
    pub(super) provides: Map<String, Value>,
    pub(super) consumes: Map<String, Value>,
    pub(super) custom_providers: Vec<CustomProvider>,
}

#[derive(Clone)]
pub(super) struct CustomProvider {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) properties: Vec<String>,
}

impl JobSpec {
    /// Reads a job. One without `properties` has those that it inherits.
    pub(super) fn read(
        spec: &Spec<'_>,
        inherited: &Map<String, Value>,
    ) -> Result<Self, TaskFailure> {
        let properties = if spec.value("properties").is_some() {
            spec.optional_map("properties")?
        } else {
            inherited.clone()
        };
        Ok(Self {
            name: spec.text("name")?.into(),
            release: spec.optional_text("release")?,
            properties,
            provides: spec.optional_map("provides")?,
            consumes: spec.optional_map("consumes")?,
            custom_providers: spec
                .optional_list("custom_provider_definitions")?
                .iter()
                .map(|custom| {
                    Ok(CustomProvider {
                        name: custom.text("name")?,
                        kind: custom.text("type")?,
                        properties: custom.texts("properties")?,
                    })
                })
                .collect::<Result<_, TaskFailure>>()?,
        })
    }
}
