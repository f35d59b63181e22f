//! Why a source failed.

use odb_api_types::code::Code;
use odb_clients::{FailureKind, Service, ServiceError, cloud_controller::SEES_ALL};

use super::FilterError;

/// A source failed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The Cloud Controller.
    #[error("could not ask the Cloud Controller for the service instances")]
    CloudController(#[source] ServiceError),
    /// The service instances API.
    #[error("could not ask the service instances API for the service instances")]
    ServiceInstancesApi(#[source] ServiceError),
    /// The certificate of the service instances API is signed by an unknown authority.
    #[error(
        "could not ask the service instances API for the service instances; is the authority that signed its certificate in \
         `service_instances_api.root_ca_cert`?"
    )]
    UnknownAuthority(#[source] ServiceError),
    /// The source cannot apply the filter.
    #[error("could not choose among the service instances")]
    Filter(#[from] FilterError),
    /// Not all instances are shown to us.
    #[error(
        "the client of `cf.uaa.authentication` may not read all spaces of the Cloud Controller; give it one of the rights `{}`",
        SEES_ALL.join("`, `")
    )]
    PartialVisibility,
}

impl SourceError {
    /// The code in the log.
    pub fn code(&self) -> Code {
        match self {
            Self::CloudController(_) => Code::CloudController,
            Self::ServiceInstancesApi(_) | Self::UnknownAuthority(_) => Code::ServiceInstancesApi,
            Self::Filter(_) => Code::MalformedRequest,
            Self::PartialVisibility => Code::InstancesUnknown,
        }
    }

    /// The same where the instances were to be counted.
    pub fn code_of_count(&self) -> Code {
        if self.is_unsteady() {
            Code::UnsteadyCount
        } else {
            self.code()
        }
    }

    /// The list changed during each of its readings.
    pub fn is_unsteady(&self) -> bool {
        matches!(
            self,
            Self::CloudController(ServiceError {
                kind: FailureKind::ListChanging { .. },
                ..
            })
        )
    }

    /// The time of the request was used up.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::CloudController(error)
            | Self::ServiceInstancesApi(error)
            | Self::UnknownAuthority(error) => error.is_timeout(),
            Self::Filter(_) | Self::PartialVisibility => false,
        }
    }
}

impl From<ServiceError> for SourceError {
    fn from(error: ServiceError) -> Self {
        match &error.kind {
            _ if error.service() == Service::CloudController => Self::CloudController(error),
            FailureKind::NoAnswer { source } if source.is_unknown_authority() => {
                Self::UnknownAuthority(error)
            }
            _ => Self::ServiceInstancesApi(error),
        }
    }
}
