//! Users: those who have sent a token, and those who were registered (v3 API, "Users").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    message::{checked_metadata, message},
    ok,
    permissions::Permissions,
    present::{created, metadata, stamp},
    query::Query,
    roles::ORIGIN,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Job, JobOperation, JobResource, JobState, Metadata, MetadataChange, RoleKey, RoleScope,
        Tables, User, UserName,
    },
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/users")
            .route(get().to(list))
            .route(post().to(create)),
    )
    .service(
        resource("/v3/users/{guid}")
            .route(get().to(one))
            .route(delete().to(remove)),
    );
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let allowed = ["usernames", "partial_usernames", "origins"];
    let query = Query::unnamed(&request, &allowed)?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &&User| {
            let parts = query.wanted("partial_usernames");
            query.admits_row(row)
                && query.admits("usernames", row.name.as_str())
                && query.admits("origins", ORIGIN)
                && parts.is_none_or(|parts| {
                    parts
                        .iter()
                        .any(|part| row.name.as_str().contains(part.as_str()))
                })
                && sees(tables, &caller, &permissions, row)
        };
        let page = query.page(&controller, tables.users.values().filter(seen).collect());
        Ok(ok(&page.presented(|user| controller.user(user))))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let user = tables
            .users
            .values()
            .find(|user| user.guid == *guid && sees(tables, &caller, &permissions, user));
        Ok(ok(
            &controller.user(user.ok_or_else(|| Rejection::no_such("User"))?)
        ))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    guid: Option<String>,
    #[serde(default)]
    metadata: MetadataChange,
}

/// Registers a user of the UAA, as `cf create-user` does with the id from the UAA (`cloud_controller_ng`,
/// `app/actions/user_create.rb`; cf CLI, `actor/v7action/user.go`). A user that the UAA does not have has no name here.
async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    caller.must_be_admin()?;
    let wanted: Create = message(&body)?;
    checked_metadata(wanted.metadata)?;
    let guid = wanted.guid.filter(|guid| !guid.is_empty()).ok_or_else(|| {
        Rejection::unprocessable("Guid or 'username' and 'origin' must be provided")
    })?;
    let name = controller.0.uaa.user_name(&guid);
    let name = UserName::new(name.as_deref().unwrap_or(&guid));
    controller.0.state.change(|tables| {
        if tables.users.values().any(|user| user.guid == guid) {
            return Err(Rejection::unprocessable(format!(
                "User with guid '{guid}' already exists."
            )));
        }
        let user = User {
            name: name.clone(),
            guid,
            created_at: Timestamp::now(),
        };
        let body = controller.user(&user);
        tables.users.insert(name, user);
        Ok(created(&body))
    })
}

/// Forgets a user with all roles. The UAA's user is the UAA's to delete.
async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let job = controller.0.state.change(|tables| {
        let permissions = caller.permissions(tables);
        let mut users = tables.users.values();
        let user = users
            .find(|user| user.guid == *guid && sees(tables, &caller, &permissions, user))
            .ok_or_else(|| Rejection::no_such("User"))?;
        caller.must_be_admin()?;
        let name = user.name.clone();
        let roles: Vec<_> = tables
            .roles
            .with(RoleKey::User(name.clone()))
            .map(|role| role.guid.clone())
            .collect();
        for role in roles {
            tables.roles.remove(&role);
        }
        tables.users.remove(&name);
        let mut job = Job::new(JobOperation::DeleteUser, JobResource::Gone);
        job.becomes(JobState::Complete);
        Ok(tables.add_job(job))
    })?;
    Ok(controller.accepted(&job))
}

/// Users see themselves and those who have a role in an organization of theirs.
fn sees(tables: &Tables, caller: &Caller, permissions: &Permissions, user: &User) -> bool {
    let mut roles = tables.roles.with(RoleKey::User(user.name.clone()));
    permissions.sees_everything()
        || user.name == caller.name
        || roles.any(|role| match &role.location {
            RoleScope::Organization(guid) => permissions.sees_organization(guid),
            RoleScope::Space(_) => false,
        })
}

impl Tables {
    /// The UAA's id of a user. One who has never been here has none yet.
    pub(super) fn user_guid(&self, name: &UserName) -> &str {
        self.users.get(name).map_or("", |user| user.guid.as_str())
    }
}

impl CloudController {
    pub(super) fn user(&self, user: &User) -> Value {
        // Clients are users without a name.
        let is_client = user.guid == user.name.as_str();
        let name = (!is_client).then(|| user.name.as_str());
        json!({
            "guid": user.guid,
            "created_at": stamp(user.created_at),
            "updated_at": stamp(user.created_at),
            "username": name,
            "presentation_name": user.name,
            "origin": name.map(|_| ORIGIN),
            "metadata": metadata(&Metadata::default()),
            "links": {"self": self.link(format_args!("/v3/users/{}", user.guid))},
        })
    }
}
