//! How users and groups look.

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::uaa::directory::{Account, Directory, Group};

pub(super) const SCHEMA: &str = "urn:scim:schemas:core:1.0";

/// A user, with the groups that they are in.
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

/// A group, with its members.
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
