//! The sections of a configuration, each read on its own: an invalid one hides no other.

use std::sync::Arc;

use super::{
    Adapter, Bosh, Broker, CloudFoundry, Config, CredHubAccess, Offering, RuntimeCredHub,
    ServiceInstancesApi, ServiceSoftware, findings::AlreadyReported,
};

/// The value of a part of the file.
#[derive(Debug, Default)]
pub enum Reported<T> {
    /// All that is needed.
    Right(T),
    /// Nothing, without a finding.
    Nothing,
    /// It is invalid; the errors of the file have the reason.
    #[default]
    Wrong,
}

/// The sections of a configuration, right or wrong.
#[derive(Debug, Default)]
pub struct Sections {
    /// How the broker listens, stops and treats its requests.
    pub broker: Reported<Broker>,
    /// The Director.
    pub bosh: Reported<Bosh>,
    /// The Director's CredHub, where secure manifests are on.
    pub bosh_credhub: Reported<CredHubAccess>,
    /// The Cloud Controller.
    pub cloud_foundry: Reported<CloudFoundry>,
    /// The source of service instances without a Cloud Controller. An invalid one counts as absent.
    pub service_instances_api: Reported<ServiceInstancesApi>,
    /// The CredHub of applications.
    pub runtime_credhub: Reported<RuntimeCredHub>,
    /// The service adapter.
    pub adapter: Reported<Adapter>,
    /// The releases and stemcells that adapters build manifests from.
    pub software: Reported<ServiceSoftware>,
    /// The offering in the marketplace.
    pub offering: Reported<Arc<Offering>>,
}

impl<T> Reported<T> {
    /// The value, if it is valid.
    pub fn right(&self) -> Option<&T> {
        match self {
            Self::Right(reported) => Some(reported),
            Self::Nothing | Self::Wrong => None,
        }
    }

    /// A required value.
    fn required(self) -> Option<T> {
        match self {
            Self::Right(reported) => Some(reported),
            Self::Nothing | Self::Wrong => None,
        }
    }

    /// A value that may be absent, but not invalid.
    fn optional(self) -> Result<Option<T>, AlreadyReported> {
        match self {
            Self::Right(reported) => Ok(Some(reported)),
            Self::Nothing => Ok(None),
            Self::Wrong => Err(AlreadyReported),
        }
    }
}

impl<T> From<Option<T>> for Reported<T> {
    fn from(read: Option<T>) -> Self {
        read.map_or(Self::Wrong, Self::Right)
    }
}

impl<T> From<Result<Option<T>, AlreadyReported>> for Reported<T> {
    fn from(read: Result<Option<T>, AlreadyReported>) -> Self {
        match read {
            Ok(Some(reported)) => Self::Right(reported),
            Ok(None) => Self::Nothing,
            Err(AlreadyReported) => Self::Wrong,
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
