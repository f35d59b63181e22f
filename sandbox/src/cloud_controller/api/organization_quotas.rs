//! The quotas of organizations, as `cf org` asks for them (cf CLI, `actor/v7action/organization_summary.go`;
//! `cloud_controller_ng`, `app/presenters/helpers/quota_presenter_builder.rb`). All organizations without limits of
//! their own have the one quota `default`; each of the others has one that is named after it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    call::View,
    query::Query,
    resource::{Listed, Resource},
};
use crate::cloud_controller::model::{Organization, ServiceQuota};

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
