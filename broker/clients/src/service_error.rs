//! The error of a call to a service, the same for all of them.

use std::{error::Error, fmt, sync::Arc};

use crate::{
    cloud_controller::{CfError, JobGuid, is_lasting_error_of_broker},
    http::{Method, Service, StatusCode, TransportError, UnreadableResponse},
};

pub type Result<T, E = ServiceError> = std::result::Result<T, E>;

/// A call to a service had no good end.
#[derive(Clone, Debug)]
pub struct ServiceError {
    pub kind: FailureKind,
    request: Arc<RequestName>,
}

#[derive(Clone, Debug)]
pub(crate) struct RequestName {
    pub(crate) service: Service,
    /// The server, where there are several of the service.
    pub(crate) host: Option<String>,
    pub(crate) method: Method,
    /// Its path; for CredHub with the query, for the service instances API the complete address without it.
    pub(crate) path: String,
}

/// Why there is no successful answer.
#[derive(Clone, Debug)]
pub enum FailureKind {
    /// No (complete) answer came.
    NoResponse { source: TransportError },
    /// The deadline of the call passed.
    OutOfTime {
        /// Whether the service may have got the request.
        sent: bool,
    },
    /// The service said no.
    Refused {
        status: StatusCode,
        /// The number that the service has for the error, if it gave one.
        code: Option<u64>,
        /// The name that the service has for the error, such as `invalid_client`; empty if it gave none.
        name: String,
        /// The service's description, or the start of the body; 2 KiB at most.
        description: String,
    },
    /// The answer violates the service's contract.
    NotUnderstood { source: UnreadableResponse },
    /// The Director does not know the broker: the plain-text 401, again after a new token.
    Unauthenticated,
    /// The Director knows the broker and does not let it: the 401 with code 600000.
    NotAllowed {
        /// The scopes that would do, in the Director's words.
        description: String,
    },
    /// There is no token to ask with.
    NoToken { source: Box<ServiceError> },
    /// A token or credentials cannot be put into a header.
    UnsendableCredentials,
    /// A job of the Cloud Controller has failed.
    JobFailed {
        job: JobGuid,
        /// The operation, such as `service_broker.update`.
        operation: String,
        /// Why it failed, the cause first.
        errors: Vec<CfError>,
    },
    /// The Cloud Controller offers no version of its API that this client can use.
    NoUsableVersion {
        v3: Option<String>,
        v2: Option<String>,
    },
    /// A list of the Cloud Controller has more pages than can be right.
    EndlessList,
    /// A list of the Cloud Controller changed whenever it was read, so that entries may have stood on no page.
    ListChanging {
        /// How often it was read.
        passes: u32,
    },
}

impl ServiceError {
    pub fn new(
        service: Service,
        method: Method,
        path: impl Into<String>,
        kind: FailureKind,
    ) -> Self {
        let request = RequestName {
            service,
            host: None,
            method,
            path: path.into(),
        };
        Self::of(Arc::new(request), kind)
    }

    /// The same of one server of several.
    #[must_use]
    pub fn at(self, host: impl Into<String>) -> Self {
        let request = RequestName {
            host: Some(host.into()),
            ..(*self.request).clone()
        };
        Self::of(Arc::new(request), self.kind)
    }

    pub(crate) fn of(request: Arc<RequestName>, kind: FailureKind) -> Self {
        Self { kind, request }
    }

    pub fn service(&self) -> Service {
        self.request.service
    }

    pub fn method(&self) -> &Method {
        &self.request.method
    }

    pub fn path(&self) -> &str {
        &self.request.path
    }

    /// Whether the same call may well succeed later. Repeats within the call have been made.
    pub fn is_transient(&self) -> bool {
        use Service::{BrokerManagementApi, CloudController, CredHub, Director, Uaa};

        let service = self.service();
        // Reconcilers never end, so they must survive a rotation of credentials and certificates.
        let outlives_rotation = matches!(service, Director | CredHub);
        match &self.kind {
            FailureKind::NoResponse { source } => {
                let is_worth_a_repeat = match source {
                    TransportError::Handshake { .. } => outlives_rotation,
                    TransportError::OutOfTime { .. } => service == BrokerManagementApi,
                    _ => false,
                };
                source.is_transient() || is_worth_a_repeat
            }
            FailureKind::Refused {
                status,
                code,
                name,
                description,
            } => {
                let is_overloaded = *status == StatusCode::TOO_MANY_REQUESTS;
                match service {
                    Director | Uaa | BrokerManagementApi => {
                        is_overloaded || status.is_server_error()
                    }
                    CredHub => {
                        is_overloaded
                            || status.is_server_error()
                            || *status == StatusCode::UNAUTHORIZED
                    }
                    Service::ServiceInstancesApi => is_overloaded || is_of_gateway(*status),
                    CloudController => {
                        (is_overloaded || is_of_gateway(*status))
                            && !is_lasting_error_of_broker(*code, name, description)
                    }
                }
            }
            FailureKind::JobFailed { errors, .. } => {
                errors.first().is_some_and(CfError::is_transient)
            }
            FailureKind::NoToken { source } => {
                outlives_rotation || service == Uaa || source.is_transient()
            }
            FailureKind::Unauthenticated => outlives_rotation,
            FailureKind::OutOfTime { .. } | FailureKind::ListChanging { .. } => true,
            FailureKind::NotUnderstood { .. }
            | FailureKind::NotAllowed { .. }
            | FailureKind::UnsendableCredentials
            | FailureKind::NoUsableVersion { .. }
            | FailureKind::EndlessList => false,
        }
    }

    /// Whether a call that changes something may have done so although it ended with this error.
    pub fn may_have_taken_effect(&self) -> bool {
        match &self.kind {
            FailureKind::NoResponse { source } => source.may_have_been_sent(),
            FailureKind::OutOfTime { sent } => *sent,
            // A proxy answers so when the service behind it died or was too slow. The Cloud Controller gives a code
            // where it has answered itself.
            FailureKind::Refused { status, code, .. } => {
                let is_its_own = self.service() == Service::CloudController && code.is_some();
                status.is_server_error() && !is_its_own
            }
            FailureKind::NotUnderstood { .. } | FailureKind::JobFailed { .. } => true,
            FailureKind::Unauthenticated
            | FailureKind::NotAllowed { .. }
            | FailureKind::NoToken { .. }
            | FailureKind::UnsendableCredentials
            | FailureKind::NoUsableVersion { .. }
            | FailureKind::EndlessList
            | FailureKind::ListChanging { .. } => false,
        }
    }

    /// Whether the call's own deadline has ended it.
    pub fn is_timeout(&self) -> bool {
        match &self.kind {
            FailureKind::OutOfTime { .. } => true,
            FailureKind::NoToken { source } => source.is_timeout(),
            _ => false,
        }
    }

    pub fn status(&self) -> Option<StatusCode> {
        match self.kind {
            FailureKind::Refused { status, .. } => Some(status),
            FailureKind::Unauthenticated | FailureKind::NotAllowed { .. } => {
                Some(StatusCode::UNAUTHORIZED)
            }
            _ => None,
        }
    }

    /// The service's own number for the failure, where it has given one.
    pub fn code(&self) -> Option<u64> {
        match &self.kind {
            FailureKind::Refused { code, .. } => *code,
            FailureKind::NotAllowed { .. } => Some(crate::director::NOT_ALLOWED),
            FailureKind::JobFailed { errors, .. } => errors.first()?.code,
            _ => None,
        }
    }
}

/// Whether the status is one of a gateway and not of the service.
pub(crate) fn is_of_gateway(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    )
}

impl Error for ServiceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            FailureKind::NoResponse { source } => Some(source),
            FailureKind::NotUnderstood { source } => Some(source),
            FailureKind::NoToken { source } => Some(&**source),
            _ => None,
        }
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{} {}`", self.method, self.path)
    }
}

/// The service in a sentence, with the server if there are several.
struct Named<'a>(&'a RequestName);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.service.title())?;
        match &self.0.host {
            Some(host) => write!(f, " at `{host}`"),
            None => Ok(()),
        }
    }
}

/// A word of the service at the end of a sentence; nothing if it gave none.
pub(crate) fn quoted(separator: &str, words: &str) -> String {
    match words {
        "" => String::new(),
        words => format!("{separator}`{words}`"),
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = &*self.request;
        let (service, named) = (request.service, Named(request));
        match &self.kind {
            FailureKind::NoResponse { source }
                if service == Service::ServiceInstancesApi && source.is_unknown_authority() =>
            {
                let path = &request.path;
                write!(
                    f,
                    "the certificate of {named} at `{path}` is signed by an unknown authority"
                )
            }
            FailureKind::NoResponse { .. } => write!(f, "{named} did not answer {request}"),
            FailureKind::OutOfTime { .. } => {
                write!(f, "the time was over before {named} had answered {request}")
            }
            FailureKind::Refused {
                status,
                description,
                ..
            } if service == Service::BrokerManagementApi => {
                let words = quoted(": ", description);
                write!(f, "HTTP response status: {status} from {request}{words}")
            }
            FailureKind::Refused {
                status,
                name,
                description,
                ..
            } => {
                let (name, words) = (quoted(", ", name), quoted(": ", description));
                write!(
                    f,
                    "{named} refused {request} with status {status}{name}{words}"
                )
            }
            FailureKind::NotUnderstood { .. } => match (service, &request.host) {
                (Service::Uaa, Some(_)) => {
                    write!(f, "the answer of {named} to {request} has no token")
                }
                (Service::CredHub | Service::ServiceInstancesApi, _) => {
                    write!(f, "the answer of {named} to {request} was not understood")
                }
                _ => write!(
                    f,
                    "{}'s answer to {request} was not understood",
                    service.title()
                ),
            },
            FailureKind::Unauthenticated => write!(
                f,
                "{named} did not accept the broker's credentials for {request}"
            ),
            FailureKind::NotAllowed { description } => write!(
                f,
                "{named} does not allow the broker {request}{}",
                quoted(": ", description)
            ),
            FailureKind::NoToken { .. } if service == Service::Uaa => {
                f.write_str("no token for the administration of clients")
            }
            FailureKind::NoToken { .. } => write!(f, "no token for {named}"),
            FailureKind::UnsendableCredentials => {
                f.write_str("the credentials or the token cannot be sent in a header")
            }
            FailureKind::JobFailed {
                operation, errors, ..
            } => {
                let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
                let reasons = match errors.as_slice() {
                    [] => "no reason given".to_owned(),
                    errors => errors.join(", "),
                };
                write!(f, "{named}'s job `{operation}` has failed with {reasons}")
            }
            FailureKind::NoUsableVersion { v3, v2 } => {
                let found = |version: &Option<String>| {
                    version
                        .as_ref()
                        .map_or_else(|| "none".to_owned(), |version| format!("`{version}`"))
                };
                write!(
                    f,
                    "{named} offers no supported API: v3 is {}, of which `3.95` or newer is needed, v2 is {}, of \
                     which `2.57` or newer is needed",
                    found(v3),
                    found(v2)
                )
            }
            FailureKind::EndlessList => {
                write!(f, "{named}'s list `{}` does not end", request.path)
            }
            FailureKind::ListChanging { passes } => write!(
                f,
                "{named}'s list `{}` changed during each of {passes} readings",
                request.path
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_quoted_where_nothing_was_said() {
        let reported = |name: &str, description: &str| {
            let kind = FailureKind::Refused {
                status: StatusCode::NOT_FOUND,
                code: None,
                name: name.to_owned(),
                description: description.to_owned(),
            };
            ServiceError::new(Service::Uaa, Method::GET, "/x", kind).to_string()
        };
        let refused = "UAA refused `GET /x` with status 404 Not Found";
        assert_eq!(reported("", ""), refused);
        assert_eq!(reported("not_found", ""), format!("{refused}, `not_found`"));
        assert_eq!(reported("", "no page"), format!("{refused}: `no page`"));
    }
}
