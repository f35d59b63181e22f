//! Service brokers of v2. Catalogs are read while the request waits.

use actix_web::{HttpResponse, http::header::HeaderName};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{
    V2Response, created, no_content, ok,
    rejection::V2Rejection,
    resource::{V2Call, presented, visible},
};
use crate::cloud_controller::model::{Broker, BrokerAddress, BrokerGuid, BrokerKey, Tables};

#[derive(Deserialize)]
struct Wanted {
    name: Option<String>,
    broker_url: Option<String>,
    auth_username: Option<String>,
    auth_password: Option<SecretString>,
}

pub(super) async fn create(call: V2Call) -> V2Response {
    call.must_be_admin()?;
    let wanted: Wanted = call.message()?;
    let missing = |what: &str| V2Rejection::unreadable(&format!("Missing field {what}"));
    let name = wanted.name.ok_or_else(|| missing("name"))?;
    let address = BrokerAddress {
        url: checked_url(wanted.broker_url.ok_or_else(|| missing("broker_url"))?)?,
        username: wanted
            .auth_username
            .ok_or_else(|| missing("auth_username"))?,
        password: wanted
            .auth_password
            .ok_or_else(|| missing("auth_password"))?,
    };
    let row = Broker::new(name, address);
    let guid = row.guid.clone();
    call.change(|tables| {
        must_be_free(tables, &row.name, &guid)?;
        tables.brokers.insert(guid.clone(), row);
        Ok::<_, V2Rejection>(())
    })?;
    synchronized(&call, &guid, None, created).await
}

pub(super) async fn update(call: V2Call) -> V2Response {
    call.must_be_admin()?;
    let wanted: Wanted = call.message()?;
    let url = wanted.broker_url.map(checked_url).transpose()?;
    let guid = BrokerGuid::given(call.guid());
    let before = call.change(|tables| {
        if let Some(name) = &wanted.name {
            must_be_free(tables, name, &guid)?;
        }
        let row = tables.brokers.get_mut(&guid);
        let row = row.ok_or_else(|| V2Rejection::no_such_broker(guid.as_str()))?;
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
    synchronized(&call, &guid, Some(before), ok).await
}

pub(super) async fn remove(call: V2Call) -> V2Response {
    call.must_be_admin()?;
    let guid = BrokerGuid::given(call.guid());
    call.change(|tables| {
        let row = tables.brokers.get(&guid);
        let row = row.ok_or_else(|| V2Rejection::no_such_broker(guid.as_str()))?;
        if tables.broker_has_instances(&guid) {
            return Err(V2Rejection::broker_not_removable(&row.name));
        }
        tables.forget_broker(&guid);
        Ok(no_content())
    })
}

async fn synchronized(
    call: &V2Call,
    guid: &BrokerGuid,
    before: Option<Broker>,
    answer: fn(&Value) -> HttpResponse,
) -> V2Response {
    let identity = call.caller.identity.clone();
    let taken = call
        .controller
        .synchronize_and_wait(guid.clone(), before, identity);
    let warnings = taken.await.ok_or_else(|| V2Rejection::stopping(""))??;
    let shown = call.read(|view| {
        let row = visible::<Broker>(view, guid.as_str())?;
        Ok::<_, V2Rejection>(presented::<Broker>(view, row))
    })?;
    Ok(with_warnings(answer(&shown), &warnings))
}

/// `X-Cf-Warnings`: URL-encoded, commas between them.
fn with_warnings(mut answer: HttpResponse, warnings: &[String]) -> HttpResponse {
    let warnings: Vec<_> = warnings
        .iter()
        .map(|warning| utf8_percent_encode(warning, NON_ALPHANUMERIC).to_string())
        .collect();
    if let (false, Ok(value)) = (warnings.is_empty(), warnings.join(",").parse()) {
        let name = HeaderName::from_static("x-cf-warnings");
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
