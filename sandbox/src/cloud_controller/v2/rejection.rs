//! The errors of v2 (`spec/contracts/platform-apis.md`, "Cloud Controller v2", "Common").

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use serde_json::json;

use super::JSON;
use crate::cloud_controller::{
    broker_client::{BrokerError, BrokerFailure},
    rejection::Rejection,
};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{description}")]
pub(super) struct V2Rejection {
    kind: V2Error,
    description: String,
    /// Method and status of the broker's answer that is at the bottom of it.
    exchange: Option<(String, u16)>,
}

/// The errors in use: status, code and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct V2Error {
    status: StatusCode,
    code: u32,
    name: String,
}

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident: $status:ident $code:literal $title:literal $text:literal;)*) => {
        impl V2Rejection {$(
            $(#[$doc])*
            pub(super) fn $name(what: &str) -> Self {
                Self::new(StatusCode::$status, $code, $title, $text.replace("%s", what))
            }
        )*}
    };
}

errors! {
    no_such_instance: NOT_FOUND 60004 "CF-ServiceInstanceNotFound" "The service instance could not be found: %s";
    no_such_plan: NOT_FOUND 110_003 "CF-ServicePlanNotFound" "The service plan could not be found: %s";
    no_such_service: NOT_FOUND 120_003 "CF-ServiceNotFound" "The service could not be found: %s";
    no_such_broker: NOT_FOUND 270_004 "CF-ServiceBrokerNotFound" "The service broker was not found: %s";
    no_such_binding: NOT_FOUND 90004 "CF-ServiceBindingNotFound" "The service binding could not be found: %s";
    no_such_key: NOT_FOUND 360_003 "CF-ServiceKeyNotFound" "The service key could not be found: %s";
    no_such_organization: NOT_FOUND 30003 "CF-OrganizationNotFound" "The organization could not be found: %s";
    no_such_space: NOT_FOUND 40004 "CF-SpaceNotFound" "The app space could not be found: %s";
    no_such_visibility: NOT_FOUND 260_003 "CF-ServicePlanVisibilityNotFound"
        "The service plan visibility could not be found: %s";
    association_not_empty: BAD_REQUEST 10006 "CF-AssociationNotEmpty" "Please delete the %s";
    in_progress: CONFLICT 60016 "CF-AsyncServiceInstanceOperationInProgress"
        "An operation for service instance %s is in progress.";
    shared: UNPROCESSABLE_ENTITY 390_002 "CF-ServiceInstanceDeletionSharesExists"
        "Service instances must be unshared before they can be deleted. Unsharing %s will automatically delete any \
         bindings that have been made to applications in other spaces.";
    broker_not_removable: BAD_REQUEST 270_010 "CF-ServiceBrokerNotRemovable"
        "Can not remove brokers that have associated service instances: %s";
    broker_name_taken: BAD_REQUEST 270_002 "CF-ServiceBrokerNameTaken" "The service broker name is taken%s";
    broker_url_invalid: BAD_REQUEST 270_011 "CF-ServiceBrokerUrlInvalid" "%s is not a valid URL";
    visibility_taken: BAD_REQUEST 260_002 "CF-ServicePlanVisibilityAlreadyExists"
        "This combination of ServicePlan and Organization is already taken: %s";
    visibility_invalid: BAD_REQUEST 260_001 "CF-ServicePlanVisibilityInvalid"
        "Service Plan Visibility is invalid: %s";
    unreadable: BAD_REQUEST 1001 "CF-MessageParseError" "Request invalid due to parse error: %s";
    bad_query: BAD_REQUEST 10005 "CF-BadQueryParameter" "The query parameter is invalid: %s";
    unknown_request: NOT_FOUND 10000 "CF-NotFound" "Unknown request%s";
    stopping: SERVICE_UNAVAILABLE 10015 "CF-ServiceUnavailable" "The Cloud Controller is stopping%s";
}

impl V2Rejection {
    fn new(status: StatusCode, code: u32, name: &str, description: String) -> Self {
        Self {
            kind: V2Error {
                status,
                code,
                name: name.to_owned(),
            },
            description,
            exchange: None,
        }
    }

    /// There is nothing between the route and the instance.
    pub(super) fn not_bound(route: &str, instance: &str) -> Self {
        let text = format!("Route {route} is not bound to service instance {instance}.");
        Self::new(StatusCode::BAD_REQUEST, 1002, "CF-InvalidRelation", text)
    }

    /// The error of an instance's broker; v2 puts the instance's name before the reason.
    pub(super) fn broker(failure: &BrokerFailure, instance_name: Option<&str>) -> Self {
        if let (BrokerError::Concurrency, Some(name)) = (failure.kind, instance_name) {
            return Self::in_progress(name);
        }
        let (status, name) = failure.kind.presented();
        let description = match instance_name {
            Some(instance) => format!("Service instance {instance}: {failure}"),
            None => failure.to_string(),
        };
        let exchange = failure.exchange.as_ref();
        Self {
            exchange: exchange.map(|exchange| (exchange.method.to_string(), exchange.status)),
            ..Self::new(status, 10001, name, description)
        }
    }
}

/// Errors that both generations have keep their status, code and text.
impl From<Rejection> for V2Rejection {
    fn from(rejection: Rejection) -> Self {
        let entry = rejection.entry();
        Self::new(
            rejection.status_code(),
            entry.code,
            &entry.title,
            entry.detail,
        )
    }
}

impl ResponseError for V2Rejection {
    fn status_code(&self) -> StatusCode {
        self.kind.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut body = json!({
            "description": self.description,
            "error_code": self.kind.name,
            "code": self.kind.code,
        });
        if let Some((method, status)) = &self.exchange {
            body["http"] = json!({"method": method, "status": status});
        }
        HttpResponse::build(self.kind.status)
            .content_type(JSON)
            .body(body.to_string())
    }
}
