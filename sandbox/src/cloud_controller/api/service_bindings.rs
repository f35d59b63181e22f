//! Bindings to apps, service keys and route bindings, to look at (`spec/contracts/platform-apis.md`, "Bindings and
//! keys").

use std::collections::BTreeSet;

use actix_web::web::{ServiceConfig, delete, get, post};
use serde_json::{Value, json};

use super::{
    Response,
    call::{Call, View},
    ok,
    query::Query,
    resource::{Included, Listed, Resource, last_operation, reads, relation},
    service_binding_changes::{create, create_route_binding, remove, remove_route_binding},
};
use crate::cloud_controller::{
    broker_client::Target,
    model::{
        App, AppGuid, Binding, BindingKey, BindingKind, Instance, InstanceGuid, Route, Tables,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let credential = "/v3/service_credential_bindings/{guid}";
    let route = "/v3/service_route_bindings/{guid}";
    app.configure(reads::<CredentialBinding>)
        .route(CredentialBinding::PATH, post().to(create))
        .route(credential, delete().to(remove))
        .route(&format!("{credential}/details"), get().to(details))
        .configure(reads::<RouteBinding>)
        .route(RouteBinding::PATH, post().to(create_route_binding))
        .route(route, delete().to(remove_route_binding));
}

/// A binding to an app, or a service key.
pub(super) enum CredentialBinding {}

pub(super) enum RouteBinding {}

impl Resource for CredentialBinding {
    type Row = Binding;
    const KIND: &'static str = "Service credential binding";
    const PATH: &'static str = "/v3/service_credential_bindings";
    const FILTERS: &'static [&'static str] = &[
        "type",
        "service_instance_guids",
        "service_instance_names",
        "service_plan_guids",
        "service_plan_names",
        "service_offering_guids",
        "service_offering_names",
        "app_guids",
        "app_names",
    ];
    const CHOICES: &'static [(&'static str, &'static [&'static str])] =
        &[("type", &["app", "key"])];
    const INCLUDES: &'static [(&'static str, &'static str)] =
        &[("app", "apps"), ("service_instance", "service_instances")];

    fn candidates<'a>(view: &View<'a>, query: &Query) -> Vec<&'a Binding> {
        let with = |guids: &[String], key: fn(&str) -> BindingKey| {
            let guids: BTreeSet<_> = guids.iter().collect();
            let found = guids
                .into_iter()
                .flat_map(|guid| view.tables.bindings.with(key(guid)));
            found.collect()
        };
        if let Some(guids) = query.wanted("service_instance_guids") {
            return with(guids, |guid| {
                BindingKey::Instance(InstanceGuid::given(guid))
            });
        }
        if let Some(guids) = query.wanted("app_guids") {
            return with(guids, |guid| BindingKey::App(AppGuid::given(guid)));
        }
        Listed::all(view.tables)
    }

    fn sees(view: &View<'_>, row: &Binding) -> bool {
        !matches!(row.kind, BindingKind::Route(_))
            && view.permissions.sees_binding(view.tables, row)
    }

    fn admits(view: &View<'_>, query: &Query, row: &Binding) -> bool {
        let app = app_of(view.tables, row);
        query.admits("type", kind_name(&row.kind))
            && query.admits_any("app_guids", app.iter().map(|app| app.guid.as_str()))
            && query.admits_any("app_names", app.iter().map(|app| app.name.as_str()))
            && admits_instance(view.tables, query, row)
    }

    fn body(view: &View<'_>, row: &Binding) -> Value {
        let mut body = common::<Self>(view, row);
        let details = format!("{}/{}/details", Self::PATH, row.guid);
        body["name"] = json!(row.name);
        body["type"] = json!(kind_name(&row.kind));
        body["links"]["details"] = view.link(details);
        if let BindingKind::App(app) = &row.kind {
            body["relationships"]["app"] = relation(app);
            body["links"]["app"] = view.link(format_args!("/v3/apps/{app}"));
        }
        body
    }

    fn include(view: &View<'_>, query: &Query, row: &Binding, beside: &mut Included) {
        if let Some(app) = app_of(view.tables, row).filter(|_| query.includes("app")) {
            beside.add::<App>(view, app);
        }
        include_instance(view, query, row, beside);
    }
}

impl Resource for RouteBinding {
    type Row = Binding;
    const KIND: &'static str = "Service route binding";
    const PATH: &'static str = "/v3/service_route_bindings";
    const NAMED: bool = false;
    const FILTERS: &'static [&'static str] = &[
        "service_instance_guids",
        "service_instance_names",
        "route_guids",
    ];
    const INCLUDES: &'static [(&'static str, &'static str)] = &[
        ("route", "routes"),
        ("service_instance", "service_instances"),
    ];

    fn candidates<'a>(view: &View<'a>, query: &Query) -> Vec<&'a Binding> {
        CredentialBinding::candidates(view, query)
    }

    fn sees(view: &View<'_>, row: &Binding) -> bool {
        matches!(row.kind, BindingKind::Route(_)) && view.permissions.sees_binding(view.tables, row)
    }

    fn admits(view: &View<'_>, query: &Query, row: &Binding) -> bool {
        let route = route_of(view.tables, row);
        query.admits_any("route_guids", route.iter().map(|route| route.guid.as_str()))
            && admits_instance(view.tables, query, row)
    }

    fn body(view: &View<'_>, row: &Binding) -> Value {
        let mut body = common::<Self>(view, row);
        let url = row.details.as_ref();
        body["route_service_url"] = json!(url.and_then(|details| details.get("route_service_url")));
        if let BindingKind::Route(route) = &row.kind {
            body["relationships"]["route"] = relation(route);
            body["links"]["route"] = view.link(format_args!("/v3/routes/{route}"));
        }
        body
    }

    fn include(view: &View<'_>, query: &Query, row: &Binding, beside: &mut Included) {
        if let Some(route) = route_of(view.tables, row).filter(|_| query.includes("route")) {
            beside.add::<Route>(view, route);
        }
        include_instance(view, query, row, beside);
    }
}

/// The members that bindings of all kinds have.
fn common<R: Resource>(view: &View<'_>, row: &Binding) -> Value {
    let instance = format!("/v3/service_instances/{}", row.instance);
    let mut body = json!({
        "last_operation": last_operation(&row.last_operation),
        "metadata": row.metadata,
        "relationships": {"service_instance": relation(&row.instance)},
        "links": {"service_instance": view.link(instance)},
    });
    if view.tables.instances.contains_key(&row.instance) {
        let parameters = format!("{}/{}/parameters", R::PATH, row.guid);
        body["links"]["parameters"] = view.link(parameters);
    }
    body
}

fn include_instance(view: &View<'_>, query: &Query, row: &Binding, beside: &mut Included) {
    let instance = view.tables.instances.get(&row.instance);
    if let Some(instance) = instance.filter(|_| query.includes("service_instance")) {
        beside.add::<Instance>(view, instance);
    }
}

/// The filters by instance, and by its plan and offering.
fn admits_instance(tables: &Tables, query: &Query, row: &Binding) -> bool {
    let Some(instance) = tables.instances.get(&row.instance) else {
        return false;
    };
    let plan = tables.plan_of(instance);
    let offering = plan.and_then(|plan| tables.offering_of(plan));
    query.admits("service_instance_guids", row.instance.as_str())
        && query.admits("service_instance_names", &instance.name)
        && query.admits_any(
            "service_plan_guids",
            plan.iter().map(|row| row.guid.as_str()),
        )
        && query.admits_any(
            "service_plan_names",
            plan.iter().map(|row| row.name.as_str()),
        )
        && query.admits_any(
            "service_offering_guids",
            offering.iter().map(|row| row.guid.as_str()),
        )
        && query.admits_any(
            "service_offering_names",
            offering.iter().map(|row| row.name.as_str()),
        )
}

fn app_of<'a>(tables: &'a Tables, binding: &Binding) -> Option<&'a App> {
    match &binding.kind {
        BindingKind::App(app) => tables.apps.get(app),
        BindingKind::Key | BindingKind::Route(_) => None,
    }
}

fn route_of<'a>(tables: &'a Tables, binding: &Binding) -> Option<&'a Route> {
    match &binding.kind {
        BindingKind::Route(route) => tables.routes.get(route),
        BindingKind::App(_) | BindingKind::Key => None,
    }
}

fn kind_name(kind: &BindingKind) -> &'static str {
    match kind {
        BindingKind::App(_) => "app",
        BindingKind::Key => "key",
        BindingKind::Route(_) => "route",
    }
}

pub(super) fn must_write(view: &View<'_>, binding: &Binding) -> Result<(), Rejection> {
    let space = view.tables.space_of(binding);
    let space = space.ok_or_else(|| Rejection::no_such(CredentialBinding::KIND))?;
    view.permissions.must_write(view.tables, space)
}

/// Credentials are for those who may see the secrets of the space; for others there are none.
async fn details(call: Call) -> Response {
    let (is_key, mut details) = call.read(|view| {
        let binding = view.visible::<CredentialBinding>(call.guid())?;
        let space = view.tables.space_of(binding);
        if !space.is_some_and(|space| view.permissions.sees_secrets(space)) {
            return Err(Rejection::no_such(CredentialBinding::KIND));
        }
        let details = binding.details.clone().ok_or_else(|| {
            Rejection::no_such(
                "Creation of credential binding failed or is in progress: credential binding",
            )
        })?;
        Ok((binding.kind == BindingKind::Key, details))
    })?;
    let credentials = details.entry("credentials").or_insert_with(|| json!({}));
    if is_key {
        let resolved = call.controller.key_credentials(credentials.take());
        *credentials = resolved.map_err(|rejection| {
            ErrorKind::ServiceUnavailable.with(format!(
                "Fetching credentials from CredHub failed; reason: {rejection}"
            ))
        })?;
    }
    Ok(ok(&Value::Object(details)))
}

impl Call {
    /// The parameters that the broker gives for an instance or a binding.
    pub(super) async fn fetched_parameters(&self, target: &Target) -> Response {
        let body = self
            .controller
            .fetched(target, &self.caller.identity)
            .await?;
        Ok(ok(body.get("parameters").unwrap_or(&json!({}))))
    }
}
