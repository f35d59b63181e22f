//! What a rejection of the broker means.

use odb_api_types::code::Code;
use odb_clients::{FailureKind, ServiceError, http::StatusCode};
use odb_redaction::Chain;

/// The parts of an error of the broker's own API. `FailureKind::Refused::name` is the broker's code, such as
/// `ODB-1001`; it is empty for an error of a Go broker or of a router in front of the broker.
pub trait BrokerApiRejection {
    /// Whether the broker has given it this code.
    fn has_code(&self, wanted: Code) -> bool;

    /// Whether the broker has no such route: it answers 404 or 405 without a code, as a Go broker does, or names the
    /// route.
    fn is_unknown_route(&self) -> bool;

    /// Whether the broker itself reports that the resource does not exist. A router without a broker also answers 404,
    /// but without a code.
    fn is_gone(&self) -> bool;

    /// Whether the same request may succeed later, also because of a router that answers 404 while the broker restarts.
    fn is_transient_or_restart(&self) -> bool;

    /// The reason in the broker's words, for a rejection that an operator can act on without the request.
    fn reason(&self) -> String;
}

impl BrokerApiRejection for ServiceError {
    fn has_code(&self, wanted: Code) -> bool {
        matches!(&self.kind, FailureKind::Refused { name, .. } if *name == wanted.to_string())
    }

    fn is_unknown_route(&self) -> bool {
        let is_method = status_without_code(self) == Some(StatusCode::METHOD_NOT_ALLOWED);
        is_method || is_of_router(self) || self.has_code(Code::Route)
    }

    fn is_gone(&self) -> bool {
        match self.status() {
            Some(StatusCode::GONE) => true,
            Some(StatusCode::NOT_FOUND) => self.has_code(Code::NotFound),
            _ => false,
        }
    }

    fn is_transient_or_restart(&self) -> bool {
        is_of_router(self) || self.is_transient()
    }

    fn reason(&self) -> String {
        match &self.kind {
            FailureKind::Refused { description, .. } => description.clone(),
            _ => Chain(self).to_string(),
        }
    }
}

fn is_of_router(error: &ServiceError) -> bool {
    status_without_code(error) == Some(StatusCode::NOT_FOUND)
}

fn status_without_code(error: &ServiceError) -> Option<StatusCode> {
    match &error.kind {
        FailureKind::Refused { status, name, .. } if name.is_empty() => Some(*status),
        _ => None,
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
