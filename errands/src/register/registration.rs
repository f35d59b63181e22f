//! Making the broker known to the platform, and having its catalog read.

use std::time::Duration;

use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{BrokerRegistration, CfBroker, CloudController},
    http::Call,
};

use super::{RegisterError, request_call};
use crate::{Console, waiting::retry};

/// How long the platform may take to read a catalog: it waits a minute for the broker, in a queue.
const IMPORT: Duration = Duration::from_mins(10);

/// The codes for a name that is taken, in version 3 (and for other errors) and in version 2.
const UNPROCESSABLE: u64 = 10008;
const NAME_TAKEN: u64 = 270_002;

/// Creates the broker, or updates the existing one. Transient errors are retried until `timeout`. Each attempt looks up
/// first whether the previous one has created the broker, because its answer may be lost or its catalog unreadable.
pub(super) async fn register(
    cloud_controller: &CloudController,
    registration: &BrokerRegistration,
    console: &Console,
    timeout: Duration,
) -> Result<CfBroker, RegisterError> {
    let attempt = || attempt(cloud_controller, registration, console);
    retry(timeout, console, attempt, may_pass).await
}

/// How a broker that is there changes. `verb` says whether it does or would.
pub(super) fn change(broker: &CfBroker, url: &str, verb: &str) -> String {
    let CfBroker { name, url: old, .. } = broker;
    if old == url {
        format!("service broker `{name}` is registered: {verb}, at `{url}`")
    } else {
        format!("service broker `{name}` is registered: {verb}, from `{old}` to `{url}`")
    }
}

async fn attempt(
    cloud_controller: &CloudController,
    registration: &BrokerRegistration,
    console: &Console,
) -> Result<CfBroker, RegisterError> {
    let name = &registration.name;
    let warnings = if let Some(broker) = find(cloud_controller, name).await? {
        console.say(change(&broker, &registration.url, "updating it"));
        let updated = update(cloud_controller, registration, &broker).await;
        updated.map_err(|source| RegisterError::Update {
            name: name.clone(),
            source,
        })?
    } else {
        let url = &registration.url;
        console.say(format_args!("creating service broker `{name}`, at `{url}`"));
        let created = create(cloud_controller, registration).await;
        created.map_err(|source| RegisterError::Create {
            name: name.clone(),
            source,
        })?
    };
    for warning in warnings {
        console.say(format_args!("the platform warns: {}", warning.trim()));
    }
    console.say(format_args!(
        "service broker `{name}` is registered, and its catalog has been read"
    ));
    let broker = find(cloud_controller, name).await?;
    broker.ok_or_else(|| RegisterError::Gone { name: name.clone() })
}

async fn find(
    cloud_controller: &CloudController,
    name: &str,
) -> Result<Option<CfBroker>, RegisterError> {
    let found = cloud_controller.broker_named(&request_call(), name).await;
    found.map_err(RegisterError::Brokers)
}

async fn create(
    cloud_controller: &CloudController,
    registration: &BrokerRegistration,
) -> Result<Vec<String>, ServiceError> {
    let call = Call::within(IMPORT);
    let accepted = cloud_controller.create_broker(&call, registration).await?;
    cloud_controller.finished(&call, accepted).await
}

async fn update(
    cloud_controller: &CloudController,
    registration: &BrokerRegistration,
    broker: &CfBroker,
) -> Result<Vec<String>, ServiceError> {
    let call = Call::within(IMPORT);
    let accepted = cloud_controller
        .update_broker(&call, &broker.guid, registration)
        .await?;
    cloud_controller.finished(&call, accepted).await
}

fn may_pass(error: &RegisterError) -> bool {
    match error {
        RegisterError::Brokers(source) => source.is_transient(),
        // The broker exists now, created by another client or by a lost attempt: update it.
        RegisterError::Create { source, .. } => {
            source.is_transient() || source.is_busy() || is_name_taken(source)
        }
        // Another client has deleted the broker meanwhile: create it.
        RegisterError::Update { source, .. } => {
            source.is_transient() || source.is_busy() || source.is_not_found()
        }
        _ => false,
    }
}

fn is_name_taken(error: &ServiceError) -> bool {
    match &error.kind {
        FailureKind::Refused {
            code, description, ..
        } => match code {
            Some(NAME_TAKEN) => true,
            Some(UNPROCESSABLE) => description.contains("unique"),
            _ => false,
        },
        _ => false,
    }
}
