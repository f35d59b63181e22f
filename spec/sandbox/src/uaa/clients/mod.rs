//! `/oauth/clients`: administering clients (`spec/contracts/platform-apis.md`, "Clients").
//!
//! | module | what is in it |
//! | --- | --- |
//! | `administration` | create, read, update, delete, list |
//! | `secrets` | a client's secrets, two at most |
//! | `batch` | many at once, all or none |
//! | `restricted` | the same without the rights of the UAA itself |
//! | `metadata` | what the page of applications shows |
//! | `body`, `rules`, `change`, `refusal` | what is sent, what it may say, what becomes of it |

mod administration;
mod batch;
mod body;
mod change;
mod metadata;
mod refusal;
mod restricted;
mod rules;
mod secrets;

use actix_web::web::ServiceConfig;

use self::{body::ClientBody, refusal::ClientRefusal};

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
    // What has a name of its own comes before what takes it for a client's id.
    batch::routes(app);
    restricted::routes(app);
    metadata::routes(app);
    secrets::routes(app);
    administration::routes(app);
}
