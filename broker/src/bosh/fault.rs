//! Faults of everything that is done to instances.

use odb_api_types::ids::PlanId;
use odb_clients::{
    InvalidText, ServiceError,
    director::{PutConfigError, SubmitError},
};

use super::{
    dns::NoLink,
    leftovers::LeftoversFault,
    manifest::ManifestFault,
    manifest_difference::{ManifestDifference, UnreadableManifest},
    markers::{ReadMarkerError, WriteMarkerError},
    secrets::{ResolveFault, SecretFault},
};
use crate::{adapter::AdapterFault, instance_clients::ClientFault};

/// What can go wrong on the way to an instance, whichever operation is on it.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The service adapter gave no answer, or none that can be used.
    #[error(transparent)]
    Adapter(#[from] AdapterFault),
    /// The adapter's manifest may not be deployed.
    #[error(transparent)]
    Manifest(#[from] ManifestFault),
    /// The adapter returned configs though they are switched off.
    #[error(
        "the adapter returned BOSH configs, but `broker.disable_bosh_configs` is set, or the Director does not let us write them"
    )]
    ConfigsDisabled,
    /// The adapter returned a config of a type that cannot be.
    #[error("the adapter returned a BOSH config whose type cannot be used")]
    ConfigType(#[source] InvalidText),
    /// A config of the adapter was not written.
    #[error("could not write a BOSH config of the adapter")]
    WriteConfig {
        /// Why.
        #[source]
        source: PutConfigError,
    },
    /// The Director could not be asked, or did not do what it was asked to.
    #[error("could not {doing}")]
    Director {
        /// What was being done.
        doing: &'static str,
        /// What the Director said, or that it said nothing.
        #[source]
        source: ServiceError,
    },
    /// The adapter's secrets cannot be kept.
    #[error(transparent)]
    Secret(#[from] SecretFault),
    /// The Director's CredHub could not be asked, or did not do what it was asked to.
    #[error("could not {doing}")]
    CredHub {
        /// What was being done.
        doing: &'static str,
        /// What CredHub said, or that it said nothing.
        #[source]
        source: ServiceError,
    },
    /// The secrets of the instance are not known.
    #[error("could not find out what the deployed manifest refers to")]
    Resolve(#[from] ResolveFault),
    /// The plan's bindings need an address that the deployment does not have.
    #[error(transparent)]
    NoLink(#[from] NoLink),
    /// The instance is gone, and something that it leaves behind is not.
    #[error("could not remove what the instance leaves behind")]
    Leftovers {
        /// Why.
        #[source]
        source: LeftoversFault,
    },
    /// Something is wrong with the instance's UAA client.
    #[error(transparent)]
    Client(#[from] ClientFault),
    /// The Director did not take the work.
    #[error("could not hand the work over to the Director")]
    Submit(#[source] SubmitError),
    /// What is remembered of the instance could not be read.
    #[error(transparent)]
    ReadMarker(#[from] ReadMarkerError),
    /// The operation could not be written down.
    #[error(transparent)]
    Marker(#[from] WriteMarkerError),
    /// The time of the request was used up before anything was handed over.
    #[error("the time of the request was used up before the work was handed over to the Director")]
    OutOfTime,
    /// The deployment's name belongs to another team.
    #[error("the deployment belongs to another team of the Director")]
    Foreign,
    /// Another operation is in progress.
    #[error("another operation on the service instance is in progress")]
    Busy,
    /// There is no such instance.
    #[error("there is no deployment for the service instance")]
    NotFound,
    /// The id is taken by an instance with other attributes.
    #[error("the service instance exists with other attributes, or its creation has failed")]
    Taken,
    /// What is deployed cannot be compared with what the adapter would make today.
    #[error("could not check for pending changes")]
    Compare(#[from] UnreadableManifest),
    /// The instance would change beyond what its user asks for.
    #[error("the operator has changed the service since the instance was deployed: {difference}")]
    PendingChanges {
        /// Where; without what may be secret.
        difference: ManifestDifference,
    },
    /// The plan is gone from the configuration.
    #[error("the plan `{plan}` is not in the configuration")]
    UnknownPlan {
        /// The plan's id.
        plan: PlanId,
    },
}

impl Fault {
    pub(super) fn director(doing: &'static str) -> impl FnOnce(ServiceError) -> Self {
        move |source| Self::Director { doing, source }
    }

    pub(super) fn credhub(doing: &'static str) -> impl FnOnce(ServiceError) -> Self {
        move |source| Self::CredHub { doing, source }
    }

    /// A secret or a config of the instance was sent, and may be there or arrive late.
    pub(super) fn may_have_written(&self) -> bool {
        match self {
            Self::CredHub { source, .. }
            | Self::WriteConfig {
                source: PutConfigError::Director { source },
            } => source.may_have_taken_effect(),
            _ => false,
        }
    }

    /// The time of the request was used up, wherever that was noticed, and nothing was handed over.
    pub fn is_out_of_time(&self) -> bool {
        match self {
            Self::OutOfTime => true,
            Self::Resolve(ResolveFault::CredHub { source, .. }) => source.is_timeout(),
            Self::Client(fault) => fault.is_out_of_time(),
            Self::Director { source, .. }
            | Self::CredHub { source, .. }
            | Self::Resolve(ResolveFault::Variables(source))
            | Self::WriteConfig {
                source: PutConfigError::Director { source },
            }
            | Self::Submit(SubmitError::NotSent { source })
            | Self::Marker(WriteMarkerError::Director(source))
            | Self::ReadMarker(ReadMarkerError::Director(source)) => source.is_timeout(),
            Self::Adapter(_)
            | Self::Manifest(_)
            | Self::ConfigsDisabled
            | Self::ConfigType(_)
            | Self::WriteConfig { .. }
            | Self::Secret(_)
            | Self::NoLink(_)
            | Self::Leftovers { .. }
            | Self::Submit(_)
            | Self::Marker(_)
            | Self::ReadMarker(_)
            | Self::Foreign
            | Self::Busy
            | Self::NotFound
            | Self::Taken
            | Self::Compare(_)
            | Self::PendingChanges { .. }
            | Self::UnknownPlan { .. } => false,
        }
    }
}
