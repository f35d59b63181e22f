//! How users and groups look.
//!
//! Why a request about users or groups is refused.

use actix_web::{HttpResponse, ResponseError, http::StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::uaa::{
    caller::{Denied, json_answer_with},
    directory::{Account, Directory, Group},
    scim::RefusedQuery,
};

pub(super) const SCHEMA: &str = "urn:scim:schemas:core:1.0";

pub(super) fn user(directory: &Directory, user: &Account) -> Value {
    let id_of = |name: &String| directory.groups.get(name).map(|group| group.id);
    let groups: Vec<_> = user
        .groups
        .iter()
        .filter_map(|name| Some((id_of(name)?, name)))
        .map(|(id, name)| json!({"value": id, "display": name, "type": "DIRECT"}))
        .collect();
    let mut shown = json!({
        "id": user.id,
        "externalId": user.external_id,
        "meta": {
            "version": user.version, "created": time(user.created), "lastModified": time(user.last_modified),
        },
        "userName": user.name,
        "name": {"familyName": user.family_name, "givenName": user.given_name},
        "emails": [{"value": user.email, "primary": true}],
        "groups": groups,
        "approvals": [],
        "active": user.active,
        "verified": user.verified,
        "origin": user.origin,
        "zoneId": "uaa",
        "passwordLastModified": time(user.password_last_modified),
        "schemas": [SCHEMA],
    });
    for object in ["/name", ""] {
        if let Some(Value::Object(members)) = shown.pointer_mut(object) {
            members.retain(|_, value| !value.is_null());
        }
    }
    shown
}

pub(super) fn group(directory: &Directory, name: &str, group: &Group) -> Value {
    let members: Vec<_> = members(directory, name).map(member).collect();
    let mut shown = json!({
        "id": group.id,
        "meta": {"version": 0, "created": time(group.created), "lastModified": time(group.created)},
        "displayName": name,
        "zoneId": "uaa",
        "description": group.description,
        "members": members,
        "schemas": [SCHEMA],
    });
    if let Value::Object(members) = &mut shown {
        members.retain(|_, value| !value.is_null());
    }
    shown
}

pub(super) fn members<'a>(
    directory: &'a Directory,
    group: &'a str,
) -> impl Iterator<Item = Uuid> + 'a {
    let users = directory.users.values();
    users
        .filter(move |user| user.groups.contains(group))
        .map(|user| user.id)
}

pub(super) fn member(user: Uuid) -> Value {
    json!({"origin": "uaa", "type": "USER", "value": user})
}

fn time(milliseconds: i64) -> String {
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

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
