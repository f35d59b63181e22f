//! Roles: what users may do in organizations and spaces (v3 API, "Roles").

use actix_web::web::{ServiceConfig, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    message::Relation,
    organizations::ordered_organization,
    resource::{Resource, relation},
    spaces::ordered_space,
};
use crate::cloud_controller::{
    model::{Role, RoleKey, RoleKind, RoleScope, Tables, User, UserName},
    rejection::Rejection,
};

/// The identity provider of all users.
const ORIGIN: &str = "uaa";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/v3/roles", post().to(create));
}

impl Resource for Role {
    type Row = Self;
    const KIND: &'static str = "Role";
    const PATH: &'static str = "/v3/roles";
    const NAMED: bool = false;
    fn sees(view: &View<'_>, row: &Self) -> bool {
        match &row.location {
            RoleScope::Organization(guid) => view.permissions.sees_organization(guid),
            RoleScope::Space(guid) => view.permissions.sees_space(view.tables, guid),
        }
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let user = view.tables.users.get(&row.user);
        let user = user.map_or("", |user| user.guid.as_str());
        let mut links = json!({"user": view.link(format_args!("/v3/users/{user}"))});
        let nowhere = json!({"data": null});
        let (space, organization) = match &row.location {
            RoleScope::Space(guid) => {
                links["space"] = view.link(format_args!("/v3/spaces/{guid}"));
                (relation(guid), nowhere)
            }
            RoleScope::Organization(guid) => {
                links["organization"] = view.link(format_args!("/v3/organizations/{guid}"));
                (nowhere, relation(guid))
            }
        };
        json!({
            "type": row.kind,
            "relationships": {"user": relation(user), "space": space, "organization": organization},
            "links": links,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    #[serde(rename = "type")]
    kind: RoleKind,
    relationships: Relationships,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Relationships {
    user: UserRelation,
    organization: Option<Relation>,
    space: Option<Relation>,
}

#[derive(Deserialize)]
struct UserRelation {
    data: WantedUser,
}

/// A user by guid, or by name and origin.
#[derive(Deserialize)]
struct WantedUser {
    guid: Option<String>,
    username: Option<String>,
    origin: Option<String>,
}

async fn create(call: Call) -> Response {
    let wanted: Create = call.message()?;
    call.change(|tables| {
        let location = wanted.location(&call.view(tables))?;
        let user = wanted.user(tables, &location)?;
        let role = Role::new(wanted.kind, user, location);
        must_be_new(tables, &role)?;
        let guid = tables.add_role(role);
        call.created::<Role>(tables, guid.as_str())
    })
}

impl Create {
    /// Where the role is to be, if the caller may give it there.
    fn location(&self, view: &View<'_>) -> Result<RoleScope, Rejection> {
        let is_of_space = matches!(
            self.kind,
            RoleKind::SpaceAuditor
                | RoleKind::SpaceDeveloper
                | RoleKind::SpaceManager
                | RoleKind::SpaceSupporter
        );
        match (&self.relationships.space, &self.relationships.organization) {
            (Some(space), None) if is_of_space => {
                let guid = ordered_space(view, &space.data.guid)?;
                view.permissions.must_manage(view.tables, &guid)?;
                Ok(RoleScope::Space(guid))
            }
            (None, Some(organization)) if !is_of_space => {
                let guid = ordered_organization(view, &organization.data.guid, "that ")?;
                view.permissions
                    .must_manage_organization(view.tables, &guid)?;
                Ok(RoleScope::Organization(guid))
            }
            _ => Err(Rejection::unprocessable(
                "Role type does not match the relationships given",
            )),
        }
    }

    /// The user who gets the role. A role in a space needs a role in its organization.
    fn user(&self, tables: &Tables, location: &RoleScope) -> Result<UserName, Rejection> {
        let WantedUser {
            guid,
            username,
            origin,
        } = &self.relationships.user.data;
        let known = tables.users.values().find(|user| match (guid, username) {
            (Some(guid), _) => user.guid == *guid,
            (None, Some(name)) => user.name.as_str() == name,
            (None, None) => false,
        });
        let known = known.filter(|_| origin.as_deref().is_none_or(|origin| origin == ORIGIN));
        let organization = match location {
            RoleScope::Organization(_) => None,
            RoleScope::Space(space) => Some(tables.spaces.get(space).map(|row| &row.organization)),
        };
        let is_member = |user: &User| match organization {
            None => true,
            Some(organization) => {
                let mut roles = tables.roles.with(RoleKey::User(user.name.clone()));
                roles.any(|role| match &role.location {
                    RoleScope::Organization(guid) => Some(guid) == organization,
                    RoleScope::Space(_) => false,
                })
            }
        };
        if let Some(user) = known.filter(|user| is_member(user)) {
            return Ok(user.name.clone());
        }
        Err(Rejection::unprocessable(match (organization, origin) {
            (Some(_), _) => {
                "Users cannot be assigned roles in a space if they do not have a role in that space's organization."
                    .to_owned()
            }
            (None, origin) => {
                let name = username.as_deref().or(guid.as_deref()).unwrap_or_default();
                let origin = origin.as_ref().map(|origin| format!(" and origin '{origin}'"));
                let origin = origin.unwrap_or_default();
                format!("No user exists with the username '{name}'{origin}.")
            }
        }))
    }
}

fn must_be_new(tables: &Tables, role: &Role) -> Result<(), Rejection> {
    let mut there = tables.roles.with(RoleKey::User(role.user.clone()));
    if !there.any(|other| other.kind == role.kind && other.location == role.location) {
        return Ok(());
    }
    let (kind, name) = match &role.location {
        RoleScope::Organization(guid) => (
            "organization",
            tables.organizations.get(guid).map(|row| &row.name),
        ),
        RoleScope::Space(guid) => ("space", tables.spaces.get(guid).map(|row| &row.name)),
    };
    Err(Rejection::unprocessable(format!(
        "User '{}' already has '{}' role in {kind} '{}'.",
        role.user,
        role.kind.name(),
        name.map_or("", String::as_str)
    )))
}
