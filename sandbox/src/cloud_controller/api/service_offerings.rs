//! Service offerings (`spec/contracts/platform-apis.md`, "Offerings and plans").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, resource},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    Answer,
    caller::{Caller, Visitor},
    listing::Included,
    message::{MetadataOnly, checked_metadata, message},
    no_content, ok,
    permissions::Permissions,
    present::{metadata, relation, selected, stamp},
    query::{Query, bad_query},
    service_plans::{sees_plan, usable_in},
};
use crate::cloud_controller::{
    CloudController,
    model::{Feature, Offering, OfferingGuid, OfferingKey, Tables},
    rejection::Rejection,
};

const BROKER_FIELDS: &str = "fields[service_broker]";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(resource("/v3/service_offerings").route(get().to(list)))
        .service(
            resource("/v3/service_offerings/{guid}")
                .route(get().to(one))
                .route(patch().to(update))
                .route(delete().to(remove)),
        );
}

async fn list(controller: Data<CloudController>, visitor: Visitor, request: HttpRequest) -> Answer {
    let allowed = [
        "available",
        "broker_catalog_ids",
        "service_broker_guids",
        "service_broker_names",
        "space_guids",
        "organization_guids",
        BROKER_FIELDS,
    ];
    let query = Query::of(&request, &allowed)?;
    query.must_be_one_of("available", &["true", "false"])?;
    let broker_fields = query.fields("service_broker", &["guid", "name"])?;
    controller.0.state.read(|tables| {
        let permissions = visitor.permissions(tables);
        let seen = |row: &&Offering| {
            query.admits_row(row)
                && query.admits("available", if row.available { "true" } else { "false" })
                && query.admits("broker_catalog_ids", &row.catalog_id)
                && query.admits("service_broker_guids", row.broker.as_str())
                && query.admits("service_broker_names", broker_name(tables, row))
                && is_usable(&query, tables, row)
                && sees(tables, permissions.as_ref(), row)
        };
        let found = match (query.wanted("names"), query.wanted("broker_catalog_ids")) {
            (Some(names), _) => found(tables, names, OfferingKey::Name),
            (None, Some(ids)) => found(tables, ids, OfferingKey::CatalogId),
            (None, None) => tables.offerings.values().collect(),
        };
        let page = query.page(&controller, found.into_iter().filter(seen).collect());
        let mut included = Included::default();
        for offering in page.rows.iter().filter(|_| !broker_fields.is_empty()) {
            if let Some(broker) = tables.brokers.get(&offering.broker) {
                let chosen = || selected(&controller.broker(broker), broker_fields);
                included.add("service_brokers", broker.guid.as_str(), chosen);
            }
        }
        Ok(ok(&included.beside(page.presented(|offering| {
            controller.offering(tables, offering)
        }))))
    })
}

fn found<'a>(
    tables: &'a Tables,
    items: &[String],
    key: fn(String) -> OfferingKey,
) -> Vec<&'a Offering> {
    let mut found: Vec<_> = items
        .iter()
        .flat_map(|item| tables.offerings.with(key(item.clone())))
        .collect();
    found.sort_by(|one, other| one.guid.cmp(&other.guid));
    found.dedup_by(|one, other| one.guid == other.guid);
    found
}

/// Filters by space and organization let offerings through of which a plan can be used there.
fn is_usable(query: &Query, tables: &Tables, offering: &Offering) -> bool {
    let is_asked =
        query.wanted("space_guids").is_some() || query.wanted("organization_guids").is_some();
    !is_asked
        || tables
            .plans_of_offering(&offering.guid)
            .any(|plan| usable_in(query, tables, &plan.visibility))
}

async fn one(
    controller: Data<CloudController>,
    visitor: Visitor,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let query = Query::of_one(&request, &[BROKER_FIELDS])?;
    let broker_fields = query.fields("service_broker", &["guid", "name"])?;
    controller.0.state.read(|tables| {
        let permissions = visitor.permissions(tables);
        let offering = tables
            .offerings
            .get(&OfferingGuid::given(&guid))
            .filter(|row| sees(tables, permissions.as_ref(), row))
            .ok_or_else(missing)?;
        let mut included = Included::default();
        let broker = tables.brokers.get(&offering.broker);
        if let Some(broker) = broker.filter(|_| !broker_fields.is_empty()) {
            let chosen = || selected(&controller.broker(broker), broker_fields);
            included.add("service_brokers", broker.guid.as_str(), chosen);
        }
        Ok(ok(&included.beside(controller.offering(tables, offering))))
    })
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    let wanted: MetadataOnly = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    controller.0.state.change(|tables| {
        let guid = visible(tables, &caller, &guid)?;
        caller.must_be_admin()?;
        let row = tables.offerings.get_mut(&guid).ok_or_else(missing)?;
        row.metadata.apply(&change);
        row.updated_at = Timestamp::now();
        let row = row.clone();
        Ok(ok(&controller.offering(tables, &row)))
    })
}

/// Forgets an offering: with `purge=true` with all that is there of it, otherwise only when it has no plans.
async fn remove(
    controller: Data<CloudController>,
    caller: Caller,
    request: HttpRequest,
    guid: Path<String>,
) -> Answer {
    let purge = purges(&request)?;
    controller.0.state.change(|tables| {
        let guid = visible(tables, &caller, &guid)?;
        caller.must_be_admin()?;
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

fn missing() -> Rejection {
    Rejection::no_such("Service offering")
}

fn visible(tables: &Tables, caller: &Caller, guid: &str) -> Result<OfferingGuid, Rejection> {
    let guid = OfferingGuid::given(guid);
    let permissions = caller.permissions(tables);
    tables
        .offerings
        .get(&guid)
        .filter(|row| sees(tables, Some(&permissions), row))
        .ok_or_else(missing)?;
    Ok(guid)
}

/// An offering is seen through its plans.
fn sees(tables: &Tables, permissions: Option<&Permissions>, offering: &Offering) -> bool {
    permissions.is_some_and(Permissions::sees_everything)
        || tables
            .plans_of_offering(&offering.guid)
            .any(|plan| sees_plan(permissions, plan))
}

pub(super) fn broker_name<'a>(tables: &'a Tables, offering: &Offering) -> &'a str {
    tables
        .brokers
        .get(&offering.broker)
        .map_or("", |broker| &broker.name)
}

impl CloudController {
    pub(super) fn offering(&self, tables: &Tables, offering: &Offering) -> Value {
        let path = format!("/v3/service_offerings/{}", offering.guid);
        let plans = format!("/v3/service_plans?service_offering_guids={}", offering.guid);
        let mut broker = relation(&offering.broker);
        broker["data"]["name"] = broker_name(tables, offering).into();
        json!({
            "guid": offering.guid,
            "created_at": stamp(offering.created_at),
            "updated_at": stamp(offering.updated_at),
            "name": offering.name,
            "description": offering.description,
            "available": offering.available,
            "tags": offering.tags,
            "requires": offering.requires,
            "shareable": offering.is_shareable(),
            "documentation_url": offering.catalog_metadata.get("documentationUrl"),
            "broker_catalog": {
                "id": offering.catalog_id,
                "metadata": offering.catalog_metadata,
                "features": {
                    "plan_updateable": offering.has(Feature::PlanUpdateable),
                    "bindable": offering.has(Feature::Bindable),
                    "instances_retrievable": offering.has(Feature::InstancesRetrievable),
                    "bindings_retrievable": offering.has(Feature::BindingsRetrievable),
                    "allow_context_updates": offering.has(Feature::AllowContextUpdates),
                },
            },
            "relationships": {"service_broker": broker},
            "metadata": metadata(&offering.metadata),
            "links": {
                "self": self.link(path),
                "service_plans": self.link(plans),
                "service_broker": self.link(format_args!("/v3/service_brokers/{}", offering.broker)),
            },
        })
    }
}
