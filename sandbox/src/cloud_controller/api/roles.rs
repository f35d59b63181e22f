//! Roles: what users may do in organizations and spaces (v3 API, "Roles").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, resource},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::{Included, Page},
    message::message,
    ok,
    permissions::Permissions,
    present::{created, relation, stamp},
    query::Query,
    spaces::no_such_space,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Job, JobOperation, JobResource, JobState, OrganizationGuid, Role, RoleGuid, RoleKey,
        RoleKind, RoleScope, SpaceGuid, SpaceKey, Tables, UserName,
    },
    rejection::Rejection,
};

/// The origin of users that the UAA keeps itself.
pub(super) const ORIGIN: &str = "uaa";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/roles")
            .route(get().to(list))
            .route(post().to(create)),
    )
    .service(
        resource("/v3/roles/{guid}")
            .route(get().to(one))
            .route(delete().to(remove)),
    );
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let allowed = [
        "organization_guids",
        "space_guids",
        "user_guids",
        "types",
        "include",
    ];
    let query = Query::unnamed(&request, &allowed)?;
    let include = query.include(&["user", "space", "organization"])?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &&Role| {
            query.admits_row(row)
                && query.admits("types", row.kind.name())
                && query.admits("user_guids", tables.user_guid(&row.user))
                && match &row.location {
                    RoleScope::Organization(guid) => {
                        query.admits("organization_guids", guid.as_str())
                            && query.admits_any("space_guids", [].into_iter())
                    }
                    RoleScope::Space(guid) => {
                        query.admits("space_guids", guid.as_str())
                            && query.admits_any("organization_guids", [].into_iter())
                    }
                }
                && sees(tables, &permissions, row)
        };
        let page = query.page(&controller, tables.roles.values().filter(seen).collect());
        let included = included(&controller, tables, &page, include);
        Ok(ok(&included.beside(
            page.presented(|role| controller.role(tables, role)),
        )))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        Ok(ok(
            &controller.role(tables, visible(tables, &caller, &guid)?)
        ))
    })
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
    organization: Option<super::message::Relation>,
    space: Option<super::message::Relation>,
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

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    controller.0.state.change(|tables| {
        let permissions = caller.permissions(tables);
        let location = wanted.location(tables, &permissions)?;
        let user = wanted.user(tables, &location)?;
        let role = Role::new(wanted.kind, user, location);
        must_be_new(tables, &role)?;
        let body = controller.role(tables, &role);
        tables.roles.insert(role.guid.clone(), role);
        Ok(created(&body))
    })
}

impl Create {
    /// Where the role is to be, if the caller may give it there.
    fn location(&self, tables: &Tables, permissions: &Permissions) -> Result<RoleScope, Rejection> {
        let is_of_space = matches!(
            self.kind,
            RoleKind::SpaceAuditor
                | RoleKind::SpaceDeveloper
                | RoleKind::SpaceManager
                | RoleKind::SpaceSupporter
        );
        match (&self.relationships.space, &self.relationships.organization) {
            (Some(space), None) if is_of_space => {
                let guid = SpaceGuid::given(&space.data.guid);
                if !tables.spaces.contains_key(&guid) || !permissions.sees_space(tables, &guid) {
                    return Err(no_such_space());
                }
                permissions.must_manage(tables, &guid)?;
                Ok(RoleScope::Space(guid))
            }
            (None, Some(organization)) if !is_of_space => {
                let guid = OrganizationGuid::given(&organization.data.guid);
                if !tables.organizations.contains_key(&guid)
                    || !permissions.sees_organization(&guid)
                {
                    return Err(Rejection::unprocessable(
                        "Invalid organization. Ensure that the organization exists and you have access to it.",
                    ));
                }
                permissions.must_manage_organization(tables, &guid)?;
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
        let unauthenticated_clients_refused = || {
            Rejection::unprocessable(
                "Users cannot be assigned roles in a space if they do not have a role in that space's organization.",
            )
        };
        match (known, location) {
            (Some(user), RoleScope::Organization(_)) => Ok(user.name.clone()),
            (Some(user), RoleScope::Space(space)) => {
                let organization = tables.spaces.get(space).map(|space| &space.organization);
                let is_member = |role: &Role| match &role.location {
                    RoleScope::Organization(guid) => Some(guid) == organization,
                    RoleScope::Space(_) => false,
                };
                let mut roles = tables.roles.with(RoleKey::User(user.name.clone()));
                if roles.any(is_member) {
                    Ok(user.name.clone())
                } else {
                    Err(unauthenticated_clients_refused())
                }
            }
            (None, RoleScope::Space(_)) => Err(unauthenticated_clients_refused()),
            (None, RoleScope::Organization(_)) => {
                let name = username.as_deref().or(guid.as_deref()).unwrap_or_default();
                Err(Rejection::unprocessable(match origin {
                    Some(origin) => {
                        format!("No user exists with the username '{name}' and origin '{origin}'.")
                    }
                    None => format!("No user exists with the username '{name}'."),
                }))
            }
        }
    }
}

fn must_be_new(tables: &Tables, role: &Role) -> Result<(), Rejection> {
    let mut there = tables.roles.with(RoleKey::User(role.user.clone()));
    if !there.any(|other| other.kind == role.kind && other.location == role.location) {
        return Ok(());
    }
    let location = match &role.location {
        RoleScope::Organization(guid) => tables
            .organizations
            .get(guid)
            .map(|row| format!("organization '{}'", row.name)),
        RoleScope::Space(guid) => tables
            .spaces
            .get(guid)
            .map(|row| format!("space '{}'", row.name)),
    };
    Err(Rejection::unprocessable(format!(
        "User '{}' already has '{}' role in {}.",
        role.user,
        role.kind.name(),
        location.unwrap_or_default()
    )))
}

async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let job = controller.0.state.change(|tables| {
        let role = visible(tables, &caller, &guid)?.clone();
        let permissions = caller.permissions(tables);
        match &role.location {
            RoleScope::Space(space) => permissions.must_manage(tables, space)?,
            RoleScope::Organization(organization) => {
                permissions.must_manage_organization(tables, organization)?;
                let in_its_spaces = |space: &SpaceGuid| {
                    let mut roles = tables.roles.with(RoleKey::Space(space.clone()));
                    roles.any(|other| other.user == role.user)
                };
                let mut spaces = tables
                    .spaces
                    .with(SpaceKey::Organization(organization.clone()));
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
        let mut job = Job::new(JobOperation::DeleteRole, JobResource::Gone);
        job.becomes(JobState::Complete);
        Ok(tables.add_job(job))
    })?;
    Ok(controller.accepted(&job))
}

fn visible<'a>(tables: &'a Tables, caller: &Caller, guid: &str) -> Result<&'a Role, Rejection> {
    tables
        .roles
        .get(&RoleGuid::given(guid))
        .filter(|role| sees(tables, &caller.permissions(tables), role))
        .ok_or_else(|| Rejection::no_such("Role"))
}

fn sees(tables: &Tables, permissions: &Permissions, role: &Role) -> bool {
    match &role.location {
        RoleScope::Organization(guid) => permissions.sees_organization(guid),
        RoleScope::Space(guid) => permissions.sees_space(tables, guid),
    }
}

fn included(
    controller: &CloudController,
    tables: &Tables,
    page: &Page<&Role>,
    include: &[String],
) -> Included {
    let mut included = Included::default();
    let wants = |what: &str| include.iter().any(|item| item == what);
    for (item, kind) in [
        ("user", "users"),
        ("space", "spaces"),
        ("organization", "organizations"),
    ] {
        if wants(item) {
            included.of(kind);
        }
    }
    for role in &page.rows {
        if let Some(user) = tables.users.get(&role.user).filter(|_| wants("user")) {
            included.add("users", &user.guid, || controller.user(user));
        }
        match &role.location {
            RoleScope::Space(guid) if wants("space") => {
                if let Some(space) = tables.spaces.get(guid) {
                    included.add("spaces", guid.as_str(), || controller.space(space));
                }
            }
            RoleScope::Organization(guid) if wants("organization") => {
                if let Some(row) = tables.organizations.get(guid) {
                    included.add("organizations", guid.as_str(), || {
                        controller.organization(row)
                    });
                }
            }
            RoleScope::Space(_) | RoleScope::Organization(_) => {}
        }
    }
    included
}

impl CloudController {
    fn role(&self, tables: &Tables, role: &Role) -> Value {
        let user = tables.user_guid(&role.user);
        let mut links = json!({
            "self": self.link(format_args!("/v3/roles/{}", role.guid)),
            "user": self.link(format_args!("/v3/users/{user}")),
        });
        let nowhere = json!({"data": null});
        let (space, organization) = match &role.location {
            RoleScope::Space(guid) => {
                links["space"] = self.link(format_args!("/v3/spaces/{guid}"));
                (relation(guid), nowhere)
            }
            RoleScope::Organization(guid) => {
                links["organization"] = self.link(format_args!("/v3/organizations/{guid}"));
                (nowhere, relation(guid))
            }
        };
        json!({
            "guid": role.guid,
            "created_at": stamp(role.created_at),
            "updated_at": stamp(role.created_at),
            "type": role.kind,
            "relationships": {"user": relation(user), "space": space, "organization": organization},
            "links": links,
        })
    }
}
