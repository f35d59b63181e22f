//! Whether and with what a user may log in.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Bytes, Data, Path, ServiceConfig},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{UserRejection, accounts::known, parsed};
use crate::uaa::{
    Uaa,
    caller::{Caller, json_answer},
    directory::now,
};

const PASSWORD: &[&str] = &["password.write", "uaa.admin"];
/// Those who may set a password without knowing the old one.
const PASSWORD_OF_OTHERS: &[&str] = &["uaa.admin", "zones.uaa.admin"];
const STATUS: &[&str] = &[
    "scim.write",
    "uaa.account_status.write",
    "zones.uaa.admin",
    "uaa.admin",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    let at = |path: &str| web::resource(format!("/Users/{{user}}/{path}"));
    app.service(at("password").route(web::put().to(change_password)))
        .service(at("status").route(web::patch().to(change_status)));
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PasswordChange {
    old_password: Option<SecretString>,
    password: SecretString,
}

async fn change_password(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, UserRejection> {
    let caller = Caller::of(&uaa, &request)?;
    caller.must_have_any(PASSWORD)?;
    let change: PasswordChange = parsed(&body)?;
    let mut directory = uaa.directory();
    let mut user = known(&directory, &id)?.clone();
    // A client has no password of its own to show; a user shows the old one, but for administrators.
    let is_trusted = caller.user_id.is_none()
        || caller.has_any(PASSWORD_OF_OTHERS) && caller.user_id != Some(user.id);
    let shown = change.old_password.unwrap_or_default();
    if !is_trusted {
        if caller.user_id != Some(user.id) {
            return Err(UserRejection::BadPassword(
                "Bad request. Not permitted to change another user's password",
            ));
        }
        if !user.password.is(shown.expose_secret()) {
            return Err(UserRejection::BadPassword("Old password is incorrect"));
        }
    }
    if user.password.is(change.password.expose_secret()) {
        return Err(UserRejection::BadPassword(
            "Your new password cannot be the same as the old password.",
        ));
    }
    user.password = change.password.into();
    user.password_last_modified = now();
    user.changed();
    directory.users.insert(user.id, user);
    directory.save();
    Ok(json_answer(
        &json!({"status": "ok", "message": "password updated"}),
    ))
}

async fn change_status(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(STATUS)?;
    let status: Value = parsed(&body)?;
    let mut directory = uaa.directory();
    let user = known(&directory, &id)?.id;
    match status["locked"].as_bool() {
        Some(true) => {
            return Err(UserRejection::Invalid(
                "Cannot set user account to locked. User accounts only become locked through exceeding the allowed failed login attempts.",
            ));
        }
        Some(false) => directory.lockout.forget(user),
        None => {}
    }
    Ok(json_answer(&status))
}
