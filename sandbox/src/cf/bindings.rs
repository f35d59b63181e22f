//! `bind-service`, `unbind-service`; `create-service-key`, `service-key`, `delete-service-key`.

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Cf,
    arguments::{
        BindService, CreateServiceKey, DeleteServiceKey, ShowServiceKey, UnbindService, parameters,
    },
    error::CfError,
    guid,
    job::{self, Outcome},
    lookup,
    output::pairs,
};

const BINDINGS: &str = "/v3/service_credential_bindings";

/// The credentials of a binding, shown only to its owner.
#[derive(Deserialize)]
struct Details {
    credentials: Box<RawValue>,
}

pub(super) async fn bind(cf: &mut Cf<'_>, order: BindService) -> Result<(), CfError> {
    let parameters = parameters(order.parameters).await?;
    let instance = lookup::instance(&mut cf.client, &order.instance).await?;
    let app = lookup::app(&mut cf.client, &order.app).await?;
    let body = json!({
        "type": "app",
        "relationships": {
            "app": {"data": {"guid": guid(&app)}},
            "service_instance": {"data": {"guid": guid(&instance)}},
        },
    });
    let change = cf
        .client
        .change_with(Method::POST, BINDINGS, &body, parameters.as_deref());
    let change = change.await?;
    let what = format!("app {} to {}", order.app, order.instance);
    match job::follow(cf, change, &order.waiting).await? {
        Outcome::Complete => cf.screen.say(&format!("bound {what}")),
        Outcome::InProgress => cf.screen.say(&format!("binding {what} in progress")),
    }
    Ok(())
}

/// Ends all bindings of an app to a service instance. Where there is none nothing is to be done.
pub(super) async fn unbind(cf: &mut Cf<'_>, order: UnbindService) -> Result<(), CfError> {
    let instance = lookup::instance(&mut cf.client, &order.instance).await?;
    let app = lookup::app(&mut cf.client, &order.app).await?;
    let query = [
        ("app_guids", guid(&app)),
        ("service_instance_guids", guid(&instance)),
        ("type", "app"),
    ];
    let bindings = cf.client.list(BINDINGS, &query).await?.resources;
    let what = format!("app {} from {}", order.app, order.instance);
    if bindings.is_empty() {
        cf.screen.say(&format!(
            "app {} is not bound to {}",
            order.app, order.instance
        ));
    }
    for binding in bindings {
        let change = cf
            .client
            .delete(format_args!("{BINDINGS}/{}", guid(&binding)))
            .await?;
        match job::follow(cf, change, &order.waiting).await? {
            Outcome::Complete => cf.screen.say(&format!("unbound {what}")),
            Outcome::InProgress => cf.screen.say(&format!("unbinding {what} in progress")),
        }
    }
    Ok(())
}

pub(super) async fn create_key(cf: &mut Cf<'_>, order: CreateServiceKey) -> Result<(), CfError> {
    let parameters = parameters(order.parameters).await?;
    let instance = lookup::instance(&mut cf.client, &order.instance).await?;
    let body = json!({
        "type": "key",
        "name": order.key,
        "relationships": {"service_instance": {"data": {"guid": guid(&instance)}}},
    });
    let change = cf
        .client
        .change_with(Method::POST, BINDINGS, &body, parameters.as_deref());
    let change = change.await?;
    let line = match job::follow(cf, change, &order.waiting).await? {
        Outcome::Complete => format!("key {} of {} created", order.key, order.instance),
        Outcome::InProgress => format!("create of key {} in progress", order.key),
    };
    cf.screen.say(&line);
    Ok(())
}

/// Prints the credentials: the one place where a secret reaches the screen.
pub(super) async fn show_key(cf: &mut Cf<'_>, key: ShowServiceKey) -> Result<(), CfError> {
    let instance = lookup::instance(&mut cf.client, &key.instance).await?;
    let binding = lookup::find_key(&mut cf.client, guid(&instance), &key.key).await?;
    let Some(binding) = binding else {
        return Err(CfError::NoKey {
            instance: key.instance,
            key: key.key,
        });
    };
    let path = format!("{BINDINGS}/{}/details", guid(&binding));
    let credentials = cf.client.get::<Details>(&path).await?.credentials;
    if key.json {
        return cf.screen.print(credentials.get().as_bytes());
    }
    cf.screen.print(readable(credentials.get()).as_bytes())
}

/// A line per member; members of members stay JSON.
fn readable(credentials: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(credentials) else {
        return credentials.to_owned();
    };
    let members = members.iter().map(|(name, value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (name.as_str(), value)
    });
    pairs(&members.collect::<Vec<_>>())
}

/// Deletes a key. A missing one counts as deleted, as in the cf command line.
pub(super) async fn delete_key(cf: &mut Cf<'_>, deletion: DeleteServiceKey) -> Result<(), CfError> {
    let (instance, key) = (&deletion.instance, &deletion.key);
    let found = lookup::instance(&mut cf.client, instance).await?;
    let binding = lookup::find_key(&mut cf.client, guid(&found), key).await?;
    let Some(binding) = binding else {
        cf.screen
            .say(&format!("service instance {instance} has no key {key}"));
        return Ok(());
    };
    let change = cf
        .client
        .delete(format_args!("{BINDINGS}/{}", guid(&binding)))
        .await?;
    let line = match job::follow(cf, change, &deletion.waiting).await? {
        Outcome::Complete => format!("key {key} of {instance} deleted"),
        Outcome::InProgress => format!("delete of key {key} in progress"),
    };
    cf.screen.say(&line);
    Ok(())
}
