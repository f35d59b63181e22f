//! Builds a manifest from a call, with the parts that every adapter would otherwise repeat
//! (`spec/contracts/adapter-protocol.md`, "What an author must do").
//!
//! | file | holds |
//! | --- | --- |
//! | here | what an author requests; which stemcell applies |
//! | `assembly` | how the manifest is assembled, and checked for errors that a Director would report late |
//! | `job` | jobs and their settings |
//! | `error` | why there is no manifest |

mod assembly;
mod error;
mod job;

use serde_json::Value;

use super::{
    Addon, Features, FreeMap, InstanceGroup, JobProperty, Manifest, Stemcell, Update, Variable,
};
use crate::protocol::{self, GenerateManifest, MaxInFlight};

pub use self::error::ManifestBuilderError;
pub use self::job::JobBuilder;

/// Makes the manifest of a service instance out of what `generate-manifest` is given.
///
/// The manifest has the deployment's name, all its releases, one stemcell, the plan's instance
/// groups in the plan's order with the jobs that were asked for, and the plan's update block or a
/// default.
///
/// ```
/// use odb_adapter_sdk::manifest::{JobBuilder, ManifestBuilder, ProvidedLink};
/// # use odb_adapter_sdk::protocol::*;
/// # let group = PlanInstanceGroup::new("redis", "small", 1, vec!["net".into()], vec!["z1".into()]);
/// # let release = ServiceRelease::new("redis-release", "1.2", vec!["redis-server".into()]);
/// # let call = GenerateManifest::new(
/// #     ServiceDeployment::new("service-instance_1", vec![release], vec![Stemcell::new("ubuntu-jammy", "1.80")]),
/// #     Plan::new(vec![group]),
/// #     RequestParameters::default(),
/// # );
/// let server = JobBuilder::new("redis-server")
///     .property("/redis/maxclients", 100)
///     .provide("redis", ProvidedLink::shared());
/// let manifest = ManifestBuilder::new(&call)
///     .instance_group("redis", [server])
///     .errand_group("health-check", ["health-check"])
///     .build()?;
/// assert_eq!(manifest.instance_groups[0].jobs[0].release, "redis-release");
/// # Ok::<(), odb_adapter_sdk::manifest::ManifestBuilderError>(())
/// ```
#[must_use]
pub struct ManifestBuilder<'c> {
    call: &'c GenerateManifest,
    groups: Vec<WantedGroup>,
    group_changes: Vec<(String, Change<'c, InstanceGroup>)>,
    stemcells: Vec<(String, StemcellChoice)>,
    properties: Vec<(OwnedProperty, Value)>,
    /// Whether lifecycle errands on instances of the service are added as jobs.
    colocates_errands: bool,
    errands_elsewhere: Vec<String>,
    default_update: Update,
    update_change: Option<Change<'c, Update>>,
    variables: Vec<Variable>,
    tags: FreeMap,
    features: Option<Features>,
    addons: Vec<Addon>,
}

type Change<'c, T> = Box<dyn FnOnce(&mut T) + 'c>;

struct WantedGroup {
    name: String,
    presence: Presence,
    jobs: Vec<JobBuilder>,
}

/// Whether a plan can do without an instance group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Needed,
    Optional,
    Errand,
}

struct OwnedProperty {
    group: String,
    job: String,
    pointer: String,
}

impl OwnedProperty {
    fn as_ref(&self) -> JobProperty<'_> {
        JobProperty::new(&self.group, &self.job, &self.pointer)
    }
}

impl<'c> ManifestBuilder<'c> {
    /// The manifest that the call is for.
    pub fn new(call: &'c GenerateManifest) -> Self {
        Self {
            call,
            groups: Vec::new(),
            group_changes: Vec::new(),
            stemcells: Vec::new(),
            properties: Vec::new(),
            colocates_errands: false,
            errands_elsewhere: Vec::new(),
            default_update: default_update(),
            update_change: None,
            variables: Vec::new(),
            tags: FreeMap::new(),
            features: None,
            addons: Vec::new(),
        }
    }

    /// An instance group that the plan must have, and its jobs in their order.
    pub fn instance_group<J: Into<JobBuilder>>(
        self,
        name: impl Into<String>,
        jobs: impl IntoIterator<Item = J>,
    ) -> Self {
        self.with_group(name.into(), Presence::Needed, jobs)
    }

    /// An instance group that plans may leave out.
    pub fn optional_instance_group<J: Into<JobBuilder>>(
        self,
        name: impl Into<String>,
        jobs: impl IntoIterator<Item = J>,
    ) -> Self {
        self.with_group(name.into(), Presence::Optional, jobs)
    }

    /// The instance group of a lifecycle errand, if the plan has it. It becomes an errand group regardless of the
    /// lifecycle in the plan.
    pub fn errand_group<J: Into<JobBuilder>>(
        self,
        name: impl Into<String>,
        jobs: impl IntoIterator<Item = J>,
    ) -> Self {
        self.with_group(name.into(), Presence::Errand, jobs)
    }

    /// Changes a requested instance group after its jobs are added, if the plan has the group: for `env`, its own
    /// `update` block, further VM extensions and similar settings.
    pub fn change_instance_group(
        mut self,
        name: impl Into<String>,
        change: impl FnOnce(&mut InstanceGroup) + 'c,
    ) -> Self {
        self.group_changes.push((name.into(), Box::new(change)));
        self
    }

    /// Sets a job property. Where the plan leaves the instance group out, so is the property.
    pub fn property(mut self, property: JobProperty<'_>, value: impl Into<Value>) -> Self {
        let property = OwnedProperty {
            group: property.group.to_owned(),
            job: property.job.to_owned(),
            pointer: property.pointer.to_owned(),
        };
        self.properties.push((property, value.into()));
        self
    }

    /// Sets a job property if there is a value for it.
    pub fn property_if_some(
        self,
        property: JobProperty<'_>,
        value: Option<impl Into<Value>>,
    ) -> Self {
        match value {
            Some(value) => self.property(property, value),
            None => self,
        }
    }

    /// Adds each lifecycle errand that the plan puts onto instances of a group as a job of it.
    pub fn colocate_errands(mut self) -> Self {
        self.colocates_errands = true;
        self
    }

    /// A lifecycle errand whose job is not in the manifest because a runtime config adds it.
    pub fn errand_from_elsewhere(mut self, name: impl Into<String>) -> Self {
        self.errands_elsewhere.push(name.into());
        self
    }

    /// A stemcell under an alias. Without any, it is the first of the service deployment as
    /// `default`; instance groups get the alias named first.
    pub fn stemcell(mut self, alias: impl Into<String>, choice: StemcellChoice) -> Self {
        self.stemcells.push((alias.into(), choice));
        self
    }

    /// The update block for plans that have none, in place of one canary, one at a time, and watch times of 30 to 240
    /// seconds. It also replaces missing members of a plan's block.
    pub fn default_update(mut self, update: Update) -> Self {
        self.default_update = update;
        self
    }

    /// Changes the update block, the plan's or the default.
    pub fn change_update(mut self, change: impl FnOnce(&mut Update) + 'c) -> Self {
        self.update_change = Some(Box::new(change));
        self
    }

    /// A value that the Director has generated.
    pub fn variable(mut self, variable: Variable) -> Self {
        self.variables.push(variable);
        self
    }

    /// A tag for every VM and disk.
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(name.into(), value.into().into());
        self
    }

    /// The features of the Director for this deployment.
    pub fn features(mut self, features: Features) -> Self {
        self.features = Some(features);
        self
    }

    /// Jobs that are put on VMs across instance groups.
    pub fn addon(mut self, addon: Addon) -> Self {
        self.addons.push(addon);
        self
    }

    /// Instance groups of the plan that are not used so far, in the plan's order. They are left out of the manifest,
    /// which is worth a line to the operator.
    pub fn groups_left_out(&self) -> impl Iterator<Item = &'c str> {
        let planned = &self.call.plan.instance_groups;
        let names = planned.iter().map(|group| group.name.as_str());
        names.filter(|name| self.groups.iter().all(|wanted| wanted.name != *name))
    }

    /// The manifest, or the first thing that makes it impossible or that a Director would only find
    /// out during or after the deployment.
    pub fn build(self) -> Result<Manifest, ManifestBuilderError> {
        assembly::manifest(self)
    }

    fn with_group<J: Into<JobBuilder>>(
        mut self,
        name: String,
        presence: Presence,
        jobs: impl IntoIterator<Item = J>,
    ) -> Self {
        self.groups.push(WantedGroup {
            name,
            presence,
            jobs: jobs.into_iter().map(Into::into).collect(),
        });
        self
    }
}

/// Watch times in milliseconds.
fn default_update() -> Update {
    const WATCH_TIME: &str = "30000-240000";
    Update {
        canaries: Some(1),
        canary_watch_time: Some(WATCH_TIME.to_owned()),
        update_watch_time: Some(WATCH_TIME.to_owned()),
        max_in_flight: Some(MaxInFlight::Count(1)),
        ..Update::default()
    }
}

/// Selects a stemcell of the service deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StemcellChoice {
    /// The first one.
    First,
    /// The one of this operating system, such as `ubuntu-jammy`.
    Os(String),
    /// The one of this name, such as `bosh-google-kvm-ubuntu-jammy-go_agent`.
    Name(String),
}

impl StemcellChoice {
    fn under(
        &self,
        alias: &str,
        stemcells: &[protocol::Stemcell],
    ) -> Result<Stemcell, ManifestBuilderError> {
        let fitting: Vec<_> = stemcells
            .iter()
            .filter(|stemcell| self.fits(stemcell))
            .collect();
        match (self, fitting.as_slice()) {
            (_, []) => Err(ManifestBuilderError::NoStemcell {
                wanted: self.in_words(),
                configured: described(stemcells),
            }),
            (Self::First, [stemcell, ..]) | (_, [stemcell]) => Ok(Stemcell::of(alias, stemcell)),
            _ => Err(ManifestBuilderError::SeveralStemcells {
                wanted: self.in_words(),
                configured: described(stemcells),
            }),
        }
    }

    fn fits(&self, stemcell: &protocol::Stemcell) -> bool {
        match self {
            Self::First => true,
            Self::Os(os) => stemcell.os == *os,
            Self::Name(name) => stemcell.name.as_ref() == Some(name),
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::First => "at all".to_owned(),
            Self::Os(os) => format!("of operating system `{os}`"),
            Self::Name(name) => format!("named `{name}`"),
        }
    }
}

fn described(stemcells: &[protocol::Stemcell]) -> String {
    if stemcells.is_empty() {
        return "none".to_owned();
    }
    let all: Vec<_> = stemcells
        .iter()
        .map(|stemcell| {
            let kind = stemcell.name.as_ref().unwrap_or(&stemcell.os);
            format!("`{kind}/{}`", stemcell.version)
        })
        .collect();
    all.join(", ")
}
