//! Service brokers (`spec/contracts/platform-apis.md`, "Service brokers").

use actix_web::web::{ServiceConfig, delete, patch, post};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    Response,
    call::{Call, View},
    message::{Relation, checked_name},
    query::Query,
    resource::{Resource, reads},
};
use crate::cloud_controller::{
    model::{
        Broker, BrokerAddress, BrokerGuid, BrokerKey, BrokerState, Job, JobOperation, JobResource,
        JobState, Metadata, MetadataChange, Tables,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let one = "/v3/service_brokers/{guid}";
    app.configure(reads::<Broker>)
        .route("/v3/service_brokers", post().to(create))
        .route(one, patch().to(update))
        .route(one, delete().to(remove));
}

impl Resource for Broker {
    type Row = Self;
    const KIND: &'static str = "Service broker";
    const PATH: &'static str = "/v3/service_brokers";
    const FILTERS: &'static [&'static str] = &["space_guids"];

    fn sees(view: &View<'_>, _row: &Self) -> bool {
        view.permissions.sees_everything()
    }

    /// All brokers are global: none belongs to a space.
    fn admits(_view: &View<'_>, query: &Query, _row: &Self) -> bool {
        query.admits("space_guids", "")
    }

    fn body(view: &View<'_>, row: &Self) -> Value {
        let offerings = format!("/v3/service_offerings?service_broker_guids={}", row.guid);
        json!({
            "name": row.name,
            "url": row.address.url,
            "relationships": {},
            "metadata": row.metadata,
            "links": {"service_offerings": view.link(offerings)},
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    name: String,
    url: String,
    authentication: Authentication,
    #[serde(default)]
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Relationships {
    space: Option<Relation>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    name: Option<String>,
    url: Option<String>,
    authentication: Option<Authentication>,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
struct Authentication {
    #[serde(rename = "type")]
    _kind: AuthenticationKind,
    credentials: Credentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AuthenticationKind {
    Basic,
}

#[derive(Deserialize)]
struct Credentials {
    username: String,
    password: String,
}

async fn create(call: Call) -> Response {
    call.caller.must_be_admin()?;
    let wanted: Create = call.message()?;
    let change = wanted.metadata;
    if wanted.relationships.space.is_some() {
        return Err(Rejection::unprocessable(
            "Space-scoped brokers are not supported by this Cloud Controller",
        ));
    }
    let Credentials { username, password } = wanted.authentication.credentials;
    let address = BrokerAddress {
        url: checked_url(wanted.url)?,
        username,
        password: SecretString::from(password),
    };
    let mut broker = Broker::new(checked_name(&wanted.name)?, address);
    broker.metadata = Metadata::from(&change);
    let guid = broker.guid.clone();
    let job = call.change(|tables| {
        must_be_free(tables, &broker.name, &guid)?;
        tables.brokers.insert(guid.clone(), broker);
        let resource = JobResource::Broker(guid.clone());
        Ok::<_, Rejection>(tables.add_job(Job::new(JobOperation::SynchronizeCatalog, resource)))
    })?;
    let answer = call.accepted(&job);
    call.controller
        .synchronize(guid, None, job, call.caller.identity);
    Ok(answer)
}

async fn update(call: Call) -> Response {
    call.caller.must_be_admin()?;
    let wanted: Update = call.message()?;
    let change = wanted.metadata;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    let url = wanted.url.map(checked_url).transpose()?;
    let reads_catalog = url.is_some() || wanted.authentication.is_some();
    let guid = BrokerGuid::given(call.guid());
    if name.is_none() && !reads_catalog {
        return call.change(|tables| {
            if let Some(broker) = tables.brokers.get_mut(&guid) {
                broker.metadata.apply(&change);
                broker.updated_at = Timestamp::now();
            }
            call.shown::<Broker>(tables, guid.as_str())
        });
    }
    let (before, job) = call.change(|tables| {
        if let Some(name) = &name {
            must_be_free(tables, name, &guid)?;
        }
        let broker = tables.brokers.get_mut(&guid).ok_or_else(missing)?;
        must_be_idle(broker)?;
        let before = broker.clone();
        broker.metadata.apply(&change);
        broker.name = name.unwrap_or_else(|| before.name.clone());
        broker.address.url = url.unwrap_or_else(|| before.address.url.clone());
        if let Some(Authentication { credentials, .. }) = wanted.authentication {
            broker.address.username = credentials.username;
            broker.address.password = credentials.password.into();
        }
        broker.updated_at = Timestamp::now();
        let mut job = Job::new(
            JobOperation::UpdateBroker,
            JobResource::Broker(guid.clone()),
        );
        if reads_catalog {
            broker.state = BrokerState::Synchronizing;
        } else {
            job.becomes(JobState::Complete);
        }
        Ok::<_, Rejection>((before, tables.add_job(job)))
    })?;
    let answer = call.accepted(&job);
    if reads_catalog {
        call.controller
            .synchronize(guid, Some(before), job, call.caller.identity);
    }
    Ok(answer)
}

async fn remove(call: Call) -> Response {
    call.caller.must_be_admin()?;
    let guid = BrokerGuid::given(call.guid());
    let job = call.change(|tables| {
        let has_instances = tables.broker_has_instances(&guid);
        let broker = tables.brokers.get_mut(&guid).ok_or_else(missing)?;
        must_be_idle(broker)?;
        if has_instances {
            return Err(ErrorKind::BrokerNotRemovable.with(format!(
                "Can not remove brokers that have associated service instances: {}",
                broker.name
            )));
        }
        broker.state = BrokerState::Deleting;
        let resource = JobResource::Broker(guid.clone());
        Ok(tables.add_job(Job::new(JobOperation::DeleteBroker, resource)))
    })?;
    let answer = call.accepted(&job);
    call.controller.delete_broker(guid, job);
    Ok(answer)
}

fn missing() -> Rejection {
    Rejection::no_such(Broker::KIND)
}

fn must_be_free(tables: &Tables, name: &str, but_for: &BrokerGuid) -> Result<(), Rejection> {
    let mut named = tables.brokers.with(BrokerKey::Name(name.to_owned()));
    if named.any(|broker| broker.guid != *but_for) {
        Err(Rejection::unprocessable("Name must be unique"))
    } else {
        Ok(())
    }
}

fn must_be_idle(broker: &Broker) -> Result<(), Rejection> {
    if broker.is_busy() {
        return Err(Rejection::unprocessable(
            "Cannot update a broker when other operation is already in progress",
        ));
    }
    Ok(())
}

fn checked_url(text: String) -> Result<String, Rejection> {
    match Url::parse(&text) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) && url.username().is_empty() => {
            Ok(text)
        }
        _ => Err(Rejection::unprocessable(format!(
            "'{text}' must be a valid url"
        ))),
    }
}
