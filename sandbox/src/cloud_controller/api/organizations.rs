//! Organizations.
//!
//! The quotas of organizations, as `cf org` asks for them (cf CLI, `actor/v7action/organization_summary.go`;
//! `cloud_controller_ng`, `app/presenters/helpers/quota_presenter_builder.rb`). All organizations without limits of
//! their own have the one quota `default`; each of the others has one that is named after it.

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
    query::Query,
    resource::{Listed, Resource, nothing, reads, relation},
    routes::domains_of,
};
use crate::cloud_controller::{
    model::{
        Job, JobOperation, JobResource, MetadataChange, Organization, OrganizationGuid,
        OrganizationKey, OrganizationStatus, Role, RoleKind, RoleScope, ServiceQuota, Tables,
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

const DEFAULT_NAME: &str = "default";
/// The guid of the quota `default`, the same everywhere.
const DEFAULT_GUID: &str = "6a8f0d0b-3f4c-4f0e-9d1e-2c6f4b1d9a57";

pub(super) struct Quota<'a> {
    guid: &'a str,
    name: &'a str,
    limits: ServiceQuota,
    since: Timestamp,
    organizations: Vec<&'a Organization>,
}

pub(super) fn quota_of(organization: &Organization) -> &str {
    if organization.quota == ServiceQuota::default() {
        DEFAULT_GUID
    } else {
        organization.guid.as_str()
    }
}

impl Listed for Quota<'_> {
    fn guid(&self) -> &str {
        self.guid
    }

    fn name(&self) -> &str {
        self.name
    }

    fn created_at(&self) -> Timestamp {
        self.since
    }

    fn updated_at(&self) -> Timestamp {
        self.since
    }
}

impl Resource for Quota<'static> {
    type Row<'a> = Quota<'a>;
    const KIND: &'static str = "Organization quota";
    const PATH: &'static str = "/v3/organization_quotas";
    const FILTERS: &'static [&'static str] = &["organization_guids"];

    /// The quotas of the organizations that the caller sees, and the default quota, which all users see.
    fn all<'a>(view: &View<'a>) -> Vec<Quota<'a>> {
        let organizations = &view.tables.organizations;
        let seen = organizations
            .values()
            .filter(|row| view.permissions.sees_organization(&row.guid));
        let (without_limits, limited): (Vec<_>, Vec<_>) =
            seen.partition(|row| row.quota == ServiceQuota::default());
        let first = organizations.values().map(|row| row.created_at).min();
        let default = Quota {
            guid: DEFAULT_GUID,
            name: DEFAULT_NAME,
            limits: ServiceQuota::default(),
            since: first.unwrap_or_else(Timestamp::now),
            organizations: without_limits,
        };
        let own = limited.into_iter().map(|row| Quota {
            guid: row.guid.as_str(),
            name: &row.name,
            limits: row.quota,
            since: row.created_at,
            organizations: vec![row],
        });
        [default].into_iter().chain(own).collect()
    }

    fn sees(_view: &View<'_>, _row: &Quota<'_>) -> bool {
        true
    }

    fn admits(_view: &View<'_>, query: &Query, row: &Quota<'_>) -> bool {
        let guids = row.organizations.iter().map(|row| row.guid.as_str());
        query.admits_any("organization_guids", guids)
    }

    fn body(_view: &View<'_>, row: &Quota<'_>) -> Value {
        let organizations: Vec<_> = row
            .organizations
            .iter()
            .map(|row| json!({"guid": row.guid}))
            .collect();
        json!({
            "name": row.name,
            "apps": {
                "total_memory_in_mb": null,
                "per_process_memory_in_mb": null,
                "total_instances": null,
                "per_app_tasks": null,
                "log_rate_limit_in_bytes_per_second": null,
            },
            "services": {
                "paid_services_allowed": row.limits.paid_plans,
                "total_service_instances": row.limits.service_instances,
                "total_service_keys": null,
            },
            "routes": {"total_routes": null, "total_reserved_ports": null},
            "domains": {"total_domains": null},
            "relationships": {"organizations": {"data": organizations}},
        })
    }
}
