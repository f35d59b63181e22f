//! Spaces.

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, post, resource},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    caller::Caller,
    listing::Included,
    message::{Relation, checked_metadata, checked_name, message},
    ok,
    present::{created, metadata, relation, stamp},
    query::Query,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Job, JobOperation, JobResource, MetadataChange, OrganizationGuid, Space, SpaceGuid,
        SpaceKey, Tables,
    },
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let all = "/v3/spaces";
    app.service(resource(all).route(get().to(list)).route(post().to(create)))
        .service(
            resource(format!("{all}/{{guid}}"))
                .route(get().to(one))
                .route(patch().to(update))
                .route(delete().to(remove)),
        )
        .service(
            resource(format!("{all}/{{guid}}/relationships/isolation_segment"))
                .route(get().to(isolation_segment)),
        )
        .service(
            resource(format!("{all}/{{guid}}/running_security_groups"))
                .route(get().to(security_groups)),
        )
        .service(
            resource(format!("{all}/{{guid}}/staging_security_groups"))
                .route(get().to(security_groups)),
        );
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &["organization_guids", "include"])?;
    let with_organization = !query.include(&["org", "organization"])?.is_empty();
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen = |row: &&Space| {
            query.admits_row(row)
                && query.admits("organization_guids", row.organization.as_str())
                && permissions.sees_space(tables, &row.guid)
        };
        let page = query.page(&controller, tables.spaces.values().filter(seen).collect());
        let mut included = Included::default();
        for space in page.rows.iter().filter(|_| with_organization) {
            if let Some(organization) = tables.organizations.get(&space.organization) {
                included.add("organizations", organization.guid.as_str(), || {
                    controller.organization(organization)
                });
            }
        }
        Ok(ok(
            &included.beside(page.presented(|space| controller.space(space)))
        ))
    })
}

async fn one(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of_one(&request, &["include"])?;
    let with_organization = !query.include(&["org", "organization"])?.is_empty();
    controller.0.state.read(|tables| {
        let space = visible(tables, &caller, &guid)?;
        let mut included = Included::default();
        let organization = tables.organizations.get(&space.organization);
        if let Some(organization) = organization.filter(|_| with_organization) {
            included.add("organizations", organization.guid.as_str(), || {
                controller.organization(organization)
            });
        }
        Ok(ok(&included.beside(controller.space(space))))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    name: String,
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
struct Relationships {
    organization: Relation,
}

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Create = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    let name = checked_name(&wanted.name)?;
    let organization = OrganizationGuid::given(&wanted.relationships.organization.data.guid);
    controller.0.state.change(|tables| {
        let permissions = caller.permissions(tables);
        if !tables.organizations.contains_key(&organization)
            || !permissions.sees_organization(&organization)
        {
            return Err(Rejection::unprocessable(
                "Invalid organization. Ensure the organization exists and you have access to it.",
            ));
        }
        permissions.must_manage_organization(tables, &organization)?;
        must_be_free(tables, &organization, &name)?;
        let mut space = Space::new(organization, name);
        space.metadata.apply(&change);
        let body = controller.space(&space);
        tables.spaces.insert(space.guid.clone(), space);
        Ok(created(&body))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    name: Option<String>,
    #[serde(default)]
    metadata: MetadataChange,
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: Update = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    controller.0.state.change(|tables| {
        let space = visible(tables, &caller, &guid)?;
        let guid = space.guid.clone();
        caller.permissions(tables).must_manage(tables, &guid)?;
        if let Some(name) = name.as_ref().filter(|name| **name != space.name) {
            must_be_free(tables, &space.organization, name)?;
        }
        let row = tables.spaces.get_mut(&guid).ok_or_else(missing)?;
        row.name = name.unwrap_or_else(|| row.name.clone());
        row.metadata.apply(&change);
        row.updated_at = Timestamp::now();
        Ok(ok(&controller.space(row)))
    })
}

/// Deletes a space with all that is in it.
async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let (job, guid) = controller.0.state.change(|tables| {
        let space = visible(tables, &caller, &guid)?;
        let guid = space.guid.clone();
        caller
            .permissions(tables)
            .must_manage_organization(tables, &space.organization)?;
        let job = Job::new(JobOperation::DeleteSpace, JobResource::Gone);
        Ok((tables.add_job(job), guid))
    })?;
    let answer = controller.accepted(&job);
    controller.delete_space(job, guid, caller.identity);
    Ok(answer)
}

/// There is only the shared segment, which needs no assignment.
async fn isolation_segment(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        let guid = &visible(tables, &caller, &guid)?.guid;
        let path = format!("/v3/spaces/{guid}/relationships/isolation_segment");
        Ok(ok(
            &json!({"data": null, "links": {"self": controller.link(path)}}),
        ))
    })
}

/// Apps never run, so no security group restricts what they reach.
async fn security_groups(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of(&request, &[])?;
    controller.0.state.read(|tables| {
        visible(tables, &caller, &guid)?;
        Ok(ok(&query.nothing(&controller)))
    })
}

/// The error for an order in a space that the user cannot see.
pub(super) fn no_such_space() -> Rejection {
    Rejection::unprocessable(
        "Invalid space. Ensure that the space exists and you have access to it.",
    )
}

fn must_be_free(
    tables: &Tables,
    organization: &OrganizationGuid,
    name: &str,
) -> Result<(), Rejection> {
    let key = SpaceKey::Name(organization.clone(), name.to_owned());
    if tables.spaces.has(key) {
        let organization = tables.organizations.get(organization);
        let organization = organization.map_or("", |row| &row.name);
        return Err(Rejection::unprocessable(format!(
            "Name must be unique per organization. Space '{name}' already exists in '{organization}'."
        )));
    }
    Ok(())
}

fn missing() -> Rejection {
    Rejection::no_such("Space")
}

fn visible<'a>(tables: &'a Tables, caller: &Caller, guid: &str) -> Result<&'a Space, Rejection> {
    tables
        .spaces
        .get(&SpaceGuid::given(guid))
        .filter(|row| caller.sees_space(tables, &row.guid))
        .ok_or_else(missing)
}

impl CloudController {
    pub(super) fn space(&self, space: &Space) -> Value {
        let path = format!("/v3/spaces/{}", space.guid);
        json!({
            "guid": space.guid,
            "created_at": stamp(space.created_at),
            "updated_at": stamp(space.updated_at),
            "name": space.name,
            "relationships": {"organization": relation(&space.organization), "quota": {"data": null}},
            "metadata": metadata(&space.metadata),
            "links": {
                "self": self.link(&path),
                "organization": self.link(format_args!("/v3/organizations/{}", space.organization)),
                "features": self.link(format_args!("{path}/features")),
                "apply_manifest": {
                    "href": self.href(format_args!("{path}/actions/apply_manifest")), "method": "POST",
                },
            },
        })
    }
}
