//! Roles: what users may do in organizations and spaces (v3 API, "Roles").

use actix_web::web::{ServiceConfig, delete, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    call::{Call, View},
    message::Relation,
    organizations::ordered_organization,
    query::Query,
    resource::{Included, Resource, reads, relation},
    spaces::ordered_space,
    users::ORIGIN,
};
use crate::cloud_controller::{
    model::{
        JobOperation, Organization, Role, RoleKey, RoleKind, RoleScope, Space, SpaceGuid, SpaceKey,
        Tables, User, UserName,
    },
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<Role>)
        .route("/v3/roles", post().to(create))
        .route("/v3/roles/{guid}", delete().to(remove));
}

impl Resource for Role {
    type Row<'a> = &'a Self;
    const KIND: &'static str = "Role";
    const PATH: &'static str = "/v3/roles";
    const NAMED: bool = false;
    const FILTERS: &'static [&'static str] =
        &["organization_guids", "space_guids", "user_guids", "types"];
    const INCLUDES: &'static [(&'static str, &'static str)] = &[
        ("user", "users"),
        ("space", "spaces"),
        ("organization", "organizations"),
    ];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.roles.values().collect()
    }

    fn sees(view: &View<'_>, row: &&Self) -> bool {
        match &row.location {
            RoleScope::Organization(guid) => view.permissions.sees_organization(guid),
            RoleScope::Space(guid) => view.permissions.sees_space(view.tables, guid),
        }
    }

    fn admits(view: &View<'_>, query: &Query, row: &&Self) -> bool {
        let (organization, space) = match &row.location {
            RoleScope::Organization(guid) => (Some(guid.as_str()), None),
            RoleScope::Space(guid) => (None, Some(guid.as_str())),
        };
        query.admits("types", row.kind.name())
            && query.admits("user_guids", view.tables.user_guid(&row.user))
            && query.admits_any("organization_guids", organization.into_iter())
            && query.admits_any("space_guids", space.into_iter())
    }

    fn body(view: &View<'_>, row: &&Self) -> Value {
        let user = view.tables.user_guid(&row.user);
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

    fn include(view: &View<'_>, query: &Query, row: &&Self, beside: &mut Included) {
        let user = view.tables.users.get(&row.user);
        if let Some(user) = user.filter(|_| query.includes("user")) {
            beside.add::<User>(view, user);
        }
        match &row.location {
            RoleScope::Space(guid) if query.includes("space") => {
                if let Some(space) = view.tables.spaces.get(guid) {
                    beside.add::<Space>(view, space);
                }
            }
            RoleScope::Organization(guid) if query.includes("organization") => {
                if let Some(organization) = view.tables.organizations.get(guid) {
                    beside.add::<Organization>(view, organization);
                }
            }
            RoleScope::Space(_) | RoleScope::Organization(_) => {}
        }
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

async fn create(call: Call) -> Answer {
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

async fn remove(call: Call) -> Answer {
    call.change(|tables| {
        let view = call.view(tables);
        let role = view.visible::<Role>(call.guid())?.clone();
        match &role.location {
            RoleScope::Space(space) => view.permissions.must_manage(tables, space)?,
            RoleScope::Organization(organization) => {
                view.permissions.must_manage_organization(tables, organization)?;
                let in_its_spaces = |space: &SpaceGuid| {
                    let mut roles = tables.roles.with(RoleKey::Space(space.clone()));
                    roles.any(|other| other.user == role.user)
                };
                let mut spaces = tables.spaces.with(SpaceKey::Organization(organization.clone()));
                if role.kind == RoleKind::OrganizationUser
                    && spaces.any(|space| in_its_spaces(&space.guid))
                {
                    return Err(Rejection::unprocessable(
                        "Cannot delete organization_user role while user has roles in spaces in that organization.",
                    ));
                }
            }
        }
        tables.roles.remove(&role.guid);
        Ok(call.deleted(tables, JobOperation::DeleteRole))
    })
}
