//! `create-service-key`, `service-key`, `delete-service-key`.

use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use super::arguments::{CreateServiceKey, DeleteServiceKey, ShowServiceKey};
use super::client::Client;
use super::error::CfError;
use super::job::{self, Outcome};
use super::lookup;
use super::parameters::{self, Parameters};
use super::screen::Screen;
use super::table::pairs;
use super::wire::{BindingDetails, InstanceGuid, To};

pub(super) async fn create(
    client: &mut Client,
    screen: &mut Screen,
    order: CreateServiceKey,
) -> Result<(), CfError> {
    let parameters = parameters::read(order.parameters).await?;
    let instance = lookup::instance(client, &order.instance).await?;
    let body = NewKey {
        kind: "key",
        name: &order.key,
        parameters,
        relationships: KeyRelationships {
            service_instance: To::new(instance.guid),
        },
    };
    let change = client
        .change(Method::POST, "/v3/service_credential_bindings", Some(&body))
        .await?;
    match job::follow(client, screen, change, &order.waiting).await? {
        Outcome::Complete => {
            screen.say(&format!("key {} of {} created", order.key, order.instance));
        }
        Outcome::InProgress => screen.say(&format!("create of key {} in progress", order.key)),
    }
    Ok(())
}

/// Prints the credentials: the one place where a secret reaches the screen.
pub(super) async fn show(
    client: &mut Client,
    screen: &mut Screen,
    key: ShowServiceKey,
) -> Result<(), CfError> {
    let instance = lookup::instance(client, &key.instance).await?;
    let Some(binding) = lookup::find_key(client, &instance.guid, &key.key).await? else {
        return Err(CfError::NoKey {
            instance: key.instance,
            key: key.key,
        });
    };
    let path = format!("/v3/service_credential_bindings/{}/details", binding.guid);
    let credentials = client.get::<BindingDetails>(&path, &[]).await?.credentials;
    if key.json {
        return screen.print(credentials.get().as_bytes());
    }
    screen.print(readable(credentials.get()).as_bytes())
}

/// A line per member; members of members stay JSON.
fn readable(credentials: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(credentials) else {
        return credentials.to_owned();
    };
    let members: Vec<_> = members
        .iter()
        .map(|(name, value)| {
            (
                name.as_str(),
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned),
            )
        })
        .collect();
    pairs(&members)
}

/// Deletes a key. A missing one counts as deleted, as in the cf command line.
pub(super) async fn delete(
    client: &mut Client,
    screen: &mut Screen,
    deletion: DeleteServiceKey,
) -> Result<(), CfError> {
    let instance = lookup::instance(client, &deletion.instance).await?;
    let Some(binding) = lookup::find_key(client, &instance.guid, &deletion.key).await? else {
        screen.say(&format!(
            "service instance {} has no key {}",
            deletion.instance, deletion.key
        ));
        return Ok(());
    };
    let path = format!("/v3/service_credential_bindings/{}", binding.guid);
    let change = client.change(Method::DELETE, &path, None::<&()>).await?;
    match job::follow(client, screen, change, &deletion.waiting).await? {
        Outcome::Complete => screen.say(&format!(
            "key {} of {} deleted",
            deletion.key, deletion.instance
        )),
        Outcome::InProgress => screen.say(&format!("delete of key {} in progress", deletion.key)),
    }
    Ok(())
}

#[derive(Serialize)]
struct NewKey<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters>,
    relationships: KeyRelationships,
}

#[derive(Serialize)]
struct KeyRelationships {
    service_instance: To<InstanceGuid>,
}
