//! Service brokers (`spec/contracts/platform-apis.md`, "Service brokers").

use actix_web::{
    HttpRequest,
    web::{Bytes, Data, Path, ServiceConfig, delete, get, patch, post, resource},
};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    Answer,
    caller::Caller,
    message::{Relation, checked_metadata, checked_name, message},
    ok,
    present::{metadata, stamp},
    query::Query,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        Broker, BrokerAddress, BrokerGuid, BrokerKey, BrokerState, Job, JobOperation, JobResource,
        JobState, Metadata, MetadataChange, Tables,
    },
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.service(
        resource("/v3/service_brokers")
            .route(get().to(list))
            .route(post().to(create)),
    )
    .service(
        resource("/v3/service_brokers/{guid}")
            .route(get().to(one))
            .route(patch().to(update))
            .route(delete().to(remove)),
    );
}

async fn list(controller: Data<CloudController>, caller: Caller, request: HttpRequest) -> Answer {
    let query = Query::of(&request, &["space_guids"])?;
    controller.0.state.read(|tables| {
        // All brokers are global: none belongs to a space.
        let seen = |row: &&Broker| {
            caller.sees_everything() && query.admits_row(row) && query.admits("space_guids", "")
        };
        let page = query.page(&controller, tables.brokers.values().filter(seen).collect());
        Ok(ok(&page.presented(|broker| controller.broker(broker))))
    })
}

async fn one(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    controller.0.state.read(|tables| {
        let broker = tables
            .brokers
            .get(&BrokerGuid::given(&guid))
            .filter(|_| caller.sees_everything());
        Ok(ok(&controller.broker(broker.ok_or_else(missing)?)))
    })
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

async fn create(controller: Data<CloudController>, caller: Caller, body: Bytes) -> Answer {
    caller.must_be_admin()?;
    let wanted: Create = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    if wanted.relationships.space.is_some() {
        return Err(Rejection::unprocessable(
            "Space-scoped brokers are not supported by this Cloud Controller",
        ));
    }
    let Credentials { username, password } = wanted.authentication.credentials;
    let now = Timestamp::now();
    let broker = Broker {
        guid: BrokerGuid::random(),
        name: checked_name(&wanted.name)?,
        address: BrokerAddress {
            url: checked_url(wanted.url)?,
            username,
            password: SecretString::from(password),
        },
        state: BrokerState::Synchronizing,
        metadata: Metadata::from(&change),
        created_at: now,
        updated_at: now,
    };
    let guid = broker.guid.clone();
    let job = controller.0.state.change(|tables| {
        must_be_free(tables, &broker.name, &guid)?;
        tables.brokers.insert(guid.clone(), broker);
        Ok(tables.add_job(Job::new(
            JobOperation::SynchronizeCatalog,
            JobResource::Broker(guid.clone()),
        )))
    })?;
    controller.synchronize(guid, None, job.clone(), caller.identity);
    Ok(controller.accepted(&job))
}

async fn update(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
    body: Bytes,
) -> Answer {
    caller.must_be_admin()?;
    let wanted: Update = message(&body)?;
    let change = checked_metadata(wanted.metadata)?;
    let name = wanted.name.as_deref().map(checked_name).transpose()?;
    let url = wanted.url.map(checked_url).transpose()?;
    let reads_catalog = url.is_some() || wanted.authentication.is_some();
    let guid = BrokerGuid::given(&guid);
    if name.is_none() && !reads_catalog {
        return controller.0.state.change(|tables| {
            let broker = tables.brokers.get_mut(&guid).ok_or_else(missing)?;
            broker.metadata.apply(&change);
            broker.updated_at = Timestamp::now();
            Ok(ok(&controller.broker(broker)))
        });
    }
    let (before, job) = controller.0.state.change(|tables| {
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
        Ok((before, tables.add_job(job)))
    })?;
    if reads_catalog {
        controller.synchronize(guid, Some(before), job.clone(), caller.identity);
    }
    Ok(controller.accepted(&job))
}

async fn remove(controller: Data<CloudController>, caller: Caller, guid: Path<String>) -> Answer {
    caller.must_be_admin()?;
    let guid = BrokerGuid::given(&guid);
    let job = controller.0.state.change(|tables| {
        let broker = tables.brokers.get(&guid).ok_or_else(missing)?;
        must_be_idle(broker)?;
        if tables
            .plans_of(&guid)
            .any(|plan| tables.has_instances(&plan.guid))
        {
            let detail = format!(
                "Can not remove brokers that have associated service instances: {}",
                broker.name
            );
            return Err(ErrorKind::BrokerNotRemovable.with(detail));
        }
        if let Some(broker) = tables.brokers.get_mut(&guid) {
            broker.state = BrokerState::Deleting;
        }
        Ok(tables.add_job(Job::new(
            JobOperation::DeleteBroker,
            JobResource::Broker(guid.clone()),
        )))
    })?;
    controller.delete_broker(guid, job.clone());
    Ok(controller.accepted(&job))
}

fn missing() -> Rejection {
    Rejection::no_such("Service broker")
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

impl CloudController {
    pub(super) fn broker(&self, broker: &Broker) -> Value {
        let offerings = format!("/v3/service_offerings?service_broker_guids={}", broker.guid);
        json!({
            "guid": broker.guid,
            "created_at": stamp(broker.created_at),
            "updated_at": stamp(broker.updated_at),
            "name": broker.name,
            "url": broker.address.url,
            "relationships": {},
            "metadata": metadata(&broker.metadata),
            "links": {
                "self": self.link(format_args!("/v3/service_brokers/{}", broker.guid)),
                "service_offerings": self.link(offerings),
            },
        })
    }
}
