//! Service offerings (`spec/contracts/platform-apis.md`, "Offerings and plans").

use actix_web::{
    HttpRequest,
    web::{ServiceConfig, delete},
};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    Response,
    call::{Call, View},
    no_content,
    query::{Query, bad_query},
    resource::{Fields, Included, Listed, Resource, reads, relation},
    service_plans::usable_in,
};
use crate::cloud_controller::{
    model::{Broker, Feature, Offering, OfferingKey, Tables},
    rejection::Rejection,
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.configure(reads::<Offering>)
        .route("/v3/service_offerings/{guid}", delete().to(remove));
}

impl Resource for Offering {
    type Row = Self;
    const KIND: &'static str = "Service offering";
    const PATH: &'static str = "/v3/service_offerings";
    const PUBLIC: bool = true;
    const FILTERS: &'static [&'static str] = &[
        "available",
        "broker_catalog_ids",
        "service_broker_guids",
        "service_broker_names",
        "space_guids",
        "organization_guids",
    ];
    const CHOICES: &'static [(&'static str, &'static [&'static str])] =
        &[("available", &["true", "false"])];
    const FIELDS: &'static [Fields] = &[("service_broker", "service_brokers", &["guid", "name"])];

    fn candidates<'a>(view: &View<'a>, query: &Query) -> Vec<&'a Self> {
        let (items, key): (_, fn(String) -> OfferingKey) =
            match (query.wanted("names"), query.wanted("broker_catalog_ids")) {
                (Some(names), _) => (names, OfferingKey::Name),
                (None, Some(ids)) => (ids, OfferingKey::CatalogId),
                (None, None) => return Listed::all(view.tables),
            };
        let keys = items.iter().map(|item| key(item.clone()));
        let mut found: Vec<_> = keys
            .flat_map(|key| view.tables.offerings.with(key))
            .collect();
        found.sort_by_key(|offering| &offering.guid);
        found.dedup_by_key(|offering| &offering.guid);
        found
    }

    fn sees(view: &View<'_>, row: &Self) -> bool {
        let mut plans = view.tables.plans_of_offering(&row.guid);
        view.permissions.sees_everything() || plans.any(|plan| view.permissions.sees_plan(plan))
    }

    /// Filters by space and organization let offerings through of which a plan can be used there.
    fn admits(view: &View<'_>, query: &Query, row: &Self) -> bool {
        let by_place =
            query.wanted("space_guids").is_some() || query.wanted("organization_guids").is_some();
        let mut plans = view.tables.plans_of_offering(&row.guid);
        query.admits("available", if row.available { "true" } else { "false" })
            && query.admits("broker_catalog_ids", &row.catalog_id)
            && query.admits("service_broker_guids", row.broker.as_str())
            && query.admits("service_broker_names", broker_name(view.tables, row))
            && (!by_place || plans.any(|plan| usable_in(query, view.tables, &plan.visibility)))
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let plans = format!("/v3/service_plans?service_offering_guids={}", row.guid);
        let mut broker = relation(&row.broker);
        broker["data"]["name"] = broker_name(view.tables, row).into();
        json!({
            "name": row.name,
            "description": row.description,
            "available": row.available,
            "tags": row.tags,
            "requires": row.requires,
            "shareable": row.is_shareable(),
            "documentation_url": row.catalog_metadata.get("documentationUrl"),
            "broker_catalog": {
                "id": row.catalog_id,
                "metadata": row.catalog_metadata,
                "features": {
                    "plan_updateable": row.has(Feature::PlanUpdateable),
                    "bindable": row.has(Feature::Bindable),
                    "instances_retrievable": row.has(Feature::InstancesRetrievable),
                    "bindings_retrievable": row.has(Feature::BindingsRetrievable),
                    "allow_context_updates": row.has(Feature::AllowContextUpdates),
                },
            },
            "relationships": {"service_broker": broker},
            "metadata": row.metadata,
            "links": {
                "service_plans": view.link(plans),
                "service_broker": view.link(format_args!("/v3/service_brokers/{}", row.broker)),
            },
        })
    }

    fn include(view: &View<'_>, query: &Query, row: &Self, beside: &mut Included) {
        if let Some(broker) = view.tables.brokers.get(&row.broker) {
            beside.add_fields::<Broker>(view, broker, query.fields("service_broker"));
        }
    }
}

/// Forgets an offering: with `purge=true` with all that is there of it, otherwise only when it has no plans.
async fn remove(call: Call) -> Response {
    let purge = purges(&call.request)?;
    call.change(|tables| {
        let guid = call
            .view(tables)
            .visible::<Offering>(call.guid())?
            .guid
            .clone();
        call.caller.must_be_admin()?;
        if !purge && tables.plans_of_offering(&guid).next().is_some() {
            return Err(Rejection::unprocessable(
                "Please delete the service_plans associations for your services.",
            ));
        }
        tables.forget_offering(&guid);
        Ok(no_content())
    })
}

/// Whether a delete is to be without the broker: `purge=true`.
pub(super) fn purges(request: &HttpRequest) -> Result<bool, Rejection> {
    let mut purge = false;
    for (name, value) in form_urlencoded::parse(request.query_string().as_bytes()) {
        match (name.as_ref(), value.as_ref()) {
            ("purge", "true") => purge = true,
            ("purge", "false") => {}
            ("purge", _) => return Err(bad_query("Purge must be 'true' or 'false'")),
            (other, _) => {
                return Err(bad_query(&format!(
                    "Unknown query parameter(s): '{other}'. Valid parameters are: 'purge'"
                )));
            }
        }
    }
    Ok(purge)
}

pub(super) fn broker_name<'a>(tables: &'a Tables, offering: &Offering) -> &'a str {
    let broker = tables.brokers.get(&offering.broker);
    broker.map_or("", |broker| &broker.name)
}
