use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{FreeMap, Job, Manifest};
use crate::json;

/// The address of one job property in a manifest.
///
/// An adapter that names each property once, as a constant, finds it again where it wrote it:
///
/// ```
/// use odb_adapter_sdk::manifest::JobProperty;
///
/// const PASSWORD: JobProperty = JobProperty::new("redis", "redis-server", "/redis/password");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobProperty<'n> {
    /// Name of the instance group.
    pub group: &'n str,
    /// Name of the job in that group.
    pub job: &'n str,
    /// JSON pointer to the property, such as `/redis/password`.
    pub pointer: &'n str,
}

/// A deployed property with another value than the adapter writes. Its value is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("property {property} of the previous manifest is not what this adapter writes there")]
pub struct JobPropertyError {
    property: String,
    #[source]
    source: json::Error,
}

/// A property cannot be put there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum SetPropertyError {
    #[error("`{pointer}` is not a JSON pointer such as `/redis/password`")]
    NotAPointer { pointer: String },
    #[error("`{pointer}` leads through a value that has no members")]
    NoMembers { pointer: String },
}

impl<'n> JobProperty<'n> {
    /// The property at that JSON pointer, of that job, in that instance group.
    pub const fn new(group: &'n str, job: &'n str, pointer: &'n str) -> Self {
        Self {
            group,
            job,
            pointer,
        }
    }
}

impl fmt::Display for JobProperty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            job,
            pointer,
        } = self;
        write!(f, "`{pointer}` of job `{job}` in instance group `{group}`")
    }
}

impl Manifest {
    /// The property that a job receives, resolved as the Director resolves it: among the job's own properties if it has
    /// any, else among those of its instance group, else among the global ones (`spec/contracts/adapter-protocol.md`,
    /// "What an author must do", 5). A null counts as absent.
    pub fn property(&self, property: JobProperty<'_>) -> Option<&Value> {
        let JobProperty {
            group,
            job,
            pointer,
        } = property;
        let group = self.instance_group(group)?;
        let job = group.job(job)?;
        match &job.properties {
            Some(own) => look_up(own, pointer),
            None => [&group.properties, &self.properties]
                .into_iter()
                .flatten()
                .find_map(|shared| look_up(shared, pointer)),
        }
    }

    /// The same, by the names of instance group and job and a JSON pointer.
    pub fn job_property(&self, group: &str, job: &str, pointer: &str) -> Option<&Value> {
        self.property(JobProperty::new(group, job, pointer))
    }
}

pub(crate) fn decoded<T: DeserializeOwned>(
    property: JobProperty<'_>,
    value: &Value,
) -> Result<T, JobPropertyError> {
    T::deserialize(value).map_err(|error| JobPropertyError {
        property: property.to_string(),
        source: error.into(),
    })
}

fn look_up<'m>(properties: &'m FreeMap, pointer: &str) -> Option<&'m Value> {
    let mut names = names(pointer)?;
    let mut value = properties.get(&names.next()?)?;
    for name in names {
        value = match value {
            Value::Object(members) => members.get(&name)?,
            Value::Array(elements) => elements.get(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value).filter(|value| !value.is_null())
}

impl Job {
    /// Sets one of the job's own properties by its JSON pointer, making the maps on the way.
    pub fn set_property(
        &mut self,
        pointer: &str,
        value: impl Into<Value>,
    ) -> Result<(), SetPropertyError> {
        let not_a_pointer = || SetPropertyError::NotAPointer {
            pointer: pointer.to_owned(),
        };
        let names: Vec<_> = names(pointer).ok_or_else(not_a_pointer)?.collect();
        let (last, path) = names.split_last().ok_or_else(not_a_pointer)?;
        let mut members = self.properties.get_or_insert_default();
        for name in path {
            let member = members
                .entry(name)
                .or_insert_with(|| Value::Object(FreeMap::new()));
            members = member
                .as_object_mut()
                .ok_or_else(|| SetPropertyError::NoMembers {
                    pointer: pointer.to_owned(),
                })?;
        }
        members.insert(last.clone(), value.into());
        Ok(())
    }
}

/// The names in a JSON pointer (RFC 6901), unescaped. The pointer to everything is none here.
fn names(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let names = pointer.strip_prefix('/')?;
    Some(
        names
            .split('/')
            .map(|name| name.replace("~1", "/").replace("~0", "~")),
    )
}
