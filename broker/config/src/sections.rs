//! The sections of a configuration, each by itself: one that is faulty hides no other.

use std::sync::Arc;

use super::{
    Adapter, Bosh, Broker, CloudFoundry, Config, CredHubAccess, Offering, RuntimeCredHub,
    ServiceInstancesApi, ServiceSoftware, problems::Faulty,
};

/// What a file says of something.
#[derive(Debug, Default)]
pub enum Told<T> {
    /// All that is needed.
    Right(T),
    /// Nothing, and nothing has to be said of it.
    Nothing,
    /// Something wrong, which stands among the faults of the file.
    #[default]
    Wrong,
}

/// The sections of a configuration, right or wrong.
#[derive(Debug, Default)]
pub struct Sections {
    /// How the broker listens, stops and treats its requests.
    pub broker: Told<Broker>,
    /// The Director.
    pub bosh: Told<Bosh>,
    /// The Director's CredHub, where secure manifests are on.
    pub bosh_credhub: Told<CredHubAccess>,
    /// The Cloud Controller.
    pub cloud_foundry: Told<CloudFoundry>,
    /// Who lists the service instances where no Cloud Controller does. One that is wrong passes for none.
    pub service_instances_api: Told<ServiceInstancesApi>,
    /// The CredHub of applications.
    pub runtime_credhub: Told<RuntimeCredHub>,
    /// The service adapter.
    pub adapter: Told<Adapter>,
    /// The releases and stemcells that adapters build manifests from.
    pub software: Told<ServiceSoftware>,
    /// What is offered in the marketplace.
    pub offering: Told<Arc<Offering>>,
}

impl<T> Told<T> {
    /// What is told, if it is right.
    pub fn right(&self) -> Option<&T> {
        match self {
            Self::Right(told) => Some(told),
            Self::Nothing | Self::Wrong => None,
        }
    }

    /// What must be there.
    fn required(self) -> Option<T> {
        match self {
            Self::Right(told) => Some(told),
            Self::Nothing | Self::Wrong => None,
        }
    }

    /// What may be left out, but not be wrong.
    fn optional(self) -> Result<Option<T>, Faulty> {
        match self {
            Self::Right(told) => Ok(Some(told)),
            Self::Nothing => Ok(None),
            Self::Wrong => Err(Faulty),
        }
    }
}

impl<T> From<Option<T>> for Told<T> {
    fn from(read: Option<T>) -> Self {
        read.map_or(Self::Wrong, Self::Right)
    }
}

impl<T> From<Result<Option<T>, Faulty>> for Told<T> {
    fn from(read: Result<Option<T>, Faulty>) -> Self {
        match read {
            Ok(Some(told)) => Self::Right(told),
            Ok(None) => Self::Nothing,
            Err(Faulty) => Self::Wrong,
        }
    }
}

impl Sections {
    /// All of them together, unless one is wrong that is needed.
    pub fn complete(self) -> Option<Config> {
        Some(Config {
            broker: self.broker.required()?,
            bosh: self.bosh.required()?,
            bosh_credhub: self.bosh_credhub.optional().ok()?,
            cloud_foundry: self.cloud_foundry.optional().ok()?,
            service_instances_api: self.service_instances_api.optional().ok()?,
            runtime_credhub: self.runtime_credhub.optional().ok()?,
            adapter: self.adapter.required()?,
            software: self.software.required()?,
            offering: self.offering.required()?,
        })
    }
}
