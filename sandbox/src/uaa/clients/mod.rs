//! `/oauth/clients`: administering clients (`spec/contracts/platform-apis.md`, "Clients").
//!
//! | module | what is in it |
//! | --- | --- |
//! | `administration` | create, read, update, delete, list |
//! | `secrets` | a client's secrets, two at most |
//! | `rules`, `rejection` | what is sent, what it may say, what becomes of it |

mod administration;
mod rejection;
mod rules;
mod secrets;

use actix_web::{HttpResponse, web::ServiceConfig};

use rejection::ClientRejection;
use rules::ClientBody;

type Response = Result<HttpResponse, ClientRejection>;

/// The scopes that each kind of request needs one of.
const READ: &[&str] = &[
    "uaa.admin",
    "zones.uaa.admin",
    "clients.admin",
    "clients.read",
];
const WRITE: &[&str] = &[
    "uaa.admin",
    "zones.uaa.admin",
    "clients.admin",
    "clients.write",
];
const SECRET: &[&str] = &[
    "uaa.admin",
    "zones.uaa.admin",
    "clients.admin",
    "clients.secret",
];
const ADMIN: &[&str] = &["uaa.admin", "zones.uaa.admin", "clients.admin"];

pub(super) fn routes(app: &mut ServiceConfig) {
    secrets::routes(app);
    administration::routes(app);
}
