//! Organizations.

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
    message::{checked_metadata, checked_name, message},
    ok,
    organization_quotas::quota_of,
    present::{created, metadata, relation, stamp},
    query::Query,
    routes::domain,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Job, JobOperation, JobResource, MetadataChange, Organization, OrganizationGuid,
        OrganizationKey, OrganizationStatus, Role, RoleKind, RoleScope, Tables,
    },
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let all = "/v3/organizations";
    app.service(resource(all).route(get().to(list)).route(post().to(create)))
        .service(
            resource(format!("{all}/{{guid}}"))
                .route(get().to(one))
                .route(patch().to(update))
                .route(delete().to(remove)),
        )
        .service(resource(format!("{all}/{{guid}}/domains")).route(get().to(domains)))
        .service(
            resource(format!("{all}/{{guid}}/domains/default")).route(get().to(default_domain)),
        )
        .service(
            resource(format!(
                "{all}/{{guid}}/relationships/default_isolation_segment"
            ))
            .route(get().to(isolation_segment)),
        )
        .service(resource("/v3/isolation_segments").route(get().to(isolation_segments)));
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &[])?;
    controller.0.state.read(|tables| {
        let permissions = caller.permissions(tables);
        let seen =
            |row: &&Organization| permissions.sees_organization(&row.guid) && query.admits_row(row);
        let page = query.page(
            &controller,
            tables.organizations.values().filter(seen).collect(),
        );
        Ok(ok(&page.presented(|organization| {
            controller.organization(organization)
        })))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        Ok(ok(
            &controller.organization(visible(tables, &caller, &guid)?)
        ))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: Option<String>,
    suspended: Option<bool>,
    #[serde(default)]
    metadata: MetadataChange,
}

/// Admins make organizations, and others where a feature flag lets them; they then manage what they made.
async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    let wanted: Wanted = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    let name = checked_name(wanted.name.as_deref().unwrap_or_default())?;
    controller.0.state.change(|tables| {
        let is_admin = caller.must_be_admin().is_ok();
        if !is_admin && !tables.is_enabled("user_org_creation") {
            return Err(Rejection::not_authorized());
        }
        must_be_free(tables, &name)?;
        let mut organization = Organization::new(name);
        organization.metadata.apply(&change);
        organization.status = status(wanted.suspended, organization.status);
        let body = controller.organization(&organization);
        if !is_admin {
            for kind in [RoleKind::OrganizationUser, RoleKind::OrganizationManager] {
                let location = RoleScope::Organization(organization.guid.clone());
                let role = Role::new(kind, caller.name.clone(), location);
                tables.roles.insert(role.guid.clone(), role);
            }
        }
        tables
            .organizations
            .insert(organization.guid.clone(), organization);
        Ok(created(&body))
    })
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: Wanted = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    controller.0.state.change(|tables| {
        let guid = visible(tables, &caller, &guid)?.guid.clone();
        caller
            .permissions(tables)
            .must_manage_organization(tables, &guid)?;
        if let Some(name) = &name {
            let named = tables.organizations.get(&guid);
            if named.is_some_and(|row| row.name != *name) {
                must_be_free(tables, name)?;
            }
        }
        let row = tables.organizations.get_mut(&guid).ok_or_else(missing)?;
        row.name = name.unwrap_or_else(|| row.name.clone());
        row.status = status(wanted.suspended, row.status);
        row.metadata.apply(&change);
        row.updated_at = Timestamp::now();
        Ok(ok(&controller.organization(row)))
    })
}

/// Deletes an organization with all that is in it.
async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    let (job, guid) = controller.0.state.change(|tables| {
        let guid = visible(tables, &caller, &guid)?.guid.clone();
        caller.must_be_admin()?;
        let job = Job::new(JobOperation::DeleteOrganization, JobResource::Gone);
        Ok((tables.add_job(job), guid))
    })?;
    let answer = controller.accepted(&job);
    controller.delete_organization(job, guid, caller.identity);
    Ok(answer)
}

async fn domains(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of(&request, &["organization_guids"])?;
    controller.0.state.read(|tables| {
        visible(tables, &caller, &guid)?;
        Ok(ok(&controller.domains(&query)))
    })
}

async fn default_domain(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        visible(tables, &caller, &guid)?;
        Ok(ok(&domain(&controller)))
    })
}

/// No organization is entitled to a segment of its own.
async fn isolation_segments(
    controller: Data<CloudController>,
    _caller: Caller,
    request: HttpRequest,
) -> Answer {
    let query = Query::of(&request, &["organization_guids"])?;
    Ok(ok(&query.nothing(&controller)))
}

/// There is only the shared segment, which needs no assignment.
async fn isolation_segment(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        let guid = &visible(tables, &caller, &guid)?.guid;
        let path = format!("/v3/organizations/{guid}/relationships/default_isolation_segment");
        Ok(ok(
            &json!({"data": null, "links": {"self": controller.link(path)}}),
        ))
    })
}

fn status(wanted: Option<bool>, now: OrganizationStatus) -> OrganizationStatus {
    match wanted {
        Some(true) => OrganizationStatus::Suspended,
        Some(false) => OrganizationStatus::Active,
        None => now,
    }
}

fn must_be_free(tables: &Tables, name: &str) -> Result<(), Rejection> {
    if tables
        .organizations
        .has(OrganizationKey::Name(name.to_owned()))
    {
        return Err(Rejection::unprocessable(format!(
            "Organization name '{name}' is already taken."
        )));
    }
    Ok(())
}

fn missing() -> Rejection {
    Rejection::no_such("Organization")
}

fn visible<'a>(
    tables: &'a Tables,
    caller: &Caller,
    guid: &str,
) -> Result<&'a Organization, Rejection> {
    tables
        .organizations
        .get(&OrganizationGuid::given(guid))
        .filter(|row| caller.permissions(tables).sees_organization(&row.guid))
        .ok_or_else(missing)
}

impl CloudController {
    pub(super) fn organization(&self, organization: &Organization) -> Value {
        let path = format!("/v3/organizations/{}", organization.guid);
        let quota = quota_of(organization);
        json!({
            "guid": organization.guid,
            "created_at": stamp(organization.created_at),
            "updated_at": stamp(organization.updated_at),
            "name": organization.name,
            "suspended": organization.status == OrganizationStatus::Suspended,
            "relationships": {"quota": relation(quota)},
            "metadata": metadata(&organization.metadata),
            "links": {
                "self": self.link(&path),
                "domains": self.link(format_args!("{path}/domains")),
                "default_domain": self.link(format_args!("{path}/domains/default")),
                "quota": self.link(format_args!("/v3/organization_quotas/{quota}")),
            },
        })
    }
}
