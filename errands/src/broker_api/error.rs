//! Errors between an errand and the broker.

use odb_api_types::code::Code;
use odb_clients::{
    FailureKind, ServiceError,
    http::{ClientError, StatusCode, UnsendableCredentials},
};

use crate::trust::UnusableTrust;

/// The broker's client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum BrokerApiSetUpError {
    /// The address or the HTTP client's settings are wrong.
    #[error("cannot create the client of the broker")]
    Client(#[source] ClientError),
    /// The name or the password cannot be put into a header.
    #[error("the credentials for the broker are not valid")]
    Credentials(#[source] UnsendableCredentials),
    /// The trust root cannot be used.
    #[error(transparent)]
    Trust(#[from] UnusableTrust),
}

/// The parts of an error of the broker's own API. `FailureKind::Refused::name` is the broker's code, such as
/// `ODB-1001`; it is empty for an error of a Go broker or of a router in front of the broker.
pub trait BrokerApiRejection {
    /// Whether the broker has refused with this code.
    fn has_code(&self, wanted: Code) -> bool;

    /// Whether the broker has no such route: it answers 404 or 405 without a code, as a Go broker does, or names the
    /// route.
    fn is_unknown_route(&self) -> bool;

    /// Whether the broker itself reports that the resource does not exist. A router without a broker also answers 404,
    /// but without a code.
    fn is_gone(&self) -> bool;

    /// Whether the same request may succeed later, also because of a router that answers 404 while the broker restarts.
    fn is_transient_or_restart(&self) -> bool;
}

impl BrokerApiRejection for ServiceError {
    fn has_code(&self, wanted: Code) -> bool {
        matches!(&self.kind, FailureKind::Refused { name, .. } if *name == wanted.to_string())
    }

    fn is_unknown_route(&self) -> bool {
        let is_without_code = matches!(
            &self.kind,
            FailureKind::Refused {
                status: StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED,
                name,
                ..
            } if name.is_empty()
        );
        is_without_code || self.has_code(Code::Route)
    }

    fn is_gone(&self) -> bool {
        match self.status() {
            Some(StatusCode::GONE) => true,
            Some(StatusCode::NOT_FOUND) => self.has_code(Code::NotFound),
            _ => false,
        }
    }

    fn is_transient_or_restart(&self) -> bool {
        let is_of_router = matches!(
            &self.kind,
            FailureKind::Refused { status: StatusCode::NOT_FOUND, name, .. } if name.is_empty()
        );
        is_of_router || self.is_transient()
    }
}

#[cfg(test)]
mod tests {
    use odb_clients::http::{Method, Service};

    use super::*;

    fn refused(status: StatusCode, code: Option<&str>) -> ServiceError {
        let kind = FailureKind::Refused {
            status,
            code: None,
            name: code.unwrap_or_default().to_owned(),
            description: String::new(),
        };
        ServiceError::new(Service::BrokerManagementApi, Method::GET, "/x", kind)
    }

    #[test]
    fn only_the_broker_itself_says_that_something_is_gone() {
        let not_found = Code::NotFound.to_string();
        for (status, code, is_gone, is_transient) in [
            (StatusCode::NOT_FOUND, Some(&*not_found), true, false),
            (StatusCode::GONE, None, true, false),
            (StatusCode::GONE, Some(&*not_found), true, false),
            (StatusCode::NOT_FOUND, None, false, true),
            (StatusCode::NOT_FOUND, Some("ODB-9999"), false, false),
            (StatusCode::BAD_GATEWAY, None, false, true),
            (StatusCode::FORBIDDEN, None, false, false),
        ] {
            let error = refused(status, code);
            assert_eq!(error.is_gone(), is_gone, "{error:?}");
            assert_eq!(error.is_transient_or_restart(), is_transient, "{error:?}");
        }
    }

    #[test]
    fn an_unknown_route_is_reported_by_the_broker_or_not_at_all() {
        let route = Code::Route.to_string();
        assert!(refused(StatusCode::NOT_FOUND, None).is_unknown_route());
        assert!(refused(StatusCode::NOT_FOUND, Some(&route)).is_unknown_route());
        assert!(!refused(StatusCode::NOT_FOUND, Some("ODB-9999")).is_unknown_route());
    }
}
