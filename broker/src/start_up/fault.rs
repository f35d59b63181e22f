//! Everything that keeps a broker from starting once its configuration is right.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    credhub::ConnectCredHubError,
    director::ConnectError,
    http::{ClientError, StatusCode, TrustError},
    service_instances_api::ServiceInstancesApiSetUpError,
};

use super::{DirectorVersionFault, SchemasFault};
use crate::{api::CertificateError, config::Address};

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
        "there is no `{key}`, and the operating system trusts nobody; give the certificate of the authority there, or to the \
         operating system (BOSH: `trusted_certs`)"
    )]
    NoSystemStore {
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
        url: Address,
        #[source]
        source: ConnectError,
    },
    #[error("could not authenticate to the Director at `{url}`; check `bosh.authentication`")]
    DirectorIdentity {
        url: Address,
        #[source]
        source: ServiceError,
    },
    #[error("the Director at `{url}` does not know us; check `bosh.authentication`")]
    DirectorCredentials { url: Address },
    #[error("the Director at `{url}` cannot do what is configured; upgrade it, or leave that out")]
    DirectorVersion {
        url: Address,
        #[source]
        source: DirectorVersionFault,
    },
    #[error(
        "could not get to know the Director's CredHub at `{url}`; check `bosh_credhub.url`, `bosh_credhub.root_ca_cert` and \
         that it can be reached from here, or unset `broker.enable_secure_manifests`"
    )]
    CredHub {
        url: Address,
        #[source]
        source: ConnectCredHubError,
    },
    #[error(
        "could not get to know the runtime CredHub at `{url}`; check `credhub.api_url`, `credhub.ca_cert` and that it can be \
         reached from here"
    )]
    RuntimeCredHub {
        url: Address,
        #[source]
        source: ConnectCredHubError,
    },
    #[error(
        "the Director's CredHub at `{url}` does not let us in; check `bosh_credhub.authentication` and that its client has \
         `credhub.read` and `credhub.write`"
    )]
    CredHubIdentity {
        url: Address,
        #[source]
        source: ServiceError,
    },
    #[error(
        "could not authenticate to the runtime CredHub at `{url}`; check `credhub.client_id`, `credhub.client_secret` and \
         `credhub.internal_uaa_ca_cert`, and that the client has the authorities `credhub.read` and `credhub.write`"
    )]
    RuntimeCredHubIdentity {
        url: Address,
        #[source]
        source: ServiceError,
    },
    #[error("`service_instances_api` cannot be used; check its `url` and `authentication`")]
    ServiceInstancesApi {
        #[source]
        source: ServiceInstancesApiSetUpError,
    },
    #[error(
        "could not read the service instances from the API at `{url}`; check {}",
        if is_unauthorized(source) {
            "`service_instances_api.authentication`"
        } else {
            "`service_instances_api.url`, `service_instances_api.root_ca_cert` and that it can be reached from here"
        }
    )]
    ServiceInstancesList {
        url: Address,
        #[source]
        source: ServiceError,
    },
    #[error(
        "could not ask the Cloud Controller at `{url}` for its version; check `cf.url`, `cf.root_ca_cert` and that it can be \
         reached from here"
    )]
    CloudController {
        url: Address,
        #[source]
        source: ServiceError,
    },
    #[error("the Cloud Controller at `{url}` is of no use; upgrade the foundation")]
    CloudControllerVersion {
        url: Address,
        #[source]
        source: ServiceError,
    },
    #[error(
        "could not get a token for the Cloud Controller from the UAA at `{url}`; check {}",
        advice(source)
    )]
    CloudControllerToken {
        url: Address,
        #[source]
        source: ServiceError,
    },
    #[error(
        "the UAA at `{url}` does not let us administer clients, which `cf.uaa.client_definition` needs; give whom \
         `cf.uaa.authentication.client_credentials` names `clients.admin`, or `clients.read` and `clients.write`"
    )]
    ClientRights { url: Address },
    #[error(
        "could not ask the Cloud Controller at `{url}` which plans have service instances; check that it works, and that \
         whom `cf.uaa.authentication` names has the right `cloud_controller.admin` or `cloud_controller.admin_read_only`"
    )]
    CloudControllerPlans {
        url: Address,
        #[source]
        source: ServiceError,
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
    #[error("the broker's own certificate cannot be used; {}", source.remedy())]
    Certificate {
        #[source]
        source: CertificateError,
    },
}

impl StartUpFault {
    /// The key of the configuration to look at first.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Trust { key, .. }
            | Self::NoSystemStore { key, .. }
            | Self::Address { key, .. } => key,
            Self::Director { .. } | Self::DirectorVersion { .. } => "bosh.url",
            Self::DirectorIdentity { .. } | Self::DirectorCredentials { .. } => {
                "bosh.authentication"
            }
            Self::ServiceInstancesApi { .. } => "service_instances_api.url",
            Self::ServiceInstancesList { source, .. } => {
                if is_unauthorized(source) {
                    "service_instances_api.authentication"
                } else {
                    "service_instances_api.url"
                }
            }
            Self::CloudController { .. } | Self::CloudControllerVersion { .. } => "cf.url",
            Self::CloudControllerToken { source, .. } => {
                if is_refusal(source) {
                    "cf.uaa.authentication"
                } else {
                    "cf.uaa.url"
                }
            }
            Self::CloudControllerPlans { .. } | Self::ClientRights { .. } => {
                "cf.uaa.authentication"
            }
            Self::RuntimeCredHub { .. } => "credhub.api_url",
            Self::RuntimeCredHubIdentity { .. } => "credhub",
            Self::PlanInUse { .. } => "service_catalog.plans",
            Self::Schemas(_) => "broker.enable_plan_schemas",
            Self::CredHub { .. } => "bosh_credhub.url",
            Self::CredHubIdentity { .. } => "bosh_credhub.authentication",
            Self::Certificate { .. } => "broker.tls",
        }
    }

    /// The code under which it stands in the log.
    pub fn code(&self) -> Code {
        match self {
            Self::Trust { .. }
            | Self::NoSystemStore { .. }
            | Self::Address { .. }
            | Self::ServiceInstancesApi { .. } => Code::ConfigurationInvalid,
            Self::ServiceInstancesList { .. } => Code::ServiceInstancesApi,
            Self::DirectorCredentials { .. } => Code::DirectorCredentials,
            Self::Director { source, .. } => match source {
                ConnectError::OtherAuthentication { .. } | ConnectError::Unusable => {
                    Code::DirectorCredentials
                }
                _ => Code::DirectorUnreachable,
            },
            Self::DirectorIdentity { source, .. } => match &source.kind {
                FailureKind::Unauthenticated => Code::DirectorCredentials,
                FailureKind::NoToken { source } if is_refusal(source) => Code::DirectorCredentials,
                _ => Code::DirectorUnreachable,
            },
            Self::DirectorVersion { .. } => Code::DirectorTooOld,
            Self::CredHub { .. } => Code::CredHubUnreachable,
            Self::CredHubIdentity { source, .. } => match &source.kind {
                FailureKind::NoToken { source, .. } if is_refusal(source) => {
                    Code::CredHubCredentials
                }
                FailureKind::Refused {
                    status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN,
                    ..
                } => Code::CredHubCredentials,
                _ => Code::CredHubUnreachable,
            },
            Self::CloudControllerToken { source, .. } if is_refusal(source) => {
                Code::CloudControllerCredentials
            }
            Self::CloudControllerPlans {
                source:
                    ServiceError {
                        kind: FailureKind::Refused { status, .. },
                        ..
                    },
                ..
            } if matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Code::CloudControllerCredentials
            }
            Self::CloudController { .. }
            | Self::CloudControllerToken { .. }
            | Self::CloudControllerPlans { .. } => Code::CloudControllerUnreachable,
            Self::CloudControllerVersion { .. } => Code::CloudControllerTooOld,
            Self::RuntimeCredHub { .. } => Code::RuntimeCredHubUnreachable,
            Self::RuntimeCredHubIdentity { source, .. } => match &source.kind {
                FailureKind::NoToken { source, .. } if is_refusal(source) => {
                    Code::RuntimeCredHubCredentials
                }
                FailureKind::Refused {
                    status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN,
                    ..
                } => Code::RuntimeCredHubCredentials,
                _ => Code::RuntimeCredHubUnreachable,
            },
            Self::ClientRights { .. } => Code::ClientRights,
            Self::PlanInUse { .. } => Code::PlanInUse,
            Self::Schemas(_) => Code::PlanSchemas,
            Self::Certificate { .. } => Code::Certificate,
        }
    }
}

/// The service instances API does not accept name and password.
fn is_unauthorized(error: &ServiceError) -> bool {
    matches!(
        error.kind,
        FailureKind::Refused {
            status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN,
            ..
        }
    )
}

/// What to look at when there is no token for the Cloud Controller.
fn advice(error: &ServiceError) -> &'static str {
    match &error.kind {
        _ if is_refusal(error) => "`cf.uaa.authentication`",
        FailureKind::NoAnswer { .. } | FailureKind::OutOfTime { .. } => {
            "`cf.uaa.url`, `cf.root_ca_cert` and that it can be reached from here"
        }
        _ => "`cf.uaa.url`: a UAA has to be there, and to be well",
    }
}

/// UAA has answered, and does not want to give a token to us. Whoever says no in another way than OAuth has it
/// (RFC 6749, section 5.2) is no UAA, or none that is well.
fn is_refusal(error: &ServiceError) -> bool {
    match &error.kind {
        FailureKind::Refused { status, name, .. } => {
            let says_no = matches!(
                *status,
                StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
            );
            says_no && !name.is_empty()
        }
        FailureKind::UnsendableCredentials => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use odb_clients::{Service, http::Method};

    use super::*;

    #[test]
    fn who_answers_for_a_uaa_in_another_way_is_not_taken_for_one_that_refuses_us() {
        for (status, error, code, key) in [
            (
                StatusCode::UNAUTHORIZED,
                "invalid_client",
                "ODB-1110",
                "cf.uaa.authentication",
            ),
            (
                StatusCode::BAD_REQUEST,
                "unauthorized_client",
                "ODB-1110",
                "cf.uaa.authentication",
            ),
            (StatusCode::UNAUTHORIZED, "", "ODB-1103", "cf.uaa.url"),
            (StatusCode::NOT_FOUND, "", "ODB-1103", "cf.uaa.url"),
            (StatusCode::NOT_FOUND, "not_found", "ODB-1103", "cf.uaa.url"),
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "",
                "ODB-1103",
                "cf.uaa.url",
            ),
        ] {
            let kind = FailureKind::Refused {
                status,
                code: None,
                name: error.to_owned(),
                description: String::new(),
            };
            let fault = StartUpFault::CloudControllerToken {
                url: Address::of("https://uaa.example").unwrap(),
                source: ServiceError::new(Service::Uaa, Method::POST, "/oauth/token", kind),
            };
            assert_eq!(fault.code().to_string(), code, "{status} {error}");
            assert_eq!(fault.key(), key, "{status} {error}");
            assert!(fault.to_string().contains(key), "{fault}");
        }
    }
}
