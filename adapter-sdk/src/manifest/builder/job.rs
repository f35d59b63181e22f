use serde::Serialize;
use serde_json::Value;

use super::ManifestBuilderError;
use crate::manifest::{
    ConsumedLink, CustomProviderDefinition, Job, Link, ProvidedLink, find_release_for_job,
};
use crate::protocol::ServiceRelease;
use crate::redaction::shows_only;

/// A job to be: its release is found when the manifest is built, unless it is given.
#[derive(Clone)]
#[must_use]
pub struct JobBuilder {
    job: Job,
    release: Option<String>,
    /// The first error in a setting, reported when the manifest is built.
    error: Option<ManifestBuilderError>,
}

impl JobBuilder {
    /// A job of the release that provides it.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            job: Job::new(name, ""),
            release: None,
            error: None,
        }
    }

    /// Takes the job from this release, where several provide it.
    pub fn from_release(mut self, release: impl Into<String>) -> Self {
        self.release = Some(release.into());
        self
    }

    /// Sets a property by its JSON pointer, such as `/redis/password`.
    pub fn property(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        if let Err(source) = self.job.set_property(pointer, value) {
            let job = self.job.name.clone();
            self.error
                .get_or_insert(ManifestBuilderError::JobProperty { job, source });
        }
        self
    }

    /// Sets a property if there is a value for it.
    pub fn property_if_some(self, pointer: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.property(pointer, value),
            None => self,
        }
    }

    /// Sets all properties: anything that becomes a JSON object.
    pub fn properties(mut self, properties: impl Serialize) -> Self {
        if let Ok(Value::Object(properties)) = serde_json::to_value(properties) {
            self.job.properties = Some(properties);
        } else {
            let job = self.job.name.clone();
            self.error
                .get_or_insert(ManifestBuilderError::PropertiesNotAMap { job });
        }
        self
    }

    /// Sets how the job offers a link.
    pub fn provide(mut self, name: impl Into<String>, link: ProvidedLink) -> Self {
        self.job.provide(name, link);
        self
    }

    /// Keeps a link that the job would offer from others.
    pub fn provide_nothing(mut self, name: impl Into<String>) -> Self {
        self.job
            .provides
            .get_or_insert_default()
            .insert(name.into(), Link::Nil);
        self
    }

    /// Sets where the job has a link from.
    pub fn consume(mut self, name: impl Into<String>, link: ConsumedLink) -> Self {
        self.job.consume(name, Link::Set(link));
        self
    }

    /// Keeps a link that the job could use from it.
    pub fn consume_nothing(mut self, name: impl Into<String>) -> Self {
        self.job.consume(name, Link::Nil);
        self
    }

    /// Lets the job offer a link that its release does not know.
    pub fn define_provider(mut self, definition: CustomProviderDefinition) -> Self {
        self.job.define_provider(definition);
        self
    }

    pub(super) fn into_job(self, releases: &[ServiceRelease]) -> Result<Job, ManifestBuilderError> {
        let Self {
            mut job,
            release,
            error,
        } = self;
        if let Some(error) = error {
            return Err(error);
        }
        job.release = match release {
            Some(release) => release_of_that_name(&job.name, release, releases)?,
            None => find_release_for_job(&job.name, releases)?.name.clone(),
        };
        Ok(job)
    }
}

impl From<&str> for JobBuilder {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for JobBuilder {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

fn release_of_that_name(
    job: &str,
    release: String,
    releases: &[ServiceRelease],
) -> Result<String, ManifestBuilderError> {
    let provides = releases
        .iter()
        .any(|known| known.name == release && known.jobs.iter().any(|provided| provided == job));
    if provides {
        return Ok(release);
    }
    Err(ManifestBuilderError::NotInThatRelease {
        job: job.to_owned(),
        release,
    })
}

// Properties may hold secrets and are not shown.
shows_only!(JobBuilder { job });
