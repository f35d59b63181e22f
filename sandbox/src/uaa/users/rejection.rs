//! Why a request about users or groups is refused.

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use serde_json::json;
use uuid::Uuid;

use crate::uaa::{answer::json_answer_with, caller::Denied, scim::RefusedQuery};

/// Why a request about users or groups is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum UserRejection {
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("User {0} does not exist")]
    NoUser(String),
    #[error("Group {0} does not exist")]
    NoGroup(String),
    #[error("Member {member} does not exist in group {group}")]
    NoMember { member: Uuid, group: Uuid },
    #[error("Username already in use: {name}")]
    NameInUse { name: String, id: Uuid },
    #[error("A group with displayName: {0} already exists.")]
    GroupExists(String),
    #[error("{member} is already part of the group: {group}")]
    IsMember { member: Uuid, group: Uuid },
    #[error("{0}")]
    Invalid(&'static str),
    #[error("{0}")]
    BadPassword(&'static str),
    #[error("Missing If-Match for PUT")]
    NoVersion,
    #[error(
        "Attempt to update a user ({id}) with wrong version: expected={expected} but found={found}"
    )]
    OtherVersion { id: Uuid, expected: u64, found: u64 },
    #[error(transparent)]
    Query(#[from] RefusedQuery),
    #[error("The request body is no valid JSON for this request")]
    Unreadable,
}

impl UserRejection {
    fn code(&self) -> &'static str {
        match self {
            Self::Denied(_) => "access_denied",
            Self::NoUser(_) | Self::NoGroup(_) => "scim_resource_not_found",
            Self::NoMember { .. } => "member_not_found",
            Self::NameInUse { .. } | Self::GroupExists(_) => "scim_resource_already_exists",
            Self::IsMember { .. } => "member_already_exists",
            Self::Invalid(_) => "invalid_scim_resource",
            Self::BadPassword(_) => "invalid_password",
            Self::OtherVersion { .. } => "scim_resource_conflict",
            Self::NoVersion | Self::Query(_) | Self::Unreadable => "scim",
        }
    }
}

impl ResponseError for UserRejection {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Denied(denied) => denied.status_code(),
            Self::NoUser(_) | Self::NoGroup(_) | Self::NoMember { .. } => StatusCode::NOT_FOUND,
            Self::NameInUse { .. }
            | Self::GroupExists(_)
            | Self::IsMember { .. }
            | Self::OtherVersion { .. } => StatusCode::CONFLICT,
            Self::Invalid(_)
            | Self::BadPassword(_)
            | Self::NoVersion
            | Self::Query(_)
            | Self::Unreadable => StatusCode::BAD_REQUEST,
        }
    }

    fn error_response(&self) -> HttpResponse {
        if let Self::Denied(denied) = self {
            return denied.error_response();
        }
        let text = self.to_string();
        let mut body = json!({"error_description": text, "error": self.code(), "message": text});
        if let Self::NameInUse { id, .. } = self {
            body["user_id"] = json!(id);
        }
        json_answer_with(self.status_code(), &body)
    }
}
