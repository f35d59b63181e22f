//! The kinds of resources of v2: their members and filters, over the tables of v3.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    rejection::V2Rejection,
    resource::{Metadata, V2Resource},
};
use crate::cloud_controller::{
    api::{View, stamp},
    model::{
        Binding, BindingKind, Broker, Feature, Instance, LastOperation, Offering, OperationState,
        Organization, OrganizationGuid, OrganizationStatus, Plan, Route, Space, Visibility,
    },
};

fn text(value: &(impl ToString + ?Sized)) -> Vec<String> {
    vec![value.to_string()]
}

impl V2Resource for Organization {
    type Row<'a> = &'a Self;
    const PATH: &'static str = "/v2/organizations";
    const FIELDS: &'static [&'static str] = &["name", "status"];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.organizations.values().collect()
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_organization(&row.guid)
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_organization(guid)
    }

    fn metadata(row: &Self) -> Metadata {
        Metadata::new(row.guid.as_str(), row.created_at, row.updated_at)
    }

    fn field(_view: &View<'_>, row: &Self, name: &str) -> Vec<String> {
        match name {
            "name" => text(&row.name),
            _ => text(status(row)),
        }
    }

    fn entity(_view: &View<'_>, row: &Self) -> Value {
        json!({
            "name": row.name,
            "billing_enabled": false,
            "quota_definition_guid": null,
            "status": status(row),
            "spaces_url": format!("/v2/organizations/{}/spaces", row.guid),
        })
    }
}

fn status(organization: &Organization) -> &'static str {
    match organization.status {
        OrganizationStatus::Active => "active",
        OrganizationStatus::Suspended => "suspended",
    }
}

impl V2Resource for Space {
    type Row<'a> = &'a Self;
    const PATH: &'static str = "/v2/spaces";
    const FIELDS: &'static [&'static str] = &["name", "organization_guid"];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.spaces.values().collect()
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_space(view.tables, &row.guid)
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_space(guid)
    }

    fn metadata(row: &Self) -> Metadata {
        Metadata::new(row.guid.as_str(), row.created_at, row.updated_at)
    }

    fn field(_view: &View<'_>, row: &Self, name: &str) -> Vec<String> {
        match name {
            "name" => text(&row.name),
            _ => text(&row.organization),
        }
    }

    fn entity(_view: &View<'_>, row: &Self) -> Value {
        json!({
            "name": row.name,
            "organization_guid": row.organization,
            "space_quota_definition_guid": null,
            "isolation_segment_guid": null,
            "allow_ssh": true,
            "organization_url": format!("/v2/organizations/{}", row.organization),
        })
    }
}

/// The offerings of v3.
impl V2Resource for Offering {
    type Row<'a> = &'a Self;
    const PATH: &'static str = "/v2/services";
    const FIELDS: &'static [&'static str] = &[
        "active",
        "label",
        "unique_id",
        "service_broker_guid",
        "provider",
    ];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.offerings.values().collect()
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        let mut plans = view.tables.plans_of_offering(&row.guid);
        view.permissions.sees_everything() || plans.any(|plan| view.permissions.sees_plan(plan))
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_service(guid)
    }

    fn metadata(row: &Self) -> Metadata {
        Metadata::new(row.guid.as_str(), row.created_at, row.updated_at)
    }

    fn field(_view: &View<'_>, row: &Self, name: &str) -> Vec<String> {
        match name {
            "active" => text(&row.available),
            "label" => text(&row.name),
            "unique_id" => text(&row.catalog_id),
            "service_broker_guid" => text(&row.broker),
            _ => Vec::new(),
        }
    }

    fn entity(view: &View<'_>, row: &Self) -> Value {
        let metadata = &row.catalog_metadata;
        let extra = (!metadata.is_empty()).then(|| json!(metadata).to_string());
        let broker = view.tables.brokers.get(&row.broker);
        json!({
            "label": row.name,
            "provider": null,
            "description": row.description,
            "active": row.available,
            "bindable": row.has(Feature::Bindable),
            "unique_id": row.catalog_id,
            "extra": extra,
            "tags": row.tags,
            "requires": row.requires,
            "service_broker_guid": row.broker,
            "service_broker_name": broker.map(|broker| &broker.name),
            "plan_updateable": row.has(Feature::PlanUpdateable),
            "bindings_retrievable": row.has(Feature::BindingsRetrievable),
            "instances_retrievable": row.has(Feature::InstancesRetrievable),
            "allow_context_updates": row.has(Feature::AllowContextUpdates),
            "service_plans_url": format!("/v2/services/{}/service_plans", row.guid),
        })
    }
}

impl V2Resource for Plan {
    type Row<'a> = &'a Self;
    const PATH: &'static str = "/v2/service_plans";
    const FIELDS: &'static [&'static str] = &[
        "active",
        "service_guid",
        "service_instance_guid",
        "service_broker_guid",
        "unique_id",
    ];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.plans.values().collect()
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_plan(row)
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_plan(guid)
    }

    fn metadata(row: &Self) -> Metadata {
        Metadata::new(row.guid.as_str(), row.created_at, row.updated_at)
    }

    fn field(view: &View<'_>, row: &Self, name: &str) -> Vec<String> {
        match name {
            "active" => text(&row.available),
            "service_guid" => text(&row.offering),
            "unique_id" => text(&row.catalog_id),
            "service_broker_guid" => {
                let offering = view.tables.offering_of(row);
                offering.map_or_else(Vec::new, |offering| text(&offering.broker))
            }
            _ => {
                let instances = view.tables.instances_of(&row.guid);
                instances
                    .map(|instance| instance.guid.to_string())
                    .collect()
            }
        }
    }

    fn entity(view: &View<'_>, row: &Self) -> Value {
        let metadata = &row.catalog_metadata;
        let extra = (!metadata.is_empty()).then(|| json!(metadata).to_string());
        json!({
            "name": row.name,
            "free": row.free,
            "description": row.description,
            "service_guid": row.offering,
            "extra": extra,
            "unique_id": row.catalog_id,
            "public": row.visibility == Visibility::Public,
            "bindable": view.tables.is_bindable(row),
            "plan_updateable": view.tables.is_updateable(row),
            "active": row.available,
            "maximum_polling_duration": row.maximum_polling_duration.map(|limit| limit.as_secs()),
            "maintenance_info": row.maintenance_info.as_ref().map_or_else(|| json!({}), |info| json!(info)),
            "service_url": format!("/v2/services/{}", row.offering),
            "service_instances_url": format!("/v2/service_plans/{}/service_instances", row.guid),
            "schemas": row.parameter_schemas(),
        })
    }
}

/// An organization that sees a plan. Visibilities are no rows of their own: their guid follows from both.
pub(super) enum PlanVisibility {}

impl V2Resource for PlanVisibility {
    type Row<'a> = (&'a Plan, &'a OrganizationGuid);
    const PATH: &'static str = "/v2/service_plan_visibilities";
    const FIELDS: &'static [&'static str] = &["organization_guid", "service_plan_guid"];

    fn all<'a>(view: &View<'a>) -> Vec<Self::Row<'a>> {
        let plans = view.tables.plans.values();
        plans
            .filter_map(|plan| match &plan.visibility {
                Visibility::Organizations(organizations) => Some((plan, organizations)),
                Visibility::Admin | Visibility::Public => None,
            })
            .flat_map(|(plan, organizations)| organizations.iter().map(move |guid| (plan, guid)))
            .collect()
    }

    fn sees(view: &View<'_>, _row: Self::Row<'_>) -> bool {
        view.permissions.sees_everything()
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_visibility(guid)
    }

    fn metadata((plan, organization): Self::Row<'_>) -> Metadata {
        let number = |guid: &str| Uuid::parse_str(guid).map_or(0, |guid| guid.as_u128());
        let both = number(plan.guid.as_str()).rotate_left(1) ^ number(organization.as_str());
        let guid = Uuid::from_u128(both).to_string();
        Metadata::new(&guid, plan.created_at, plan.created_at)
    }

    fn field(_view: &View<'_>, (plan, organization): Self::Row<'_>, name: &str) -> Vec<String> {
        match name {
            "organization_guid" => text(organization),
            _ => text(&plan.guid),
        }
    }

    fn entity(_view: &View<'_>, (plan, organization): Self::Row<'_>) -> Value {
        json!({
            "service_plan_guid": plan.guid,
            "organization_guid": organization,
            "service_plan_url": format!("/v2/service_plans/{}", plan.guid),
            "organization_url": format!("/v2/organizations/{organization}"),
        })
    }
}

impl V2Resource for Broker {
    type Row<'a> = &'a Self;
    const PATH: &'static str = "/v2/service_brokers";
    const FIELDS: &'static [&'static str] = &["name"];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.brokers.values().collect()
    }

    fn sees(view: &View<'_>, _row: &Self) -> bool {
        view.permissions.sees_everything()
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_broker(guid)
    }

    fn metadata(row: &Self) -> Metadata {
        Metadata::new(row.guid.as_str(), row.created_at, row.updated_at)
    }

    fn field(_view: &View<'_>, row: &Self, _name: &str) -> Vec<String> {
        text(&row.name)
    }

    fn entity(_view: &View<'_>, row: &Self) -> Value {
        json!({
            "name": row.name,
            "broker_url": row.address.url,
            "auth_username": row.address.username,
            "space_guid": null,
        })
    }
}

impl V2Resource for Instance {
    type Row<'a> = &'a Self;
    const PATH: &'static str = "/v2/service_instances";
    const FIELDS: &'static [&'static str] = &[
        "name",
        "space_guid",
        "service_plan_guid",
        "organization_guid",
        "service_binding_guid",
    ];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Self> {
        view.tables.instances.values().collect()
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        view.permissions.sees_instance(view.tables, row)
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_instance(guid)
    }

    fn metadata(row: &Self) -> Metadata {
        Metadata::new(row.guid.as_str(), row.created_at, row.updated_at)
    }

    fn field(view: &View<'_>, row: &Self, name: &str) -> Vec<String> {
        match name {
            "name" => text(&row.name),
            "space_guid" => text(&row.space),
            "service_plan_guid" => text(&row.plan),
            "organization_guid" => {
                let organization = view.tables.organization_of(&row.space);
                organization.map_or_else(Vec::new, |row| text(&row.guid))
            }
            _ => {
                let bindings = view.tables.bindings_of(&row.guid);
                bindings.map(|binding| binding.guid.to_string()).collect()
            }
        }
    }

    fn entity(view: &View<'_>, row: &Self) -> Value {
        let offering = view.tables.plan_of(row).map(|plan| &plan.offering);
        let below = |name: &str| format!("/v2/service_instances/{}/{name}", row.guid);
        json!({
            "name": row.name,
            "credentials": {},
            "service_plan_guid": row.plan,
            "space_guid": row.space,
            "dashboard_url": row.dashboard_url,
            "type": "managed_service_instance",
            "last_operation": last_operation(&row.last_operation),
            "tags": row.tags,
            "maintenance_info": row.maintenance_info.as_ref().map_or_else(|| json!({}), |info| json!(info)),
            "service_guid": offering,
            "space_url": format!("/v2/spaces/{}", row.space),
            "service_plan_url": format!("/v2/service_plans/{}", row.plan),
            "service_bindings_url": below("service_bindings"),
            "service_keys_url": below("service_keys"),
            "routes_url": below("routes"),
            "service_url": offering.map(|offering| format!("/v2/services/{offering}")),
        })
    }
}

/// v2 knows no `initial`.
fn last_operation(operation: &LastOperation) -> Value {
    let state = match operation.state {
        OperationState::Initial => OperationState::InProgress,
        other => other,
    };
    json!({
        "type": operation.kind,
        "state": state,
        "description": operation.description.as_deref().unwrap_or_default(),
        "updated_at": stamp(operation.updated_at),
        "created_at": stamp(operation.created_at),
    })
}

pub(super) enum ServiceBinding {}

pub(super) enum ServiceKey {}

impl V2Resource for ServiceBinding {
    type Row<'a> = &'a Binding;
    const PATH: &'static str = "/v2/service_bindings";
    const FIELDS: &'static [&'static str] = &["app_guid", "service_instance_guid", "name"];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Binding> {
        let bindings = view.tables.bindings.values();
        let of_apps = bindings.filter(|row| matches!(row.kind, BindingKind::App(_)));
        of_apps.collect()
    }

    fn sees(view: &View<'_>, row: &Binding) -> bool {
        view.permissions.sees_binding(view.tables, row)
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_binding(guid)
    }

    fn metadata(row: &Binding) -> Metadata {
        Metadata::new(row.guid.as_str(), row.created_at, row.updated_at)
    }

    fn field(view: &View<'_>, row: &Binding, name: &str) -> Vec<String> {
        match (name, &row.kind) {
            ("app_guid", BindingKind::App(app)) => text(app),
            _ => ServiceKey::field(view, row, name),
        }
    }

    fn entity(view: &View<'_>, row: &Binding) -> Value {
        let mut entity = ServiceKey::entity(view, row);
        let detail = |name: &str| row.details.as_ref()?.get(name).cloned();
        if let BindingKind::App(app) = &row.kind {
            entity["app_guid"] = json!(app);
            entity["app_url"] = json!(format!("/v2/apps/{app}"));
        }
        entity["syslog_drain_url"] = json!(detail("syslog_drain_url"));
        entity["volume_mounts"] = detail("volume_mounts").unwrap_or_else(|| json!([]));
        entity["last_operation"] = last_operation(&row.last_operation);
        entity
    }
}

impl V2Resource for ServiceKey {
    type Row<'a> = &'a Binding;
    const PATH: &'static str = "/v2/service_keys";
    const FIELDS: &'static [&'static str] = &["name", "service_instance_guid"];

    fn all<'a>(view: &View<'a>) -> Vec<&'a Binding> {
        let bindings = view.tables.bindings.values();
        bindings
            .filter(|row| row.kind == BindingKind::Key)
            .collect()
    }

    fn sees(view: &View<'_>, row: &Binding) -> bool {
        view.permissions.sees_binding(view.tables, row)
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_key(guid)
    }

    fn metadata(row: &Binding) -> Metadata {
        ServiceBinding::metadata(row)
    }

    fn field(_view: &View<'_>, row: &Binding, name: &str) -> Vec<String> {
        match name {
            "name" => row.name.iter().cloned().collect(),
            _ => text(&row.instance),
        }
    }

    /// The credentials are for those who may see them.
    fn entity(view: &View<'_>, row: &Binding) -> Value {
        let space = view.tables.space_of(row);
        let details = row.details.as_ref();
        let credentials = details.and_then(|details| details.get("credentials").cloned());
        let credentials = if space.is_some_and(|space| view.permissions.sees_secrets(space)) {
            credentials.unwrap_or_else(|| json!({}))
        } else {
            json!({"redacted_message": "[PRIVATE DATA HIDDEN]"})
        };
        json!({
            "name": row.name,
            "service_instance_guid": row.instance,
            "credentials": credentials,
            "service_instance_url": format!("/v2/service_instances/{}", row.instance),
        })
    }
}

/// A route that is bound to an instance. Route bindings have no resource of their own.
pub(super) enum BoundRoute {}

impl V2Resource for BoundRoute {
    type Row<'a> = (&'a Route, &'a Binding);
    const PATH: &'static str = "/v2/routes";
    const FIELDS: &'static [&'static str] = &["host", "path"];

    fn all<'a>(view: &View<'a>) -> Vec<Self::Row<'a>> {
        let bindings = view.tables.bindings.values();
        let bound = bindings.filter_map(|binding| match &binding.kind {
            BindingKind::Route(route) => Some((view.tables.routes.get(route)?, binding)),
            BindingKind::App(_) | BindingKind::Key => None,
        });
        bound.collect()
    }

    fn sees(_view: &View<'_>, _row: Self::Row<'_>) -> bool {
        true
    }

    fn missing(guid: &str) -> V2Rejection {
        V2Rejection::no_such_binding(guid)
    }

    fn metadata((route, _): Self::Row<'_>) -> Metadata {
        Metadata::new(route.guid.as_str(), route.created_at, route.created_at)
    }

    fn field(_view: &View<'_>, (route, binding): Self::Row<'_>, name: &str) -> Vec<String> {
        match name {
            "host" => text(&route.host),
            "path" => text(&route.path),
            _ => text(&binding.instance),
        }
    }

    fn entity(_view: &View<'_>, (route, binding): Self::Row<'_>) -> Value {
        json!({
            "host": route.host,
            "path": route.path,
            "space_guid": route.space,
            "service_instance_guid": binding.instance,
            "service_instance_url": format!("/v2/service_instances/{}", binding.instance),
        })
    }
}
