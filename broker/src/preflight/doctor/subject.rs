//! The subjects of an examination.

use std::fmt;

use odb_api_types::code::Code;
use serde::Serialize;

/// A subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Director,
    DirectorUaa,
    DirectorCredHub,
    DirectorCredHubUaa,
    CloudController,
    CloudControllerUaa,
    RuntimeCredHub,
    RuntimeCredHubUaa,
    InstancesApi,
    Adapter,
    OwnCertificate,
    Machine,
}

/// The property of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Probe {
    /// Its name has an address.
    Name,
    /// A connection comes about.
    Connection,
    /// The certificate is trusted.
    Certificate,
    /// It answers as expected.
    Answer,
    /// It is new enough.
    Version,
    /// The clock agrees with this machine's.
    Clock,
    /// It takes our credentials.
    Credentials,
    /// The client has the rights that the enabled features need.
    Rights,
    /// It supports the enabled features.
    Features,
    /// We may use its BOSH configs.
    Configs,
    /// It is of the foundation that it should be of.
    Foundation,
    /// All plans in use are offered.
    Plans,
    /// It can be started.
    Executable,
    /// It describes the parameters of its plans.
    Schemas,
    /// It lists the service instances.
    List,
}

impl Subject {
    /// How people call it, and how programs do.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Director => ("Director", "director"),
            Self::DirectorUaa => ("Director's UAA", "director-uaa"),
            Self::DirectorCredHub => ("Director's CredHub", "director-credhub"),
            Self::DirectorCredHubUaa => ("UAA of the Director's CredHub", "director-credhub-uaa"),
            Self::CloudController => ("Cloud Controller", "cloud-controller"),
            Self::CloudControllerUaa => ("Cloud Controller's UAA", "cloud-controller-uaa"),
            Self::RuntimeCredHub => ("runtime CredHub", "runtime-credhub"),
            Self::RuntimeCredHubUaa => ("UAA of the runtime CredHub", "runtime-credhub-uaa"),
            Self::InstancesApi => ("service instances API", "service-instances-api"),
            Self::Adapter => ("service adapter", "service-adapter"),
            Self::OwnCertificate => ("own certificate", "own-certificate"),
            Self::Machine => ("this machine", "this-machine"),
        }
    }

    /// Under which code the log has it when it does not answer.
    pub(crate) fn unreachable(self) -> Code {
        match self {
            Self::Director | Self::DirectorUaa => Code::DirectorUnreachable,
            Self::DirectorCredHub | Self::DirectorCredHubUaa => Code::CredHubUnreachable,
            Self::CloudController | Self::CloudControllerUaa => Code::CloudControllerUnreachable,
            Self::RuntimeCredHub | Self::RuntimeCredHubUaa => Code::RuntimeCredHubUnreachable,
            Self::InstancesApi => Code::ServiceInstancesApi,
            Self::Adapter => Code::AdapterStart,
            Self::OwnCertificate => Code::Certificate,
            Self::Machine => Code::Internal,
        }
    }

    /// The log's code for rejected credentials.
    pub(crate) fn credentials_code(self) -> Code {
        match self {
            Self::Director | Self::DirectorUaa => Code::DirectorCredentials,
            Self::DirectorCredHub | Self::DirectorCredHubUaa => Code::CredHubCredentials,
            Self::CloudController | Self::CloudControllerUaa => Code::CloudControllerCredentials,
            Self::RuntimeCredHub | Self::RuntimeCredHubUaa => Code::RuntimeCredHubCredentials,
            Self::InstancesApi | Self::Adapter | Self::OwnCertificate | Self::Machine => {
                self.unreachable()
            }
        }
    }
}

/// In one word.
impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().0)
    }
}
