//! The errors of the Cloud Controller (`spec/contracts/platform-apis.md`, "Errors, headers, limits").

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) const JSON: &str = "application/json; charset=utf-8";

/// One entry of an error answer, and of a failed job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ErrorEntry {
    pub(crate) code: u32,
    pub(crate) title: String,
    pub(crate) detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct Rejection {
    kind: ErrorKind,
    detail: String,
}

/// The errors in use. Each has a status, a code and a title of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    NotAuthenticated,
    InvalidAuthToken,
    NotAuthorized,
    OrganizationSuspended,
    FeatureDisabled,
    NotFound,
    ResourceNotFound,
    MessageParseError,
    BadRequest,
    BadQueryParameter,
    UnprocessableEntity,
    UnableToPerform,
    AsyncInstanceOperationInProgress,
    ParametersNotSupported,
    UnshareFailed,
    ServiceUnavailable,
    AlreadyBoundToRoute,
    DeprovisionFailed,
    MaintenanceInfoNotSupported,
    MaintenanceInfoNotUpdatableWhenChangingPlan,
    MaintenanceInfoConflict,
    BrokerNotRemovable,
    CatalogInvalid,
    BrokerFailed,
    BrokerRequestRejected,
    BrokerRequestMalformed,
    BrokerSyncFailed,
    ServiceBindingInvalid,
    JobTimeout,
}

impl ErrorKind {
    fn parts(self) -> (StatusCode, u32, &'static str) {
        const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
        const UNPROCESSABLE: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
        match self {
            Self::NotAuthenticated => (StatusCode::UNAUTHORIZED, 10002, "CF-NotAuthenticated"),
            Self::InvalidAuthToken => (StatusCode::UNAUTHORIZED, 1000, "CF-InvalidAuthToken"),
            Self::NotAuthorized => (StatusCode::FORBIDDEN, 10003, "CF-NotAuthorized"),
            Self::OrganizationSuspended => (StatusCode::FORBIDDEN, 10017, "CF-OrgSuspended"),
            Self::FeatureDisabled => (StatusCode::FORBIDDEN, 330_002, "CF-FeatureDisabled"),
            Self::NotFound => (StatusCode::NOT_FOUND, 10000, "CF-NotFound"),
            Self::ResourceNotFound => (StatusCode::NOT_FOUND, 10010, "CF-ResourceNotFound"),
            Self::MessageParseError => (StatusCode::BAD_REQUEST, 1001, "CF-MessageParseError"),
            Self::BadRequest => (StatusCode::BAD_REQUEST, 1004, "CF-BadRequest"),
            Self::BadQueryParameter => (StatusCode::BAD_REQUEST, 10005, "CF-BadQueryParameter"),
            Self::UnprocessableEntity => (UNPROCESSABLE, 10008, "CF-UnprocessableEntity"),
            Self::UnableToPerform => (StatusCode::BAD_REQUEST, 10009, "CF-UnableToPerform"),
            Self::AsyncInstanceOperationInProgress => (
                StatusCode::CONFLICT,
                60016,
                "CF-AsyncServiceInstanceOperationInProgress",
            ),
            Self::ParametersNotSupported => (
                StatusCode::BAD_REQUEST,
                120_004,
                "CF-ServiceFetchInstanceParametersNotSupported",
            ),
            Self::ServiceUnavailable => (UNAVAILABLE, 10015, "CF-ServiceUnavailable"),
            Self::UnshareFailed => (
                StatusCode::BAD_GATEWAY,
                390_001,
                "CF-ServiceInstanceUnshareFailed",
            ),
            Self::AlreadyBoundToRoute => (
                UNPROCESSABLE,
                130_008,
                "CF-ServiceInstanceAlreadyBoundToSameRoute",
            ),
            Self::DeprovisionFailed => (
                StatusCode::CONFLICT,
                60011,
                "CF-ServiceInstanceDeprovisionFailed",
            ),
            Self::MaintenanceInfoNotSupported => {
                (UNPROCESSABLE, 390_006, "CF-MaintenanceInfoNotSupported")
            }
            Self::MaintenanceInfoNotUpdatableWhenChangingPlan => (
                UNPROCESSABLE,
                390_008,
                "CF-MaintenanceInfoNotUpdatableWhenChangingPlan",
            ),
            Self::MaintenanceInfoConflict => (UNPROCESSABLE, 390_009, "CF-MaintenanceInfoConflict"),
            Self::BrokerNotRemovable => (UNPROCESSABLE, 270_010, "CF-ServiceBrokerNotRemovable"),
            Self::CatalogInvalid => (
                StatusCode::BAD_GATEWAY,
                270_012,
                "CF-ServiceBrokerCatalogInvalid",
            ),
            Self::BrokerRequestRejected => (
                StatusCode::BAD_GATEWAY,
                270_020,
                "CF-ServiceBrokerRequestRejected",
            ),
            Self::BrokerRequestMalformed => (
                StatusCode::BAD_GATEWAY,
                270_021,
                "CF-ServiceBrokerRequestMalformed",
            ),
            Self::BrokerSyncFailed => (
                StatusCode::BAD_GATEWAY,
                270_022,
                "CF-ServiceBrokerSyncFailed",
            ),
            Self::ServiceBindingInvalid => {
                (StatusCode::BAD_REQUEST, 90001, "CF-ServiceBindingInvalid")
            }
            Self::BrokerFailed => (StatusCode::BAD_GATEWAY, 10001, "CF-ServiceBrokerError"),
            Self::JobTimeout => (StatusCode::SERVICE_UNAVAILABLE, 290_006, "CF-JobTimeout"),
        }
    }

    pub(crate) fn with(self, detail: impl Into<String>) -> Rejection {
        Rejection {
            kind: self,
            detail: detail.into(),
        }
    }
}

impl Rejection {
    pub(crate) fn not_authenticated() -> Self {
        ErrorKind::NotAuthenticated.with("Authentication error")
    }

    pub(crate) fn not_authorized() -> Self {
        ErrorKind::NotAuthorized.with("You are not authorized to perform the requested action")
    }

    /// There is no such thing, or the caller must not know of it.
    pub(crate) fn no_such(kind: &str) -> Self {
        ErrorKind::ResourceNotFound.with(format!("{kind} not found"))
    }

    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        ErrorKind::UnprocessableEntity.with(detail)
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn entry(&self) -> ErrorEntry {
        let (_, code, title) = self.kind.parts();
        ErrorEntry {
            code,
            title: title.to_owned(),
            detail: self.detail.clone(),
        }
    }
}

impl ResponseError for Rejection {
    fn status_code(&self) -> StatusCode {
        self.kind.parts().0
    }

    fn error_response(&self) -> HttpResponse {
        let body = json!({"errors": [self.entry()]});
        HttpResponse::build(self.status_code())
            .content_type(JSON)
            .body(body.to_string())
    }
}
