//! Organizations.

use actix_web::{
    HttpRequest,
    web::{ServiceConfig, delete, get, patch, post},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    call::{Call, View},
    message::{checked_metadata, checked_name},
    ok,
    organization_quotas::quota_of,
    present::relation,
    resource::{Resource, nothing, reads},
    routes::{Domain, domains_of},
};
use crate::cloud_controller::{
    model::{
        Job, JobOperation, JobResource, MetadataChange, Organization, OrganizationGuid,
        OrganizationKey, OrganizationStatus, Role, RoleKind, RoleScope, Tables,
    },
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let all = "/v3/organizations";
    let one = "/v3/organizations/{guid}";
    let segment = "/v3/organizations/{guid}/relationships/default_isolation_segment";
    app.configure(reads::<Organization>)
        .route(all, post().to(create))
        .route(one, patch().to(update))
        .route(one, delete().to(remove))
        .route("/v3/organizations/{guid}/domains", get().to(domains_of))
        .route(
            "/v3/organizations/{guid}/domains/default",
            get().to(default_domain),
        )
        .route(segment, get().to(unassigned::<Organization>))
        // No organization is entitled to a segment of its own.
        .route("/v3/isolation_segments", get().to(nothing));
}

impl Resource for Organization {
    type Row<'a> = &'a Self;
    const KIND: &'static str = "Organization";
    const PATH: &'static str = "/v3/organizations";

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.organizations.values().collect()
    }

    fn get<'a>(view: &View<'a>, guid: &str) -> Option<&'a Self> {
        view.tables.organizations.get(guid)
    }

    fn sees(view: &View<'_>, row: &&Self) -> bool {
        view.permissions.sees_organization(&row.guid)
    }

    fn body(view: &View<'_>, row: &&Self) -> Value {
        let path = format!("/v3/organizations/{}", row.guid);
        let quota = quota_of(row);
        json!({
            "name": row.name,
            "suspended": row.status == OrganizationStatus::Suspended,
            "relationships": {"quota": relation(quota)},
            "metadata": row.metadata,
            "links": {
                "domains": view.link(format_args!("{path}/domains")),
                "default_domain": view.link(format_args!("{path}/domains/default")),
                "quota": view.link(format_args!("/v3/organization_quotas/{quota}")),
            },
        })
    }
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
async fn create(call: Call) -> Answer {
    let wanted: Wanted = call.message()?;
    let change = checked_metadata(wanted.metadata)?;
    let name = checked_name(wanted.name.as_deref().unwrap_or_default())?;
    call.change(|tables| {
        let is_admin = call.caller.is_admin();
        if !is_admin && !tables.is_enabled("user_org_creation") {
            return Err(Rejection::not_authorized());
        }
        must_be_free(tables, &name)?;
        let mut organization = Organization::new(name);
        organization.metadata.apply(&change);
        organization.status = status(wanted.suspended, organization.status);
        let guid = organization.guid.clone();
        tables.organizations.insert(guid.clone(), organization);
        if !is_admin {
            for kind in [RoleKind::OrganizationUser, RoleKind::OrganizationManager] {
                let location = RoleScope::Organization(guid.clone());
                tables.add_role(Role::new(kind, call.caller.name.clone(), location));
            }
        }
        call.created::<Organization>(tables, guid.as_str())
    })
}

async fn update(call: Call) -> Answer {
    let wanted: Wanted = call.message()?;
    let change = checked_metadata(wanted.metadata)?;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    call.change(|tables| {
        let view = call.view(tables);
        let organization = view.visible::<Organization>(call.guid())?;
        let guid = organization.guid.clone();
        view.permissions.must_manage_organization(tables, &guid)?;
        if let Some(name) = name.as_ref().filter(|name| **name != organization.name) {
            must_be_free(tables, name)?;
        }
        if let Some(row) = tables.organizations.get_mut(&guid) {
            row.name = name.unwrap_or_else(|| row.name.clone());
            row.status = status(wanted.suspended, row.status);
            row.metadata.apply(&change);
            row.updated_at = Timestamp::now();
        }
        call.shown::<Organization>(tables, guid.as_str())
    })
}

/// Deletes an organization with all that is in it.
async fn remove(call: Call) -> Answer {
    let (job, guid) = call.change(|tables| {
        let guid = call
            .view(tables)
            .visible::<Organization>(call.guid())?
            .guid
            .clone();
        call.caller.must_be_admin()?;
        let job = Job::new(JobOperation::DeleteOrganization, JobResource::Gone);
        Ok::<_, Rejection>((tables.add_job(job), guid))
    })?;
    let answer = call.accepted(&job);
    call.controller
        .delete_organization(job, guid, call.caller.identity);
    Ok(answer)
}

async fn default_domain(call: Call) -> Answer {
    call.read(|view| {
        view.visible::<Organization>(call.guid())?;
        Ok(ok(&Domain::presented(view, &Domain)))
    })
}

/// The isolation segment of an organization or a space: there is only the shared one, which needs no assignment.
pub(super) async fn unassigned<R: Resource>(request: HttpRequest) -> Answer {
    let call = Call::of(&request)?;
    call.read(|view| {
        view.visible::<R>(call.guid())?;
        let links = json!({"self": view.link(request.path())});
        Ok(ok(&json!({"data": null, "links": links})))
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

/// The organization of an order, if the caller sees it. `article` is a part of the error text.
pub(super) fn ordered_organization(
    view: &View<'_>,
    guid: &str,
    article: &str,
) -> Result<OrganizationGuid, Rejection> {
    let organization = view.visible::<Organization>(guid);
    let guid = organization.map(|row| row.guid.clone());
    guid.map_err(|_| {
        Rejection::unprocessable(format!(
            "Invalid organization. Ensure {article}the organization exists and you have access to it."
        ))
    })
}
