//! Service brokers of v2. Catalogs are read while the request waits.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, post, put, resource},
};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    V2Answer,
    body::message,
    caller::V2Caller,
    created,
    listing::{Resource, Row, V2Query, changed},
    no_content, ok,
    rejection::V2Rejection,
};
use crate::cloud_controller::{
    CloudController,
    model::{Broker, BrokerAddress, BrokerGuid, BrokerKey, BrokerState, Metadata, Tables},
};

const FIELDS: [&str; 1] = ["name"];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/service_brokers")
            .route(get().to(list))
            .route(post().to(create)),
    )
    .service(
        resource("/service_brokers/{guid}")
            .route(put().to(update))
            .route(delete().to(remove)),
    );
}

async fn list(
    controller: Data<CloudController>,
    caller: V2Caller,
    request: HttpRequest,
) -> V2Answer {
    let query = V2Query::of(&request, &FIELDS)?;
    controller.0.state.read(|tables| {
        let rows = tables
            .brokers
            .values()
            .filter(|_| caller.sees_everything())
            .map(|row| Row {
                resource: broker(row),
                fields: vec![("name", vec![row.name.clone()])],
            });
        Ok(query.answer(rows))
    })
}

#[derive(Deserialize)]
struct Wanted {
    name: Option<String>,
    broker_url: Option<String>,
    auth_username: Option<String>,
    auth_password: Option<SecretString>,
}

async fn create(controller: Data<CloudController>, caller: V2Caller, body: Bytes) -> V2Answer {
    caller.must_be_admin()?;
    let wanted: Wanted = message(&body)?;
    let missing = |what: &str| V2Rejection::unreadable(&format!("Missing field {what}"));
    let now = Timestamp::now();
    let row = Broker {
        guid: BrokerGuid::random(),
        name: wanted.name.ok_or_else(|| missing("name"))?,
        address: BrokerAddress {
            url: checked_url(wanted.broker_url.ok_or_else(|| missing("broker_url"))?)?,
            username: wanted
                .auth_username
                .ok_or_else(|| missing("auth_username"))?,
            password: wanted
                .auth_password
                .ok_or_else(|| missing("auth_password"))?,
        },
        state: BrokerState::Synchronizing,
        metadata: Metadata::default(),
        created_at: now,
        updated_at: now,
    };
    let guid = row.guid.clone();
    controller.0.state.change(|tables| {
        must_be_free(tables, &row.name, &guid)?;
        tables.brokers.insert(guid.clone(), row);
        Ok::<_, V2Rejection>(())
    })?;
    let warnings = synchronized(&controller, &caller, &guid, None).await?;
    let shown = shown(&controller, &guid)?;
    Ok(with_warnings(created(&shown), &warnings))
}

async fn update(
    controller: Data<CloudController>,
    caller: V2Caller,
    guid: Path<String>,
    body: Bytes,
) -> V2Answer {
    caller.must_be_admin()?;
    let wanted: Wanted = message(&body)?;
    let url = wanted.broker_url.map(checked_url).transpose()?;
    let guid = BrokerGuid::given(&guid);
    let before = controller.0.state.change(|tables| {
        if let Some(name) = &wanted.name {
            must_be_free(tables, name, &guid)?;
        }
        let row = tables
            .brokers
            .get_mut(&guid)
            .ok_or_else(|| V2Rejection::no_such_broker(guid.as_str()))?;
        let before = row.clone();
        row.name = wanted.name.unwrap_or_else(|| before.name.clone());
        row.address.url = url.unwrap_or_else(|| before.address.url.clone());
        if let Some(username) = wanted.auth_username {
            row.address.username = username;
        }
        if let Some(password) = wanted.auth_password {
            row.address.password = password;
        }
        Ok::<_, V2Rejection>(before)
    })?;
    let warnings = synchronized(&controller, &caller, &guid, Some(before)).await?;
    let shown = shown(&controller, &guid)?;
    Ok(with_warnings(ok(&shown), &warnings))
}

async fn remove(
    controller: Data<CloudController>,
    caller: V2Caller,
    guid: Path<String>,
) -> V2Answer {
    caller.must_be_admin()?;
    let guid = BrokerGuid::given(&guid);
    controller.0.state.change(|tables| {
        let row = tables
            .brokers
            .get(&guid)
            .ok_or_else(|| V2Rejection::no_such_broker(guid.as_str()))?;
        if tables
            .plans_of(&guid)
            .any(|plan| tables.has_instances(&plan.guid))
        {
            return Err(V2Rejection::broker_not_removable(&row.name));
        }
        tables.forget_broker(&guid);
        Ok(no_content())
    })
}

async fn synchronized(
    controller: &CloudController,
    caller: &V2Caller,
    guid: &BrokerGuid,
    before: Option<Broker>,
) -> Result<Vec<String>, V2Rejection> {
    let taken = controller
        .synchronize_and_wait(guid.clone(), before, caller.identity.clone())
        .await;
    Ok(taken.ok_or_else(|| V2Rejection::stopping(""))??)
}

fn shown(controller: &CloudController, guid: &BrokerGuid) -> Result<Value, V2Rejection> {
    controller.0.state.read(|tables| {
        let row = tables.brokers.get(guid);
        let row = row.ok_or_else(|| V2Rejection::no_such_broker(guid.as_str()))?;
        Ok(broker(row).presented())
    })
}

/// `X-Cf-Warnings`: URL-encoded, commas between them.
fn with_warnings(mut answer: HttpResponse, warnings: &[String]) -> HttpResponse {
    let warnings: Vec<_> = warnings
        .iter()
        .map(|warning| utf8_percent_encode(warning, NON_ALPHANUMERIC).to_string())
        .collect();
    if let (false, Ok(value)) = (warnings.is_empty(), warnings.join(",").parse()) {
        let name = actix_web::http::header::HeaderName::from_static("x-cf-warnings");
        answer.headers_mut().insert(name, value);
    }
    answer
}

fn must_be_free(tables: &Tables, name: &str, but_for: &BrokerGuid) -> Result<(), V2Rejection> {
    let mut named = tables.brokers.with(BrokerKey::Name(name.to_owned()));
    if named.any(|broker| broker.guid != *but_for) {
        return Err(V2Rejection::broker_name_taken(""));
    }
    Ok(())
}

fn checked_url(text: String) -> Result<String, V2Rejection> {
    match Url::parse(&text) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) => Ok(text),
        _ => Err(V2Rejection::broker_url_invalid(&text)),
    }
}

fn broker(broker: &Broker) -> Resource {
    Resource {
        guid: broker.guid.to_string(),
        url: format!("/v2/service_brokers/{}", broker.guid),
        created_at: broker.created_at,
        updated_at: changed(broker.created_at, broker.updated_at),
        entity: json!({
            "name": broker.name,
            "broker_url": broker.address.url,
            "auth_username": broker.address.username,
            "space_guid": null,
        }),
    }
}
