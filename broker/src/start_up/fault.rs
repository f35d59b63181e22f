//! Everything that keeps a broker from starting once its configuration is right.

use odb_platform::{
    cloud_controller::CloudControllerError,
    director::{ConnectError, DirectorError},
    http::{ClientError, StatusCode, TrustError},
    service_instances_api::ServiceInstancesApiSetUpError,
    uaa::TokenError,
};

use super::{DirectorVersionFault, SchemasFault};
use crate::{api::CertificateError, code::Code};

/// Something that has to be put right before the broker can run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its text")]
pub enum StartUpFault {
    #[error("`{key}` holds no usable certificate; give one or more in PEM form, or leave it out")]
    Trust {
        key: &'static str,
        #[source]
        source: TrustError,
    },
    #[error(
        "`{key}` is no address that can be called; give one such as `https://host.example.com`"
    )]
    Address {
        key: &'static str,
        #[source]
        source: ClientError,
    },
    #[error(
        "could not get to know the Director at `{url}`; check `bosh.url`, `bosh.root_ca_cert` and that it can be reached from \
         here"
    )]
    Director {
        url: String,
        #[source]
        source: ConnectError,
    },
    #[error("could not authenticate to the Director at `{url}`; check `bosh.authentication`")]
    DirectorIdentity {
        url: String,
        #[source]
        source: DirectorError,
    },
    #[error("the Director at `{url}` does not know us; check `bosh.authentication`")]
    DirectorCredentials { url: String },
    #[error("the Director at `{url}` cannot do what is configured; upgrade it, or leave that out")]
    DirectorVersion {
        url: String,
        #[source]
        source: DirectorVersionFault,
    },
    #[error("`service_instances_api` cannot be used; check its `url` and `authentication`")]
    ServiceInstancesApi {
        #[source]
        source: ServiceInstancesApiSetUpError,
    },
    #[error(
        "could not ask the Cloud Controller at `{url}` for its version; check `cf.url`, `cf.root_ca_cert` and that it can be \
         reached from here"
    )]
    CloudController {
        url: String,
        #[source]
        source: CloudControllerError,
    },
    #[error("the Cloud Controller at `{url}` is of no use; upgrade the foundation")]
    CloudControllerVersion {
        url: String,
        #[source]
        source: CloudControllerError,
    },
    #[error(
        "could not get a token for the Cloud Controller from the UAA at `{url}`; check `cf.uaa.url` and \
         `cf.uaa.authentication`"
    )]
    CloudControllerToken {
        url: String,
        #[source]
        source: TokenError,
    },
    #[error(
        "could not ask the Cloud Controller at `{url}` which plans have service instances; check that it works, and that \
         whom `cf.uaa.authentication` names has the right `cloud_controller.admin` or `cloud_controller.admin_read_only`"
    )]
    CloudControllerPlans {
        url: String,
        #[source]
        source: CloudControllerError,
    },
    #[error(
        "plan `{name}` (`{id}`) is not in `service_catalog.plans`, but has {instances} service instances; put it back"
    )]
    PlanInUse {
        name: String,
        id: String,
        instances: u64,
    },
    #[error(transparent)]
    Schemas(#[from] SchemasFault),
    #[error("the broker's own certificate cannot be used; check `broker.tls`")]
    Certificate {
        #[source]
        source: CertificateError,
    },
}

impl StartUpFault {
    /// The code under which it stands in the log.
    pub fn code(&self) -> Code {
        match self {
            Self::Trust { .. } | Self::Address { .. } | Self::ServiceInstancesApi { .. } => {
                Code::ConfigurationInvalid
            }
            Self::DirectorCredentials { .. } => Code::DirectorCredentials,
            Self::Director { source, .. } => match source {
                ConnectError::OtherAuthentication { .. } | ConnectError::Unusable => {
                    Code::DirectorCredentials
                }
                _ => Code::DirectorUnreachable,
            },
            Self::DirectorIdentity { source, .. } => match source {
                DirectorError::Unauthenticated { .. } => Code::DirectorCredentials,
                DirectorError::NoToken { source } if is_refusal(source) => {
                    Code::DirectorCredentials
                }
                _ => Code::DirectorUnreachable,
            },
            Self::DirectorVersion { .. } => Code::DirectorTooOld,
            Self::CloudControllerToken { source, .. } if is_refusal(source) => {
                Code::CloudControllerCredentials
            }
            Self::CloudControllerPlans {
                source: CloudControllerError::Refused { status, .. },
                ..
            } if matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Code::CloudControllerCredentials
            }
            Self::CloudController { .. }
            | Self::CloudControllerToken { .. }
            | Self::CloudControllerPlans { .. } => Code::CloudControllerUnreachable,
            Self::CloudControllerVersion { .. } => Code::CloudControllerTooOld,
            Self::PlanInUse { .. } => Code::PlanInUse,
            Self::Schemas(_) => Code::PlanSchemas,
            Self::Certificate { .. } => Code::Certificate,
        }
    }
}

/// UAA has answered, and does not want to give a token to us.
fn is_refusal(error: &TokenError) -> bool {
    match error {
        TokenError::Refused { .. } => !error.is_transient(),
        TokenError::Unusable => true,
        _ => false,
    }
}
