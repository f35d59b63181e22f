//! Users: those who have sent a token, and those who were registered (v3 API, "Users").

use actix_web::web::{ServiceConfig, delete, post};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    call::{Call, View},
    message::checked_metadata,
    query::Query,
    resource::{Resource, no_metadata, reads},
};
use crate::cloud_controller::{
    model::{JobOperation, MetadataChange, RoleKey, RoleScope, Tables, User, UserName},
    rejection::Rejection,
};

pub(super) const ORIGIN: &str = "uaa";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<User>)
        .route("/v3/users", post().to(create))
        .route("/v3/users/{guid}", delete().to(remove));
}

impl Resource for User {
    type Row<'a> = &'a Self;
    const KIND: &'static str = "User";
    const PATH: &'static str = "/v3/users";
    const NAMED: bool = false;
    const FILTERS: &'static [&'static str] = &["usernames", "partial_usernames", "origins"];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.users.values().collect()
    }

    /// Users see themselves and those who have a role in an organization of theirs.
    fn sees(view: &View<'_>, row: &&Self) -> bool {
        let mut roles = view.tables.roles.with(RoleKey::User(row.name.clone()));
        view.permissions.sees_everything()
            || row.name == view.caller.name
            || roles.any(|role| match &role.location {
                RoleScope::Organization(guid) => view.permissions.sees_organization(guid),
                RoleScope::Space(_) => false,
            })
    }

    fn admits(_view: &View<'_>, query: &Query, row: &&Self) -> bool {
        let name = row.name.as_str();
        let parts = query.wanted("partial_usernames");
        query.admits("usernames", name)
            && query.admits("origins", ORIGIN)
            && parts.is_none_or(|parts| parts.iter().any(|part| name.contains(part.as_str())))
    }

    fn body(_view: &View<'_>, row: &&Self) -> Value {
        // Clients are users without a name.
        let is_client = row.guid == row.name.as_str();
        let name = (!is_client).then(|| row.name.as_str());
        json!({
            "username": name,
            "presentation_name": row.name,
            "origin": name.map(|_| ORIGIN),
            "metadata": no_metadata(),
        })
    }
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
async fn create(call: Call) -> Answer {
    call.caller.must_be_admin()?;
    let wanted: Create = call.message()?;
    checked_metadata(wanted.metadata)?;
    let guid = wanted.guid.filter(|guid| !guid.is_empty()).ok_or_else(|| {
        Rejection::unprocessable("Guid or 'username' and 'origin' must be provided")
    })?;
    let name = call.controller.0.uaa.user_name(&guid);
    let name = UserName::new(name.as_deref().unwrap_or(&guid));
    call.change(|tables| {
        if tables.users.values().any(|user| user.guid == guid) {
            return Err(Rejection::unprocessable(format!(
                "User with guid '{guid}' already exists."
            )));
        }
        let user = User {
            name: name.clone(),
            guid: guid.clone(),
            created_at: Timestamp::now(),
        };
        tables.users.insert(name, user);
        call.created::<User>(tables, &guid)
    })
}

/// Forgets a user with all roles. The UAA's user is the UAA's to delete.
async fn remove(call: Call) -> Answer {
    call.change(|tables| {
        let name = call.view(tables).visible::<User>(call.guid())?.name.clone();
        call.caller.must_be_admin()?;
        tables.roles.remove_with(&RoleKey::User(name.clone()));
        tables.users.remove(&name);
        Ok(call.deleted(tables, JobOperation::DeleteUser))
    })
}

impl Tables {
    /// The UAA's id of a user. One who has never been here has none yet.
    pub(super) fn user_guid(&self, name: &UserName) -> &str {
        self.users.get(name).map_or("", |user| user.guid.as_str())
    }
}
