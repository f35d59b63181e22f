//! `/oauth/token/revoke` and `/oauth/token/list`: ending tokens before their time. JWTs end where the UAA is asked
//! about them; the servers behind it go on taking them until they expire, as real ones do
//! (`spec/contracts/platform-apis.md`, "Inspecting and revoking tokens").

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data, Path, ServiceConfig},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::claims::token_id;
use crate::uaa::{
    Uaa,
    answer::json_answer,
    caller::{Caller, Denied},
    directory::RevocableToken,
};

const REVOKE: &[&str] = &["uaa.admin", "tokens.revoke", "zones.uaa.admin"];
const LIST: &[&str] = &["uaa.admin", "tokens.list", "zones.uaa.admin"];
const SALT_LENGTH: usize = 8;

pub(super) fn routes(app: &mut ServiceConfig) {
    let at = |path: &'static str| web::resource(format!("/oauth/token/{path}"));
    app.service(
        at("revoke/user/{user}/client/{client}").route(web::to(revoke_users_tokens_of_client)),
    )
    .service(at("revoke/user/{user}").route(web::to(revoke_users_tokens)))
    .service(at("revoke/client/{client}").route(web::to(revoke_clients_tokens)))
    .service(at("revoke/{token}").route(web::delete().to(revoke_token)))
    .service(at("list").route(web::get().to(own_tokens)))
    .service(at("list/user/{user}").route(web::get().to(users_tokens)))
    .service(at("list/client/{client}").route(web::get().to(clients_tokens)));
}

async fn revoke_users_tokens(
    uaa: Data<Uaa>,
    request: HttpRequest,
    user: Path<String>,
) -> Result<HttpResponse, Denied> {
    let caller = Caller::of(&uaa, &request)?;
    let user = id(&user)?;
    if caller.user_id != Some(user) {
        caller.must_have_any(REVOKE)?;
    }
    let mut directory = uaa.directory();
    let account = directory.users.get_mut(&user).ok_or(Denied::NoSuchToken)?;
    account.salt = salt();
    account.changed();
    directory
        .revocable_tokens
        .retain(|_, token| token.user_id != Some(user));
    directory.save();
    Ok(HttpResponse::Ok().finish())
}

async fn revoke_users_tokens_of_client(
    uaa: Data<Uaa>,
    request: HttpRequest,
    path: Path<(String, String)>,
) -> Result<HttpResponse, Denied> {
    let caller = Caller::of(&uaa, &request)?;
    let (user, client) = path.into_inner();
    let user = id(&user)?;
    if caller.user_id != Some(user) && caller.client_id != client {
        caller.must_have_any(REVOKE)?;
    }
    let mut directory = uaa.directory();
    directory
        .revocable_tokens
        .retain(|_, token| token.user_id != Some(user) || token.client_id != client);
    directory.save();
    Ok(HttpResponse::Ok().finish())
}

async fn revoke_clients_tokens(
    uaa: Data<Uaa>,
    request: HttpRequest,
    client: Path<String>,
) -> Result<HttpResponse, Denied> {
    Caller::of(&uaa, &request)?.must_have_any(REVOKE)?;
    let client = client.into_inner();
    let mut directory = uaa.directory();
    let registration = directory
        .clients
        .get_mut(&client)
        .ok_or(Denied::NoSuchToken)?;
    registration.salt_tokens(salt());
    directory
        .revocable_tokens
        .retain(|_, token| token.client_id != client);
    directory.save();
    Ok(HttpResponse::Ok().finish())
}

async fn revoke_token(
    uaa: Data<Uaa>,
    request: HttpRequest,
    token: Path<String>,
) -> Result<HttpResponse, Denied> {
    let caller = Caller::of(&uaa, &request)?;
    let token = token.into_inner();
    let mut directory = uaa.directory();
    let is_own = directory
        .revocable_tokens
        .get(&token)
        .is_some_and(|kept| kept.belongs_to(&caller));
    if !is_own {
        caller.must_have_any(REVOKE)?;
    }
    directory
        .revocable_tokens
        .remove(&token)
        .ok_or(Denied::NoSuchToken)?;
    directory.save();
    Ok(HttpResponse::Ok().finish())
}

async fn own_tokens(uaa: Data<Uaa>, request: HttpRequest) -> Result<HttpResponse, Denied> {
    let caller = Caller::of(&uaa, &request)?;
    Ok(listed(&uaa, |token| token.belongs_to(&caller)))
}

async fn users_tokens(
    uaa: Data<Uaa>,
    request: HttpRequest,
    user: Path<String>,
) -> Result<HttpResponse, Denied> {
    Caller::of(&uaa, &request)?.must_have_any(LIST)?;
    let user = id(&user)?;
    Ok(listed(&uaa, |token| token.user_id == Some(user)))
}

async fn clients_tokens(
    uaa: Data<Uaa>,
    request: HttpRequest,
    client: Path<String>,
) -> Result<HttpResponse, Denied> {
    Caller::of(&uaa, &request)?.must_have_any(LIST)?;
    Ok(listed(&uaa, |token| token.client_id == *client))
}

impl RevocableToken {
    fn belongs_to(&self, caller: &Caller) -> bool {
        match caller.user_id {
            Some(user) => self.user_id == Some(user),
            None => self.user_id.is_none() && self.client_id == caller.client_id,
        }
    }

    /// As the API shows it: the token itself is not shown.
    fn shown(&self, id: &str) -> Value {
        let kind = if id.ends_with("-r") {
            "REFRESH_TOKEN"
        } else {
            "ACCESS_TOKEN"
        };
        json!({
            "tokenId": id, "clientId": self.client_id, "userId": self.user_id, "format": "opaque",
            "responseType": kind, "expiresAt": self.expires * 1000, "zoneId": "uaa", "value": null,
        })
    }
}

fn listed(uaa: &Uaa, wanted: impl Fn(&RevocableToken) -> bool) -> HttpResponse {
    let now = Timestamp::now().as_second();
    let directory = uaa.directory();
    let tokens: Vec<_> = directory
        .revocable_tokens
        .iter()
        .filter(|(_, token)| token.expires > now && wanted(token))
        .map(|(id, token)| token.shown(id))
        .collect();
    json_answer(&json!(tokens))
}

fn id(text: &str) -> Result<Uuid, Denied> {
    text.parse().map_err(|_| Denied::NoSuchToken)
}

fn salt() -> String {
    let mut salt = token_id();
    salt.truncate(SALT_LENGTH);
    salt
}
