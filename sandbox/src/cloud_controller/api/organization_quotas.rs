//! The quotas of organizations, as `cf org` asks for them (cf CLI, `actor/v7action/organization_summary.go`;
//! `cloud_controller_ng`, `app/presenters/helpers/quota_presenter_builder.rb`). All organizations without limits of
//! their own have the one quota `default`; each of the others has one that is named after it.

use actix_web::{
    HttpRequest,
    web::{Data, Path, ServiceConfig, get, resource},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Answer, caller::Caller, listing::Listed, ok, present::stamp, query::Query};
use crate::cloud_controller::{
    CloudController,
    model::{Organization, ServiceQuota, Tables},
    rejection::Rejection,
};

const DEFAULT_NAME: &str = "default";
/// The guid of the quota `default`, the same everywhere.
const DEFAULT_GUID: &str = "6a8f0d0b-3f4c-4f0e-9d1e-2c6f4b1d9a57";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/organization_quotas").route(get().to(list)))
        .service(resource("/v3/organization_quotas/{guid}").route(get().to(one)));
}

/// A quota and the organizations that have it.
struct Quota<'a> {
    guid: &'a str,
    name: &'a str,
    limits: ServiceQuota,
    since: Timestamp,
    organizations: Vec<&'a Organization>,
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &["organization_guids"])?;
    controller.0.state.read(|tables| {
        let quotas = quotas(tables, &caller);
        let found = quotas.iter().filter(|quota| {
            let organizations = quota.organizations.iter();
            query.admits_row(quota)
                && query.admits_any(
                    "organization_guids",
                    organizations.map(|row| row.guid.as_str()),
                )
        });
        let page = query.page(&controller, found.collect());
        Ok(ok(
            &page.presented(|quota| controller.organization_quota(quota))
        ))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let quotas = quotas(tables, &caller);
        let quota = quotas.iter().find(|quota| quota.guid == *guid);
        let quota = quota.ok_or_else(|| Rejection::no_such("Organization quota"))?;
        Ok(ok(&controller.organization_quota(quota)))
    })
}

/// The guid of an organization's quota.
pub(super) fn quota_of(organization: &Organization) -> &str {
    if organization.quota == ServiceQuota::default() {
        DEFAULT_GUID
    } else {
        organization.guid.as_str()
    }
}

/// The quotas of the organizations that the caller sees, and the default quota, which all users see.
fn quotas<'a>(tables: &'a Tables, caller: &Caller) -> Vec<Quota<'a>> {
    let permissions = caller.permissions(tables);
    let seen = tables
        .organizations
        .values()
        .filter(|row| permissions.sees_organization(&row.guid));
    let (without_limits, limited): (Vec<_>, Vec<_>) =
        seen.partition(|row| row.quota == ServiceQuota::default());
    let first = tables
        .organizations
        .values()
        .map(|row| row.created_at)
        .min();
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

impl Listed for &Quota<'_> {
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

impl CloudController {
    fn organization_quota(&self, quota: &Quota<'_>) -> Value {
        let organizations: Vec<_> = quota
            .organizations
            .iter()
            .map(|row| json!({"guid": row.guid}))
            .collect();
        let path = format!("/v3/organization_quotas/{}", quota.guid);
        json!({
            "guid": quota.guid,
            "created_at": stamp(quota.since),
            "updated_at": stamp(quota.since),
            "name": quota.name,
            "apps": {
                "total_memory_in_mb": null,
                "per_process_memory_in_mb": null,
                "total_instances": null,
                "per_app_tasks": null,
                "log_rate_limit_in_bytes_per_second": null,
            },
            "services": {
                "paid_services_allowed": quota.limits.paid_plans,
                "total_service_instances": quota.limits.service_instances,
                "total_service_keys": null,
            },
            "routes": {"total_routes": null, "total_reserved_ports": null},
            "domains": {"total_domains": null},
            "relationships": {"organizations": {"data": organizations}},
            "links": {"self": self.link(path)},
        })
    }
}
