//! Users, as far as they have been here (v3 API, "Users").

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use serde_json::{Value, json};

use super::{
    Answer, caller::Caller, ok, permissions::Permissions, present::metadata, present::stamp,
    query::Query, roles::ORIGIN,
};
use crate::cloud_controller::{
    CloudController,
    model::{Metadata, RoleKey, RolePlace, Tables, User, UserName},
    refusal::Refusal,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/users").route(get().to(list)))
        .service(resource("/v3/users/{guid}").route(get().to(one)));
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
            &controller.user(user.ok_or_else(|| Refusal::no_such("User"))?)
        ))
    })
}

/// Users see themselves and those who have a role in an organization of theirs.
fn sees(tables: &Tables, caller: &Caller, permissions: &Permissions, user: &User) -> bool {
    let mut roles = tables.roles.with(RoleKey::User(user.name.clone()));
    permissions.sees_everything()
        || user.name == caller.name
        || roles.any(|role| match &role.place {
            RolePlace::Organization(guid) => permissions.sees_organization(guid),
            RolePlace::Space(_) => false,
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
