//! Groups and who is in them.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data, Path, Query, ServiceConfig},
};
use serde::Deserialize;
use uuid::Uuid;

use super::{READ, UserRejection, WRITE, accounts::known, parsed, shown};
use crate::uaa::{
    Uaa,
    caller::{Caller, json_answer, json_answer_with},
    directory::{Directory, Group},
    scim::{ItemsPerPage, Kind, ListQuery},
};

const KIND: Kind = Kind {
    attributes: &[
        "id",
        "displayName",
        "description",
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
const UPDATE: &[&str] = &[
    "scim.write",
    "groups.update",
    "zones.uaa.admin",
    "uaa.admin",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        web::resource("/Groups")
            .route(web::get().to(list))
            .route(web::post().to(create)),
    )
    .service(web::resource("/Groups/{group}/members").route(web::post().to(add_member)))
    .service(
        web::resource("/Groups/{group}/members/{member}").route(web::delete().to(remove_member)),
    );
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupBody {
    display_name: String,
    description: Option<String>,
    #[serde(default)]
    members: Vec<Member>,
}

#[derive(Deserialize)]
struct Member {
    value: String,
}

async fn list(
    uaa: Data<Uaa>,
    request: HttpRequest,
    query: Query<ListQuery>,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(READ)?;
    let directory = uaa.directory();
    let groups = directory.groups.iter();
    let groups = groups
        .map(|(name, group)| shown::group(&directory, name, group))
        .collect();
    Ok(json_answer(&query.page(&KIND, groups)?))
}

async fn create(
    uaa: Data<Uaa>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(WRITE)?;
    let body: GroupBody = parsed(&body)?;
    let name = body.display_name;
    let mut directory = uaa.directory();
    if directory.groups.contains_key(&name) {
        return Err(UserRejection::GroupExists(name));
    }
    let mut members = Vec::new();
    for member in &body.members {
        members.push(known(&directory, &member.value)?.id);
    }
    let group = Group::new(body.description);
    directory.groups.insert(name.clone(), group.clone());
    for member in members {
        if let Some(user) = directory.users.get_mut(&member) {
            user.groups.insert(name.clone());
        }
    }
    directory.save();
    let shown = shown::group(&directory, &name, &group);
    Ok(json_answer_with(StatusCode::CREATED, &shown))
}

async fn add_member(
    uaa: Data<Uaa>,
    request: HttpRequest,
    id: Path<String>,
    body: Bytes,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(UPDATE)?;
    let member: Member = parsed(&body)?;
    let mut directory = uaa.directory();
    let (name, group) = {
        let (name, group) = group(&directory, &id)?;
        (name.to_owned(), group.id)
    };
    let member = known(&directory, &member.value)?.id;
    let joined = directory
        .users
        .get_mut(&member)
        .is_some_and(|user| user.groups.insert(name.clone()));
    directory.save();
    if joined {
        Ok(json_answer_with(
            StatusCode::CREATED,
            &shown::member(member),
        ))
    } else {
        Err(UserRejection::IsMember { member, group })
    }
}

async fn remove_member(
    uaa: Data<Uaa>,
    request: HttpRequest,
    path: Path<(String, Uuid)>,
) -> Result<HttpResponse, UserRejection> {
    Caller::of(&uaa, &request)?.must_have_any(UPDATE)?;
    let (id, member) = path.into_inner();
    let mut directory = uaa.directory();
    let (name, group) = {
        let (name, group) = group(&directory, &id)?;
        (name.to_owned(), group.id)
    };
    let left = directory
        .users
        .get_mut(&member)
        .is_some_and(|user| user.groups.remove(&name));
    directory.save();
    if left {
        Ok(json_answer(&shown::member(member)))
    } else {
        Err(UserRejection::NoMember { member, group })
    }
}

fn group<'a>(directory: &'a Directory, id: &str) -> Result<(&'a str, &'a Group), UserRejection> {
    let wanted: Option<Uuid> = id.parse().ok();
    directory
        .groups
        .iter()
        .find(|(_, group)| Some(group.id) == wanted)
        .map(|(name, group)| (name.as_str(), group))
        .ok_or_else(|| UserRejection::NoGroup(id.to_owned()))
}
