//! `/Users` and `/Groups`: the part of SCIM 1.1 that the `uaa` and `cf` command lines need to create users, grant
//! rights and delete users (`spec/contracts/platform-apis.md`, "Users and groups").
//!
//! | module | contents |
//! | --- | --- |
//! | `accounts` | create, read, update, delete, list users |
//! | `status` | passwords, locks |
//! | `groups` | groups and their members |
//! | `shown` | the form of users, groups and errors |

mod accounts;
mod groups;
mod shown;
mod status;

use actix_web::web::ServiceConfig;
use serde::de::DeserializeOwned;

use shown::UserRejection;

/// The scopes that each kind of request needs one of.
const READ: &[&str] = &["scim.read", "zones.uaa.admin", "uaa.admin"];
const WRITE: &[&str] = &["scim.write", "zones.uaa.admin", "uaa.admin"];
const CREATE: &[&str] = &["scim.write", "scim.create", "zones.uaa.admin", "uaa.admin"];

pub(super) fn routes(app: &mut ServiceConfig) {
    status::routes(app);
    accounts::routes(app);
    groups::routes(app);
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, UserRejection> {
    serde_json::from_slice(body).map_err(|_| UserRejection::Unreadable)
}
