//! Create, read, update, delete, list users.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{ETAG, IF_MATCH},
    },
    web::{self, Bytes, Data, Path, Query, ServiceConfig},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{CREATE, READ, UserRejection, WRITE, parsed, shown};
use crate::uaa::{
    Uaa,
    caller::{Caller, json_answer, json_answer_with},
    directory::{Account, Directory, OWN_ORIGIN},
    scim::{ItemsPerPage, Kind, ListQuery},
};

const KIND: Kind = Kind {
    attributes: &[
        "id",
        "userName",
        "externalId",
        "emails",
        "email",
        "emails.value",
        "givenName",
        "name.givenName",
        "familyName",
        "name.familyName",
        "groups.display",
        "active",
        "verified",
        "origin",
        "created",
        "meta.created",
        "lastModified",
        "meta.lastModified",
        "version",
        "meta.version",
    ],
    sorted_by: "meta.created",
    schema: shown::SCHEMA,
    items_per_page: ItemsPerPage::Asked,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/Users")
            .route(web::get().to(list))
            .route(web::post().to(create)),
    )
    .service(
        web::resource("/Users/{user}")
            .route(web::put().to(update))
            .route(web::patch().to(update))
            .route(web::delete().to(delete)),
    );
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserBody {
    user_name: Option<String>,
    password: Option<SecretString>,
    name: Option<Name>,
    #[serde(default)]
    emails: Vec<Email>,
    external_id: Option<String>,
    origin: Option<String>,
    active: Option<bool>,
    verified: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Name {
    given_name: Option<String>,
    family_name: Option<String>,
}

#[derive(Deserialize)]
struct Email {
    value: Option<String>,
    #[serde(default)]
    primary: bool,
}

impl UserBody {
    /// The address that counts: the primary one, or the first.
    fn email(&self) -> Option<&str> {
        let primary = self.emails.iter().find(|email| email.primary);
        let email = primary.or_else(|| self.emails.first())?;
        email.value.as_deref().filter(|email| !email.is_empty())
    }

    /// Makes the user what was sent; what was not sent stays.
    fn apply(self, user: &mut Account) {
        if let Some(email) = self.email() {
            email.clone_into(&mut user.email);
        }
        if let Some(name) = self.user_name {
            user.name = name;
        }
        if let Some(name) = self.name {
            user.given_name = name.given_name.or(user.given_name.take());
            user.family_name = name.family_name.or(user.family_name.take());
        }
        user.external_id = self.external_id.or(user.external_id.take());
        user.active = self.active.unwrap_or(user.active);
        user.verified = self.verified.unwrap_or(user.verified);
    }
}

async fn list(
    uaa: Data<Uaa>,
    request: HttpRequest,
    query: Query<ListQuery>,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(READ)?;
    let directory = uaa.directory();
    let users = directory.users.values();
    let users = users.map(|user| shown::user(&directory, user)).collect();
    Ok(json_answer(&query.page(&KIND, users)?))
}

async fn create(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(CREATE)?;
    let body: UserBody = parsed(&body)?;
    let name = body
        .user_name
        .clone()
        .filter(|name| !name.is_empty())
        .ok_or(UserRejection::Invalid("A username must be provided."))?;
    if body.email().is_none() {
        return Err(UserRejection::Invalid(
            "Exactly one email must be provided.",
        ));
    }
    let origin = body
        .origin
        .clone()
        .filter(|origin| !origin.is_empty())
        .unwrap_or_else(|| OWN_ORIGIN.to_owned());
    let password = body.password.clone().unwrap_or_default();
    if origin == OWN_ORIGIN && password.expose_secret().is_empty() {
        return Err(UserRejection::BadPassword("Password must be provided."));
    }
    let mut directory = uaa.directory();
    if let Some(user) = directory.user_of(&origin, &name) {
        return Err(UserRejection::NameInUse { name, id: user.id });
    }
    let mut user = Account {
        origin,
        ..Account::new(Uuid::new_v4(), name, password)
    };
    body.apply(&mut user);
    let shown = shown::user(&directory, &user);
    directory.users.insert(user.id, user.clone());
    directory.save();
    Ok(tagged(StatusCode::CREATED, &user, &shown))
}

async fn update(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(WRITE)?;
    let body: UserBody = parsed(&body)?;
    let mut directory = uaa.directory();
    let mut user = known(&directory, &id)?.clone();
    has_version(&request, &user)?;
    if let Some(name) = &body.user_name
        && let Some(other) = directory.user_of(&user.origin, name)
        && other.id != user.id
    {
        let (name, id) = (name.clone(), other.id);
        return Err(UserRejection::NameInUse { name, id });
    }
    body.apply(&mut user);
    user.changed();
    directory.users.insert(user.id, user.clone());
    directory.save();
    let shown = shown::user(&directory, &user);
    Ok(tagged(StatusCode::OK, &user, &shown))
}

async fn delete(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(WRITE)?;
    let mut directory = uaa.directory();
    let user = known(&directory, &id)?.clone();
    if request.headers().contains_key(IF_MATCH) {
        has_version(&request, &user)?;
    }
    let shown = shown::user(&directory, &user);
    directory.users.remove(&user.id);
    directory.lockout.forget(user.id);
    directory.save();
    Ok(json_answer(&shown))
}

pub(super) fn known<'a>(directory: &'a Directory, id: &str) -> Result<&'a Account, UserRejection> {
    id.parse()
        .ok()
        .and_then(|id: Uuid| directory.users.get(&id))
        .ok_or_else(|| UserRejection::NoUser(id.to_owned()))
}

/// A change of a user names the version that the client has read, or `*`.
fn has_version(request: &HttpRequest, user: &Account) -> Result<(), UserRejection> {
    let version = request.headers().get(IF_MATCH);
    let version = version
        .and_then(|version| version.to_str().ok())
        .ok_or(UserRejection::NoVersion)?
        .trim()
        .trim_matches('"');
    if version == "*" {
        return Ok(());
    }
    let found = version.parse().map_err(|_| {
        UserRejection::Invalid("Invalid version match header (should be a version number)")
    })?;
    if found == user.version {
        return Ok(());
    }
    Err(UserRejection::OtherVersion {
        id: user.id,
        expected: user.version,
        found,
    })
}

fn tagged(status: StatusCode, user: &Account, shown: &Value) -> HttpResponse {
    let mut answer = json_answer_with(status, shown);
    if let Ok(tag) = format!("\"{}\"", user.version).parse() {
        answer.headers_mut().insert(ETAG, tag);
    }
    answer
}
